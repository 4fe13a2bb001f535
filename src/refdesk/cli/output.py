"""
How commands speak: data on stdout, talk on stderr, and what an exit status means.

Rich is imported when something is drawn, so that help and pipes stay quick.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import Console

FAILURE: Final = 1
USAGE: Final = 2
PROBLEMS: Final = 3
"""A check did its work and found something wrong."""


@cache
def _console(stderr: bool) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=True)


def out() -> Console:
    """Return the console for data: stdout."""
    return _console(False)


def err() -> Console:
    """Return the console for talk: stderr."""
    return _console(True)


def say(message: str) -> None:
    """Tell the person at the terminal something; it is no data, and no markup is read in it."""
    print(message, file=sys.stderr)


def fail(message: str, code: int = FAILURE) -> NoReturn:
    """Say what went wrong on stderr and end with that exit status."""
    say(message)
    raise typer.Exit(code)


def print_json(value: Any) -> None:
    """Print a value as JSON on stdout, indented, in UTF-8 whatever the locale."""
    import msgspec

    data = msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2)
    sys.stdout.flush()
    if hasattr(sys.stdout, "buffer"):
        sys.stdout.buffer.write(data + b"\n")
        sys.stdout.buffer.flush()
    else:
        print(data.decode())
