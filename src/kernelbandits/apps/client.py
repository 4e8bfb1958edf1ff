"""A client of the REST interface of `kernelbandits lab`, for instruments and scripts.

It needs nothing but Python's own library, so this file can be copied to the computer of an
instrument. Every request that writes has a key, and is sent again with the same key if no answer
comes: whatever happens in between, it counts once.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import Request, urlopen

from kernelbandits import checks

ATTEMPTS = 5
PAUSE = 1.0
"""Seconds before the second attempt; they double with each further one."""
TOKEN = "KERNELBANDITS_TOKEN"


class LabError(Exception):
    """The server refused a request; `status` is its HTTP status, `document` what it said.

    The document of a second result for a trial (409) has `trial` and the stored `value`, that of a
    wrong cell (422) `row` and `column`.
    """

    def __init__(self, status: int, document: Mapping[str, Any]) -> None:
        super().__init__(str(document.get("error", document)))
        self.status, self.document = status, document


class LabClient:
    """The studies of a server.

    Parameters
    ----------
    address
        Where the server is, such as "http://127.0.0.1:8765".
    token
        The token that `kernelbandits lab --show-tokens` prints; by default that in the environment
        variable KERNELBANDITS_TOKEN.

    A robot's day::

        study = LabClient("http://127.0.0.1:8765", token).study("films")
        while True:
            [suggestion] = study.ask(worker="robot-2")
            study.tell(suggestion["trial"], measure(suggestion["x"]))
    """

    def __init__(self, address: str, token: str | None = None, *, timeout: float = 60.0) -> None:
        self._address, self._timeout = address.rstrip("/"), timeout
        found = os.environ.get(TOKEN, "") if token is None else token
        if not found:
            raise ValueError(f"LabClient needs a token, got none; set {TOKEN}, or pass token=")
        self._token = found

    def studies(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.request("GET", "/api/studies")
        return found

    def study(self, name: str) -> RemoteStudy:
        return RemoteStudy(self, name)

    def create(self, name: str, *, target: str | None = None, **settings: Any) -> RemoteStudy:
        """Create a study from `csv` (text), `rows` (a list of dictionaries) or `space`.

        In place of `target` there may be several `targets`, such as ["gloss", "haze:minimize"].
        """
        self.request("POST", "/api/studies", {"name": name, "target": target, **settings})
        return self.study(name)

    def request(self, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
        """Send a request, again if no answer comes, and return the JSON of the answer."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        if key is not None:
            # It travels in a header, which takes no other letters.
            plain = isinstance(key, str) and key.isascii() and key.isprintable() and key.strip()
            checks.needs(bool(plain), "a call", "a key of letters a to z, digits and signs", key)
            headers["Idempotency-Key"] = key
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body, allow_nan=False).encode()
        # A request without a key that writes must not be sent twice.
        attempts = ATTEMPTS if method == "GET" or key is not None else 1
        for attempt in range(1, attempts + 1):
            request = Request(f"{self._address}{path}", data, headers, method=method)
            try:
                with urlopen(request, timeout=self._timeout) as answer:
                    return json.load(answer)
            except HTTPError as error:
                if error.code != 503 or attempt == attempts:
                    raise LabError(error.code, read_error(error)) from None
            except (URLError, TimeoutError, ConnectionError):
                if attempt == attempts:
                    raise
            time.sleep(PAUSE * 2 ** (attempt - 1))
        raise AssertionError("the last attempt returns or raises")


def read_error(error: HTTPError) -> Mapping[str, Any]:
    try:
        found = json.load(error)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"error": f"status {error.code}"}


