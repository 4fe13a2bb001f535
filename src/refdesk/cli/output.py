"""
How commands speak: data on stdout, talk on stderr, and what an exit status means.

All they write goes through here, so that nothing foreign steers the terminal.

Rich is imported when something is drawn, so that help and pipes stay quick.
"""

from __future__ import annotations

import sys
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NoReturn

import typer

from refdesk.terminal import console, harmless, harmless_json

if TYPE_CHECKING:
    from rich.console import Console

FAILURE: Final = 1
USAGE: Final = 2
PROBLEMS: Final = 3
"""A check did its work and found something wrong."""


@cache
def _console(stderr: bool) -> Console:
    return console(stderr=stderr, highlight=False, soft_wrap=True)


def out() -> Console:
    """Return the console for data: stdout."""
    return _console(False)


def err() -> Console:
    """Return the console for talk: stderr."""
    return _console(True)


def put(text: str, *, end: str = "\n", flush: bool = False) -> None:
    """Write data on stdout, without what would steer a terminal."""
    print(harmless(text), end=end, flush=flush)


def put_drawn(text: str) -> None:
    """Write what holds sequences of our own, and of nobody else, on a terminal at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


def say(message: str) -> None:
    """Tell the person at the terminal something; it is no data, and no markup is read in it."""
    print(harmless(message), file=sys.stderr)


def fail(message: str, code: int = FAILURE) -> NoReturn:
    """Say what went wrong on stderr and end with that exit status."""
    say(message)
    raise typer.Exit(code)


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout, indented, in UTF-8 whatever the locale."""
    import msgspec

    _write(msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2))


class JsonList:
    """
    A JSON array on stdout, for the time of a ``with``: each item is written when it is known.

    An item is a line of its own, so that a program can follow, and what was written before the
    process died can be read.
    """

    def __init__(self) -> None:
        self._begun = False

    def __enter__(self) -> JsonList:
        return self

    def add(self, value: Any) -> None:
        """Write an item."""
        import msgspec

        _write((b"," if self._begun else b"[\n") + msgspec.json.encode(value, enc_hook=str))
        self._begun = True

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._begun:
            _write(b"]")
        elif exc is None:
            _write(b"[]")


def _write(data: bytes) -> None:
    data = harmless_json(data)
    sys.stdout.flush()
    if hasattr(sys.stdout, "buffer"):
        sys.stdout.buffer.write(data + b"\n")
        sys.stdout.buffer.flush()
    else:
        print(data.decode())
