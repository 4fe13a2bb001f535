"""
Refdesk's server with one engine more, which knows its answer: the search itself costs nothing.

    python serve.py serve --config refdesk.yaml --port 19300 --data-dir …
"""

from __future__ import annotations

from refdesk.cli import main
from refdesk.types import ResultItem, WebPage, WebQuery
from refdesk.web.engines import ENGINES, LocalEngine

PAGES = 2
ROWS = 10


@ENGINES.register("instant")
class Instant(LocalEngine):
    """Two pages of ten rows, as long as those of real engines."""

    rows_per_call = ROWS

    async def search(self, query: WebQuery, *, timeout_s: float) -> WebPage:
        """Return one of the pages."""
        return _PAGES[query.page]


def _row(number: int) -> ResultItem:
    snippet = f'Release {number} brings "faster" starts & smaller memory; see the notes. ' * 4
    return ResultItem(
        title=f"What is new in release {number} <official notes>",
        url=f"https://docs.example.org/releases/{number}?from=search&lang=en",
        content=snippet.strip(),
        published="2026-11-03",
    )


_PAGES = {
    page: WebPage(
        items=tuple(_row(number) for number in range((page - 1) * ROWS + 1, page * ROWS + 1)),
        more=page < PAGES,
    )
    for page in range(1, PAGES + 1)
}

if __name__ == "__main__":
    main()
