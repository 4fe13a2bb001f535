"""
PDF files, page by page: the Markdown of xberg, or the lines and tables that the places of the words
give.

The second is taken where the Markdown has fewer letters than the page, or fewer columns in its
tables: an empty cell that is dropped moves each value behind it to another column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from refdesk.kb.ingest.reading.found import Found, Refusal, clean
from refdesk.kb.ingest.reading.layout import Block, blocks_of
from refdesk.kb.ingest.reading.letters import compare
from refdesk.kb.ingest.reading.other import extracted, warnings

_MAY_LACK = 0.005
"""Of a page's letters: two readers part ligatures and hyphens in their own ways."""


@dataclass(kw_only=True)
class Page:
    """A page as PDFium has it."""

    text: str
    """All of it, in the order of the file."""
    blocks: list[Block]


def read_pdf(data: bytes) -> Found:
    """Return the text of a PDF."""
    plain = plain_pages(data)
    try:
        result = extracted(data, "application/pdf")
    except Refusal:
        if not any(page.text.strip() for page in plain or ()):
            raise
        result = None
    written = [clean(page.content) for page in result.pages or ()] if result else []
    parts: list[str] = []
    notes = []
    if plain and len(plain) == len(written):
        parts = [chosen(one, page) for one, page in zip(written, plain, strict=True)]
    elif plain and len(plain) > len(written):
        parts = [_laid(page, "") for page in plain]
    else:
        parts = written
    if result is not None:
        notes = warnings(result)
        fields = _fields(result, "".join(parts))
        if fields and parts:
            parts[-1] = f"{parts[-1].strip()}\n\n{fields}"
    starts, text = [], ""
    for part in parts:
        starts.append(len(text))
        text += part.strip() + "\n\n"
    return Found(
        text=text,
        title=str((result and result.metadata.title) or ""),
        pages=starts,
        blank=[number for number, part in enumerate(parts, 1) if not part.strip()],
        parser="xberg" if result is not None else "pdfium",
        notes=notes,
        held=None if plain is None else "\n".join(page.text for page in plain),
    )


def plain_pages(data: bytes) -> list[Page] | None:
    """Return the pages as PDFium has them; None where it cannot open the file."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError:
        return None
    pages: list[Page] = []
    for at in range(len(document)):
        try:
            page = document[at]
            text_page = page.get_textpage()
        except pypdfium2.PdfiumError:
            pages.append(Page(text="", blocks=[]))
            continue
        # PDFium's sign for a hyphen at the end of a line.
        raw = text_page.get_text_range().replace("\ufffe", "-")
        pages.append(Page(text=clean(raw), blocks=blocks_of(text_page, raw)))
        text_page.close()
        page.close()
    document.close()
    return pages


def chosen(written: str, page: Page) -> str:
    """
    Return a page as Markdown.

    Args:
        written: What xberg made of it.
        page: What stands on it, by place.
    """
    held, lost, _ = compare(page.text, written)
    if lost > max(2, _MAY_LACK * held):
        return _laid(page, written)
    columns = sum(len(block.rows[0]) for block in page.blocks if block.rows)
    return _laid(page, written) if columns > _columns(written) else written


def _columns(markdown: str) -> int:
    """Return how many columns the tables of a text have together."""
    return sum(line.count(" ---") for line in markdown.splitlines() if line.startswith("| ---"))


def _laid(page: Page, written: str) -> str:
    """Return a page by the places of its words, with the headings that the other reader found."""
    headings = {
        "".join(filter(str.isalnum, line)): line
        for line in written.splitlines()
        if line.startswith("#")
    }
    said: list[str] = []
    for block in page.blocks:
        text = clean(block.markdown)
        if block.rows:
            said.append(f"\n{text}\n")
        elif heading := headings.get("".join(filter(str.isalnum, text))):
            said.append(f"\n{heading}\n")
        else:
            said.append(text)
    return "\n".join(said)


def _fields(result: Any, text: str) -> str:
    """Return what was filled into a form, a line for each field that the pages do not show."""
    lines = [
        f"{field.full_name or field.name}: {field.value}"
        for field in result.form_fields or ()
        if field.value and str(field.value) not in text
    ]
    return "\n".join(map(clean, lines))
