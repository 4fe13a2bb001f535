"""Plain text, Markdown, and tables as text."""

from __future__ import annotations

import re

from refdesk.kb.ingest.reading.decoding import decoded
from refdesk.kb.ingest.reading.found import Found

SHAPES = {
    "text/plain": "plain",
    "text/markdown": "markdown",
    "text/csv": "rows",
    "text/tab-separated-values": "rows",
}
_SEPARATOR = re.compile(r'\s*"?sep=(?:[^"\n]|\\t)"?[ \t;,]*(?:\n|$)', re.IGNORECASE)
"""Excel's first line, which it does not show."""


def read_plain(data: bytes, mime: str) -> Found:
    """Return a text as it stands; of a table the line that names its separator goes."""
    text, encoding, lost = decoded(data)
    shape = SHAPES[mime]
    if shape == "rows" and (found := _SEPARATOR.match(text)):
        text = text[found.end() :]
    return Found(
        text=text,
        shape=shape,  # type: ignore[arg-type]
        encoding=encoding,
        parser="text",
        notes=[f"{lost} characters could not be decoded as {encoding}"] if lost else [],
        held=text,
    )
