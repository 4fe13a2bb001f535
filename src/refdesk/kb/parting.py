"""
A document parted anew from the text that is kept, where its passages are to have another length.

Nothing is read again: how the text is to be parted stands in its report, and where its pages begin
is where their first passages do, since no passage runs across a page.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Protocol

from refdesk.kb.ingest.chunk import Piece, Shape
from refdesk.kb.ingest.pipeline import chunks_from
from refdesk.kb.ingest.report import covered
from refdesk.store.passages import Chunk, Document

_SHAPES: Final[dict[str, Shape]] = {
    "text/plain": "plain",
    "text/csv": "rows",
    "text/tab-separated-values": "rows",
}


class Part(Protocol):
    """Parts a text, such as `refdesk.kb.ingest.pipeline.Pipeline.part`."""

    async def __call__(
        self, text: str, *, shape: Shape, chars: int, pages: Sequence[int]
    ) -> list[Piece]:
        """Return the passages."""
        ...


async def parted_anew(
    document: Document, chunks: Sequence[Chunk], text: str, chars: int, part: Part
) -> tuple[Document, list[Chunk]] | None:
    """
    Return a document as a new revision, with passages of about so many characters.

    None where it has the passages already that it would get.

    Args:
        document: As it is kept.
        chunks: Its passages, in order.
        text: All of its text.
        chars: How long a passage is to be.
        part: Parts the text.
    """
    shape = document.report.shape or _SHAPES.get(document.mime, "markdown")
    pages = page_starts(chunks, document.pages, len(text))
    pieces = await part(text, shape=shape, chars=chars, pages=pages)
    places = [(piece.start, piece.end) for piece in pieces]
    if not places or places == [(chunk.start, chunk.end) for chunk in chunks]:
        return None
    report = replace(
        document.report, chunks=len(pieces), characters_in_chunks=covered(text, pieces)
    )
    made = replace(
        document, revision=f"rev_{secrets.token_hex(10)}", chunks=len(pieces), report=report
    )
    return made, chunks_from(made, pieces)


def page_starts(chunks: Sequence[Chunk], pages: int | None, length: int) -> list[int]:
    """Return where each page begins; one without text begins where the next one does."""
    first: dict[int, int] = {}
    for chunk in chunks:
        if chunk.page is not None:
            first.setdefault(chunk.page, chunk.start)
    starts: list[int] = []
    after = length
    for page in range(pages or 0, 0, -1):
        after = first.get(page, after)
        starts.append(after)
    return starts[::-1]
