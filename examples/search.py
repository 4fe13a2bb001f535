"""One search, and its references for a model."""

import asyncio

from refdesk import Refdesk

CONFIG = {"engines": {"pages": {"type": "offline"}}}


async def main() -> None:
    async with Refdesk.open(CONFIG) as desk:
        result = await desk.search.web("When was Python 3.14 released?", limit=3)
        if result.error:
            raise SystemExit(result.error)
        for item in result.items:
            print(f"[{item.index}] {item.title}\n    {item.url}")

        context = desk.search.references(result)
        print(context.prompt.splitlines()[0])
        print(context.xml.splitlines()[1])


asyncio.run(main())
