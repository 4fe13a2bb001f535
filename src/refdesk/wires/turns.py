"""
Whose turn it is at the end of a conversation.

Clients write in the user's role too, so the newest message of that role need not be a user's.  Who
wrote a text is for the caller to say; what follows from it is the same on every wire.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Author = Literal["user", "aside", "client", "lead"]
"""
Who wrote a text in the user's role: a user; a client, beside what its user says (files, reminders,
the environment); a client in a user's stead (a task, a retry, a summary); or a client that asks
something of the message behind it ("Generate a title for this conversation:").
"""

AuthorOf = Callable[[Sequence[str]], Author]
"""Tells who wrote the text parts of a message."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """One message, as far as turns are concerned."""

    place: int
    role: Literal["user", "assistant", "tool"]
    texts: tuple[str, ...] = ()
    """Its text parts; a blank one counts, where the wire's clients mean something by it."""
    holds_tool_output: bool = False
    ends_in_tool_output: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Newest:
    """The newest words of a user."""

    place: int = -1
    """Of the message they stand in; -1 where there is none."""
    texts: tuple[str, ...] = ()
    ends_with_tool_output: bool = False
    """Tool outputs stand behind them, and nothing new."""
    unasked: tuple[str, ...] = ()
    """What the client wrote last, where that is no part of what its user asks."""


def newest_words(said: Iterable[Said], author_of: AuthorOf | None = None) -> Newest:
    """
    Find the newest words of a user.

    Args:
        said: The messages, the newest first; it is read only as far as needed.
        author_of: Tells who wrote a message of the user's role; None takes all for a user's.
    """
    messages = iter(said)
    behind: Literal["nothing", "aside", "client", "answer"] = "nothing"
    ends_with_tool_output = prefilled = False
    unasked: tuple[str, ...] = ()
    for one in messages:
        author = None
        if one.role == "user" and one.texts:
            author = author_of(one.texts) if author_of else "user"
        if author == "user":
            ends_with_tool_output = ends_with_tool_output or (
                behind == "nothing" and not prefilled and one.ends_in_tool_output
            )
            if behind == "aside":
                unasked = ()
            elif behind == "nothing" and author_of:
                unasked = _lead(messages, author_of)
            return Newest(
                place=one.place,
                texts=one.texts,
                ends_with_tool_output=ends_with_tool_output,
                unasked=unasked,
            )
        if author is not None and behind in ("nothing", "aside"):
            behind = "aside" if author == "aside" else "client"
            unasked = one.texts
        if behind == "client":
            continue
        if one.role == "tool" or one.holds_tool_output:
            if behind in ("nothing", "aside") and not prefilled:
                ends_with_tool_output, unasked = True, ()
            behind = "answer"
        elif one.role == "assistant":
            # An assistant's message at the very end is a prefill: the turn is still the user's.
            prefilled = prefilled or behind == "nothing"
            behind = "answer" if behind == "aside" else behind
    return Newest(ends_with_tool_output=ends_with_tool_output, unasked=unasked)


def _lead(before: Iterable[Said], author_of: AuthorOf) -> tuple[str, ...]:
    """Return what the client asks about a message, in one right before it; empty if nothing."""
    for one in before:
        author = author_of(one.texts) if one.role == "user" and one.texts else "user"
        if author != "aside":
            return one.texts if author == "lead" else ()
    return ()
