"""References opened again later, by the request that found them and their number."""

import asyncio
import tempfile

from refdesk import NoSuchReference, Refdesk


async def main(folder: str) -> None:
    config = {"engines": {"pages": {"type": "offline"}}, "data_dir": f"{folder}/data"}
    async with Refdesk.open(config) as desk:
        result = await desk.search.web("When was Python 3.14 released?", limit=2)

    async with Refdesk.open(config) as desk:  # another day, another process
        reference = await desk.reference(result.request_id, 1)
        print(reference.title, reference.url)
        try:
            await desk.reference(result.request_id, 9)
        except NoSuchReference as exc:
            print(exc)


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(folder))
