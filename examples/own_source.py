"""A source of your own beside the web: a handler, searched with it, in one numbering."""

import asyncio

from refdesk import Refdesk, ResultItem, SearchContext, SearchRequest, SearchResult

ANSWERS = {
    "support": "Python 3.14 is supported on all our servers.",
    "office": "The office is closed on Fridays.",
}


class Handbook:
    """Finds answers that have a word of the question in them."""

    type = "kb"

    async def search(self, request: SearchRequest, *, context: SearchContext) -> SearchResult:
        words = request.query.lower().split()
        items = tuple(
            ResultItem(title=name, content=text, collection="handbook")
            for name, text in ANSWERS.items()
            if any(word in text.lower() for word in words)
        )
        return SearchResult(type="kb", query=request.query, items=items)


async def main() -> None:
    async with Refdesk.open({"engines": {"pages": {"type": "offline"}}}) as desk:
        desk.search.handlers.register(Handbook())
        found = await desk.search.all(
            [
                {"query": "Python 3.14", "type": "kb", "source": "user"},
                {"query": "Python 3.14", "type": "web", "limit": 2},
            ]
        )
        for reference in desk.search.references(found).items:
            print(f"[{reference.index}] {reference.type}: {reference.title}")


asyncio.run(main())
