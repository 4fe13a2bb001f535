"""How much of a document can be found again: counted, not estimated."""

from __future__ import annotations

from collections.abc import Sequence

from refdesk.kb.ingest.chunk import Piece
from refdesk.kb.ingest.parse import Parsed, Refused
from refdesk.store.passages import DocumentReport


def report_of(
    parsed: Parsed, pieces: Sequence[Piece], *, size: int, seconds: float
) -> DocumentReport:
    """Return the report of a document that was read; white space does not count."""
    skipped = list(parsed.notes)
    if parsed.blank_pages:
        numbers = ", ".join(map(str, parsed.blank_pages[:20]))
        more = f" and {len(parsed.blank_pages) - 20} more" if len(parsed.blank_pages) > 20 else ""
        which = (
            f"page {numbers} has" if len(parsed.blank_pages) == 1 else f"pages {numbers}{more} have"
        )
        skipped.append(f"{which} no text, as scans do: run OCR over it")
    return DocumentReport(
        characters_read=_solid(parsed.text),
        characters_in_chunks=covered(parsed.text, pieces),
        characters_in_file=parsed.held,
        characters_lost=parsed.lost,
        chunks=len(pieces),
        pages=len(parsed.pages) or None,
        pages_without_text=parsed.blank_pages,
        skipped=tuple(skipped),
        parser=parsed.parser,
        shape=parsed.shape,
        encoding=parsed.encoding,
        bytes=size,
        seconds=round(seconds, 3),
    )


def report_of_refusal(refused: Refused, *, size: int, seconds: float) -> DocumentReport:
    """Return the report of a document that was not taken in."""
    return DocumentReport(
        pages=refused.pages,
        pages_without_text=refused.blank_pages,
        bytes=size,
        seconds=round(seconds, 3),
        error=str(refused),
    )


def covered(text: str, pieces: Sequence[Piece]) -> int:
    """Return how many characters are in passages, each counted once, white space aside."""
    count, at = 0, 0
    for piece in pieces:
        start = max(at, piece.start)
        if piece.end > start:
            count += _solid(text[start : piece.end])
            at = piece.end
    return count


def _solid(text: str) -> int:
    return sum(map(len, text.split()))
