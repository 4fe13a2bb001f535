"""What a reader makes of a document, and how it refuses one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

TOO_MUCH = "it needs more memory than is allowed: split it"
NO_TEXT = "it is no text, and its format is not known: save it as PDF, DOCX or text"


@dataclass(kw_only=True)
class Found:
    """The text of a document, and what the report says of it."""

    text: str
    parser: str
    shape: Literal["plain", "markdown", "rows"] = "markdown"
    title: str = ""
    pages: list[int] | None = None
    """Where each page begins in the text."""
    blank: list[int] | None = None
    """The numbers of pages without text, from 1."""
    notes: list[str] = field(default_factory=list)
    """What was left out, a phrase each."""
    encoding: str | None = None
    held: str | None = None
    """The text that a second reader finds; None where there is none for this format."""


class Refusal(Exception):
    """The document is not read; the message is the end of a sentence, with the remedy."""

    def __init__(self, message: str, *, status: str = "failed") -> None:
        super().__init__(message)
        self.status = status


def clean(text: str) -> str:
    """Return a text with line ends as ``\\n``, and without NUL, which databases do not take."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


def embedded(number: int) -> list[str]:
    """Return what is told of files that are put into a document."""
    return [f"{counted(number, 'embedded file')}: add what they say by itself"] if number else []


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: ``1 comment``, ``2 comments``."""
    return f"{number} {one if number == 1 else many or one + 's'}"
