"""Who may come in: tokens, cookies, one-time links and CSRF fields, all from one secret.

    token of a role      = HMAC(secret, "token", role)
    cookie               = role, time of its end, number; HMAC(secret, "cookie", all three)
    CSRF field of a cookie = HMAC(secret, "csrf", cookie)

The secret is a file that only the user can read. So tokens and cookies last over restarts and are
the same in all workers of a server, and a new secret ends them all.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kernelbandits import checks
from kernelbandits.study.operations import READ, WRITE

ROLES = (READ, WRITE)
HERE = "here"
"""The purpose of a signature by which a server shows that it serves a place."""
SECRET_BYTES = 32
LEAST_BITS = 128
"""The least size of a token of the user's own."""
COOKIE_SECONDS = 30 * 86400.0
LINK_SECONDS = 3600.0
"""How long a one-time link can be used."""


@dataclass(frozen=True)
class Visitor:
    """A visitor who has shown a token or a cookie."""

    role: str
    cookie: str = ""
    """The cookie that was shown; "" for a bearer token."""

    @property
    def may_write(self) -> bool:
        return self.role == WRITE


class Access:
    """The secret of one place that is served, and all that is derived from it.

    Parameters
    ----------
    folder
        A folder of the user's own; it is created, and only the user can read it.
    token
        A token of the user's own in place of the one that may write.

    Examples
    --------
    >>> import tempfile
    >>> access = Access(Path(tempfile.mkdtemp()) / "films")
    >>> access.find_token(access.token("read")).may_write
    False
    >>> code = access.make_link("write")
    >>> access.use_link(code), access.use_link(code)
    ('write', None)
    """

    def __init__(self, folder: Path, token: str | None = None) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._own_token = None if token is None else check_token(token)

    def renew(self) -> None:
        """Make a new secret: all tokens, cookies and links so far end."""
        (self.folder / "secret").unlink(missing_ok=True)
        for link in self._links.glob("*"):
            link.unlink(missing_ok=True)

    # ------------------------------------------------------------------ tokens

    def token(self, role: str) -> str:
        """Return the bearer token of a role, for programs."""
        if role == WRITE and self._own_token is not None:
            return self._own_token
        return self._sign("token", checks.one_of("a token", "role", role, ROLES))

    def find_token(self, given: str) -> Visitor | None:
        """Return the visitor who shows this token; None if it is no token of this server."""
        for role in ROLES:
            if is_same(given, self.token(role)):
                return Visitor(role)
        return None

    # ------------------------------------------------------------------ cookies

    def make_cookie(self, role: str) -> str:
        end = int(time.time() + COOKIE_SECONDS)
        return self.sign("cookie", f"{role}.{end}.{secrets.token_urlsafe(12)}")

    def find_cookie(self, given: str) -> Visitor | None:
        """Return the visitor who shows this cookie; None if it is not one of ours, or has ended."""
        text = self.unsign("cookie", given)
        if text is None:
            return None
        role, end, _ = text.split(".")
        return Visitor(role, given) if time.time() < int(end) else None

    def form_token(self, visitor: Visitor) -> str:
        """Return the field that the forms of a page carry, so that no other site can send them."""
        return self._sign("csrf", visitor.cookie)

    def is_form_token(self, visitor: Visitor, given: str) -> bool:
        return is_same(given, self.form_token(visitor))

    def sign(self, purpose: str, text: str) -> str:
        """Return a text for a browser to keep, with a signature by which it is known to be ours."""
        return f"{text}.{self._sign(purpose, text)}"

    def unsign(self, purpose: str, given: str) -> str | None:
        """Return the text that was signed for this purpose; None if it was not."""
        text, _, signature = given.rpartition(".")
        return text if is_same(signature, self._sign(purpose, text)) else None

    # ------------------------------------------------------------------ links

    def make_link(self, role: str) -> str:
        """Make a link that lets one browser in, once, and return its code."""
        self._links.mkdir(exist_ok=True, mode=0o700)
        for old in self._links.glob("*"):
            with suppress(OSError):
                if time.time() - old.stat().st_mtime > LINK_SECONDS:
                    old.unlink()
        code = f"{checks.one_of('a link', 'role', role, ROLES)}.{secrets.token_urlsafe(24)}"
        self._link_file(code).touch(mode=0o600)
        return code

    def is_link(self, code: str) -> bool:
        """Tell whether a link can still be used."""
        try:
            age = time.time() - self._link_file(code).stat().st_mtime
        except OSError:
            return False
        return age <= LINK_SECONDS

    def use_link(self, code: str) -> str | None:
        """Return the role that a link gives, at its first use; None after that.

        Only one process can remove a file, so this holds for all workers together.
        """
        if not self.is_link(code):
            return None
        try:
            self._link_file(code).unlink()
        except OSError:
            return None
        return code.partition(".")[0]

    @property
    def _links(self) -> Path:
        return self.folder / "links"

    def _link_file(self, code: str) -> Path:
        """Return the file of a link; its name is a digest, so no code can name another file."""
        return self._links / hashlib.sha256(self._secret + code.encode()).hexdigest()

    @property
    def _secret(self) -> bytes:
        """The secret, read each time: another process may have renewed it.

        Nothing but its content tells two secrets apart. A new file may have the number of the old
        one, and the same time.
        """
        return read_secret(self.folder / "secret")

    def _sign(self, *parts: str) -> str:
        digest = hmac.new(self._secret, "\0".join(parts).encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def is_same(given: str, expected: str) -> bool:
    """Compare two texts in a time that does not tell how much of them is equal."""
    return hmac.compare_digest(given.encode(), expected.encode())


def read_secret(path: Path) -> bytes:
    """Return the secret in a file, which is made if there is none."""
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        make_secret(path)
        return read_secret(path)
    checks.needs(
        len(found) == SECRET_BYTES, "lab", f"a secret of {SECRET_BYTES} bytes in {path}", len(found)
    )
    return found


def make_secret(path: Path) -> None:
    """Write a new secret, complete or not at all.

    Several servers may start at once: the one that creates the file decides.
    """
    draft = path.with_name(f"{path.name}-{secrets.token_hex(8)}")
    # Without O_BINARY, which only Windows has, a byte that is a line end would become two.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with open(os.open(draft, flags, 0o600), "wb") as file:
        file.write(secrets.token_bytes(SECRET_BYTES))
        file.flush()
        os.fsync(file.fileno())
    try:
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()


def check_token(token: str) -> str:
    """Return a token of the user's own if it is hard to guess and fit for a header."""
    letters = token.isascii() and token.isprintable() and " " not in token
    checks.needs(letters, "lab", "a token of printable ASCII characters without blanks", "another")
    # Six bits for each character, as of base 64; and not one character again and again.
    strong = 6 * len(token) >= LEAST_BITS and len(set(token)) >= 8
    needed = f"a token of at least {LEAST_BITS} bits (22 random characters)"
    checks.needs(strong, "lab", needed, f"one of {len(token)} characters")
    return token
