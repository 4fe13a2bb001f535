"""Citations found while an answer streams: no half of a tag is ever shown."""

import asyncio

from refdesk import CitationParser, Refdesk
from refdesk.search.rendering import markdown

# What a model might write, cut as a stream may cut it.
CHUNKS = [
    "Python 3.14 came out on 7 October 2025<a class=",
    '"ref" data-ref-id="ref_001" href="#ref:ref_001">[ref_',
    "001]</a>, and 1 < 2. Nobody knows more [ref_",
    "042].",
]


async def main() -> None:
    async with Refdesk.open({"engines": {"pages": {"type": "offline"}}}) as desk:
        result = await desk.search.web("When was Python 3.14 released?", limit=2)
        parser = CitationParser(desk.search.references(result).items)
        for chunk in CHUNKS:
            for piece in parser.feed(chunk):
                print(markdown(piece), end="")
        for piece in parser.finish():
            print(markdown(piece), end="")
        print()
        print("cited:", [reference.id for reference in parser.cited])
        print("unknown:", [name for one in parser.unknown for name in one.ids])


asyncio.run(main())