class RemoteStudy:
    """A study on a server: the same calls as `Study`, with dictionaries as answers."""

    def __init__(self, client: LabClient, name: str) -> None:
        self.client, self.name = client, name

    def status(self) -> dict[str, Any]:
        return dict(self._get(""))

    def ask(
        self,
        n: int = 1,
        *,
        worker: str | None = None,
        lease: float | None = None,
        same: Sequence[str] | None = None,
        key: str | None = None,
    ) -> list[dict[str, Any]]:
        """Ask for the next candidates, each a dictionary with trial, row, x, why, and more."""
        shared = None if same is None else list(same)
        body = {"n": n, "worker": worker, "lease": lease, "same": shared}
        return list(self._post("ask", body, key))

    def tell(
        self,
        trial: int | None = None,
        value: float | str | Sequence[float | str] | Mapping[str, float | str] | None = None,
        *,
        key: str | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Record a result; a second one for a trial raises LabError with status 409.

        `more` are the arguments of `Study.tell`: row, label or x in place of the trial (x beside a
        trial is what was really set), failed, missing, sem, note, by, worker.
        """
        body = {"trial": trial, "value": value, **more}
        return dict(self._post("tell", body, key))

    def tell_all(
        self, results: Sequence[Mapping[str, Any]], *, key: str | None = None, **options: Any
    ) -> list[dict[str, Any]]:
        """Record many results, all of them or none."""
        body = {"results": [dict(one) for one in results], **options}
        return list(self._post("tell-all", body, key))

    def correct(
        self,
        trial: int,
        value: float | None = None,
        *,
        failed: bool = False,
        reason: str = "",
        key: str | None = None,
    ) -> dict[str, Any]:
        body = {"trial": trial, "value": value, "failed": failed, "reason": reason}
        return dict(self._post("correct", body, key))

    def withdraw(self, trial: int, *, reason: str = "", key: str | None = None) -> dict[str, Any]:
        return dict(self._post("withdraw", {"trial": trial, "reason": reason}, key))

    def release(self, *trials: int, key: str | None = None) -> list[dict[str, Any]]:
        return list(self._post("release", {"trials": list(trials)}, key))

    def undo(
        self, n: int = 1, *, event: int | None = None, key: str | None = None
    ) -> list[dict[str, Any]]:
        """Take back the last steps; with `event` only if it belongs to the last one."""
        return list(self._post("undo", {"n": n, "event": event}, key))

    def change(self, *, key: str | None = None, **settings: Any) -> dict[str, Any]:
        return dict(self._post("change", settings, key))

    def permit(
        self, rows: Sequence[int | str], *, allowed: bool, reason: str = "", key: str | None = None
    ) -> dict[str, Any]:
        """Forbid rows, or allow them again."""
        body = {"rows": list(rows), "allowed": allowed, "reason": reason}
        return dict(self._post("permit", body, key))

    def add(self, rows: Sequence[Mapping[str, Any]], *, key: str | None = None) -> dict[str, Any]:
        """Add rows to the table."""
        return dict(self._post("add", {"rows": [dict(row) for row in rows]}, key))

    def estimates(self) -> list[dict[str, Any]]:
        return list(self._get("/estimates")["estimates"])

    def trials(self) -> list[dict[str, Any]]:
        return list(self._get("/trials"))

    def events(self, after: int = 0) -> list[dict[str, Any]]:
        return list(self._get(f"/events?after={after}"))

    def explain(self, trial: int | str) -> dict[str, Any]:
        """Explain why a trial was suggested, or the row of this name."""
        return dict(self._get(f"/trials/{quote(str(trial), safe='')}/why"))

    def compare(self, row: int | str) -> dict[str, Any]:
        """Compare a row, by its name or number, with the likely best: why not this one?"""
        return dict(self._get(f"/candidates/{quote(str(row), safe='')}/why-not"))

    def _get(self, path: str) -> Any:
        return self.client.request("GET", f"{self._path}{path}")

    def _post(self, what: str, body: Mapping[str, Any], key: str | None) -> Any:
        again = uuid.uuid4().hex if key is None else key
        return self.client.request("POST", f"{self._path}/{what}", body, again)

    @property
    def _path(self) -> str:
        return f"/api/studies/{quote(self.name, safe='')}"
