"""The library for code that does not await."""

from refdesk import Refdesk

with Refdesk.open_sync({"engines": {"pages": {"type": "offline"}}}) as desk:
    result = desk.search.web("Who maintains SQLite?", limit=2)
    for item in result.items:
        print(f"[{item.index}] {item.title}")
