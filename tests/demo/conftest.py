"""A desk for the demo's tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from desk import Desk, open_desk
from refdesk.testing.fakes import FakeEngine, item
from refdesk.types import WebPage

PAGE = WebPage(
    items=(
        item(url="https://a.example/3.14", title="Python 3.14", content="Out on 7 October 2025."),
        item(url="https://b.example/", title="Another", content="Nothing to do with it."),
    )
)


@pytest_asyncio.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A desk whose engine finds two pages."""
    async with open_desk(tmp_path, FakeEngine("fake", PAGE)) as one:
        yield one
