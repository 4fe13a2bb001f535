"""Documents parted anew: from the kept text and passages, as if they had been read again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from refdesk.kb.ingest.chunk import Piece, Shape, parted
from refdesk.kb.ingest.pipeline import chunks_from
from refdesk.kb.parting import page_starts, parted_anew
from refdesk.store.passages import Document, DocumentReport

LINES = st.sampled_from(
    [
        "# Head",
        "## Part",
        "Some words here.",
        "| a | b |",
        "| --- | --- |",
        "| 1 | 2 |",
        "",
        "x" * 90,
    ]
)


async def part(text: str, *, shape: Shape, chars: int, pages: Sequence[int]) -> list[Piece]:
    """Part a text in this process."""
    return parted(text, shape=shape, chars=chars, pages=pages)


PAGES = st.lists(st.lists(LINES, max_size=8).map("\n".join), min_size=1, max_size=5)
SHAPES: st.SearchStrategy[Shape] = st.sampled_from(["plain", "markdown"])


@given(pages=PAGES, shape=SHAPES, paged=st.booleans(), first=st.integers(50, 200))
def test_as_if_read_again(pages: list[str], shape: Shape, paged: bool, first: int) -> None:
    """Whatever the length was before, the passages are those that reading gives."""
    starts, text = [], ""
    for page in pages:
        starts.append(len(text))
        text += page + "\n\n"
    known = starts if paged else []
    document = Document(
        id="doc_1",
        collection="c",
        key="k",
        revision="rev_1",
        pages=len(known) or None,
        report=DocumentReport(shape=shape),
    )
    chunks = chunks_from(document, parted(text, shape=shape, chars=first, pages=known))
    wanted = parted(text, shape=shape, chars=120, pages=known)
    anew = asyncio.run(parted_anew(document, chunks, text, 120, part))
    if anew is None:
        assert [(one.start, one.end) for one in chunks] == [(one.start, one.end) for one in wanted]
        return
    made, found = anew
    assert [
        (one.text, one.start, one.end, one.page, one.heading, one.index_text) for one in found
    ] == [(one.text, one.start, one.end, one.page, one.heading, one.index_text) for one in wanted]
    assert made.revision != document.revision
    assert {one.revision for one in found} == {made.revision}


def test_blank_pages() -> None:
    """A page without text begins where the next one does, the last one at the end."""
    document = Document(id="d", collection="c", key="k", revision="r", pages=4)
    text = "One.\n\nThree."
    chunks = chunks_from(document, parted(text, shape="plain", chars=100, pages=[0, 6, 6, 12]))
    assert [chunk.page for chunk in chunks] == [1, 3]
    assert page_starts(chunks, 4, len(text)) == [0, 6, 6, 12]
