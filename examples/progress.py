"""What to show while a search runs, and what it did."""

import asyncio
from collections.abc import Mapping
from typing import Any

from rich.console import Console

from refdesk import Refdesk, Trace


def show(message: Mapping[str, Any]) -> None:
    props = message["props"]
    print(props["message"], "(done)" if props["done"] else "")


async def main() -> None:
    trace = Trace(locale="zh")
    async with Refdesk.open({"engines": {"pages": {"type": "offline"}}}) as desk:
        await desk.search.all(
            [{"query": "Python 3.14 release date"}, {"query": "Rust editions"}],
            progress=show,
            locale="zh",
            trace=trace,
        )
    Console().print(trace.tree())


asyncio.run(main())
