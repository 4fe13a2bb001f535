"""
A parsed answer as people see it: plain text, Markdown, or a terminal with links.

A link only ever leads where a reference was found; where a reference has no page, its number is
shown without one.  Pieces are rendered one at a time, so this works while the answer streams.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from refdesk.http import is_web_url
from refdesk.search.citations import Citation, Piece
from refdesk.terminal import harmless
from refdesk.types import Reference

_URL_SAFE: Final = "!#$%&'*+,/:;=?@[]~"


def plain(piece: Piece) -> str:
    """Return a piece as text; a citation is ``[1]``."""
    if isinstance(piece, Citation):
        return piece.label + "".join(f"[{each.index}]" for each in piece.references)
    return piece.text


def markdown(piece: Piece) -> str:
    """Return a piece as Markdown; a citation is ``[[1]](https://…)``."""
    if isinstance(piece, Citation):
        return piece.label + "".join(map(_markdown_link, piece.references))
    return piece.text


def terminal(piece: Piece) -> str:
    """Return a piece for a terminal: citations can be clicked, nothing else controls it."""
    if isinstance(piece, Citation):
        return harmless(piece.label) + "".join(map(_terminal_link, piece.references))
    return harmless(piece.text)


def _markdown_link(reference: Reference) -> str:
    if not is_web_url(reference.url):
        return f"[{reference.index}]"
    url = reference.url.replace("(", "%28").replace(")", "%29")
    return f"[[{reference.index}]]({url})"


def _terminal_link(reference: Reference) -> str:
    mark = f"[{reference.index}]"
    if not is_web_url(reference.url):
        return mark
    # The sequence takes printable ASCII only (https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda).
    return f"\x1b]8;;{quote(reference.url, safe=_URL_SAFE)}\x1b\\{mark}\x1b]8;;\x1b\\"
