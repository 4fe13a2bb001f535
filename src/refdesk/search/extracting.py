"""
The query in what a user said.

What clients wrote round the words is left out, what looks like a secret is cut out, since a query
leaves the house, and the rest is cut to length.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from refdesk.search._secrets import cut_secrets
from refdesk.search.followup import is_followup
from refdesk.search.spoken import read_message
from refdesk.wires.turns import Author

__all__ = ["ExtractedQuery", "as_query", "cut_secrets", "extract_query", "shorten"]

_MOST_READ: Final = 65_536
"""Characters of a user's words that are looked at; a query is far shorter."""
_LEAST_WORDS: Final = 3
"""A question in a long text stands alone if it has so many words, and refers to nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExtractedQuery:
    """The query (empty where the user said nothing to search for), and what was cut out of it."""

    text: str
    removed: tuple[str, ...] = ()
    said: str = ""
    """What the user said, where ``text`` is a follow-up made complete; else empty."""
    unresolved: bool = False
    """Whether it looks like a follow-up that no rule could complete."""
    author: Author = "user"
    """Who wrote the message; all but ``user`` mean that there is no query."""
    why: str = ""
    """What the message is, where there is text and yet no query."""
    left_out: tuple[str, ...] = ()
    """What the client wrote round the user's words."""
    notices: tuple[str, ...] = ()


def extract_query(user_texts: Sequence[str], max_chars: int) -> ExtractedQuery:
    """
    Return what to ask.

    Args:
        user_texts: The text parts of the last user message that has any.
        max_chars: Cut to this many characters, at the end of a word where there is one.
    """
    spoken = read_message(user_texts)
    return replace(
        as_query(spoken.text, max_chars),
        author=spoken.author,
        why=spoken.why,
        left_out=spoken.left_out,
    )


def as_query(words: str, max_chars: int) -> ExtractedQuery:
    """Return a user's own words as a query: without secrets, on one line, and not too long."""
    text, removed = cut_secrets(words[:_MOST_READ])
    text = " ".join(_asked(text.strip(), max_chars).split())[: 4 * max_chars]
    if not text.isprintable():
        text = "".join([" " if _invisible(char) else char for char in text])
    return ExtractedQuery(text=shorten(" ".join(text.split()), max_chars), removed=removed)


def _asked(text: str, max_chars: int) -> str:
    """
    Return the question in a text that is too long for a query.

    Users put a question behind what they paste, or before it.  Where neither the last line nor the
    first is a question that stands alone, the whole text is returned.
    """
    if len(text) <= max_chars:
        return text
    lines = [line for line in text.splitlines() if line.strip()]
    for line in (lines[-1:] + lines[:1]) if len(lines) > 1 else []:
        line = line.strip()
        whole = line.endswith(("?", "？")) and len(line) <= max_chars
        if (
            whole
            and not is_followup(line)
            and (not line.isascii() or len(line.split()) >= _LEAST_WORDS)
        ):
            return line
    return text


def shorten(text: str, max_chars: int) -> str:
    """Cut a text to so many characters: at a word's end, and never inside a visible character."""
    if len(text) <= max_chars:
        return text
    end = max_chars
    while end > 0 and _joins(text[end - 1], text[end]):
        end -= 1
    if flags := _flags_before(text, max_chars):
        # Flags are pairs of letters, told apart only by counting from the first.
        end = max_chars - flags % 2
    end = end or max_chars  # one letter under hundreds of marks is better cut than dropped
    head = text[:end]
    space = head.rfind(" ")
    # Chinese has no spaces, and a single long word is better cut than dropped.
    if text[end] != " " and space > max_chars // 2:
        head = head[:space]
    return head.rstrip()


def _flags_before(text: str, end: int) -> int:
    start = end
    while start > 0 and "\U0001f1e6" <= text[start - 1] <= "\U0001f1ff":
        start -= 1
    return end - start if "\U0001f1e6" <= text[end] <= "\U0001f1ff" else 0


def _invisible(char: str) -> bool:
    category = unicodedata.category(char)
    # Joiners are part of emoji and of several scripts.
    return category == "Cc" or (category == "Cf" and char not in "\u200c\u200d")


def _joins(before: str, after: str) -> bool:
    """Whether a cut between these two would fall inside a visible character (UAX 29, roughly)."""
    return (
        unicodedata.category(after) in ("Mn", "Mc", "Me")
        or after in "\u200c\u200d"
        or before == "\u200d"
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or ("\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff")
        or "\U000e0020" <= after <= "\U000e007f"
        or "\u1160" <= after <= "\u11ff"
    )
