"""Calls with a key: the same key with the same content is the same call, and counts once.

Every operation that writes takes a key. A program that got no answer calls again with the same key:
what it did the first time is found in the log and answered again. The same key with another content
is a mistake, and is refused. The keys of the events of a call begin with the key of the call; what
the call said is stored with them as a digest.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import count, takewhile
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from kernelbandits.checks import StudyConflict
from kernelbandits.codec import write_equal
from kernelbandits.storage import Draft, Event
from kernelbandits.study.names import check_name
from kernelbandits.study.words import name_event

if TYPE_CHECKING:
    from kernelbandits.study.events import State

SAID = "call"
"""In the body of an event: the digest of what its call said, if a user gave the key of the call."""
RESERVED = {"%": "%25", "/": "%2F", ":": "%3A"}
"""Signs that separate the parts of stored keys. In the key of a user they are escaped, so that no
two calls can have the same key: without that the second result of "run" and the result "run/1" had.
"""


@dataclass(frozen=True)
class Call:
    """One call of an operation, and how its events are found again."""

    owner: str
    """The operation."""
    key: str
    """What the keys of its events begin with; nobody else has it."""
    given: str | None = None
    """The key as the user gave it."""
    digest: str | None = None
    """Of what it says. None if its key was made here: then nobody can repeat it with another
    content; and of a table of results, whose lines are compared one by one."""

    def find_written(self, state: State, n: int = 1) -> list[Event]:
        """Return the events that this call has written already, in their order.

        They have its key, or its key with the numbers 0, 1, 2, ...; of the first n numbers some may
        have been undone. Events of another call with this key are refused.
        """
        keys = state.keys
        numbers = takewhile(lambda i: i <= n or f"{self.key}/{i}" in keys, count())
        names = (self.key, *(f"{self.key}/{i}" for i in numbers))
        written = [keys[name] for name in names if name in keys]
        for event in written:
            if event.body.get(SAID) != self.digest:
                raise key_conflict(self.owner, self.given, event)
        return written

    def sign(self, drafts: Iterable[Draft]) -> list[Draft]:
        """Return its events with the digest of what it says."""
        if self.digest is None:
            return list(drafts)
        return [replace(one, body={**one.body, SAID: self.digest}) for one in drafts]


def make_call(owner: str, key: Any, arguments: Mapping[str, Any] | None = None) -> Call:
    """Return the call of an operation with the key of its user, or with one that nobody else has.

    The operation stands in front of the key, so that a tell and an ask may have the same one. A
    tell has the bare key: a line of a file is known by it too.

    arguments: all that decide what the call does. None if they are compared otherwise.
    """
    given = check_name("key", key)
    if given is None:
        return Call(owner, uuid.uuid4().hex)
    name = escape_key(given) if owner == "tell" else f"{owner}:{escape_key(given)}"
    return Call(owner, name, given, None if arguments is None else digest_arguments(arguments))


def digest_arguments(arguments: Mapping[str, Any]) -> str:
    """Return a digest of some arguments, the same for equal ones."""
    return blake2b(write_equal(arguments).encode(), digest_size=8).hexdigest()


def escape_key(key: str) -> str:
    """Return the key of a user as it is stored; `show_key` returns it as it was given."""
    return "".join(RESERVED.get(sign, sign) for sign in key)


def show_key(key: str) -> str:
    """Return a stored key with what the user wrote in it."""
    return unquote(key)


def key_conflict(owner: str, key: str | None, event: Event, where: str = "") -> StudyConflict:
    """Return the error for a key that an event with another content has; `where` is its line."""
    return StudyConflict(
        f"{owner} needs a new key for a new call, got {key!r}{where}, the key of "
        f"{name_event(event)}, which said something else. Nothing was changed"
    )
