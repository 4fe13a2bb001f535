"""A desk for each test, on a store that is made only once."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator, MutableMapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from structlog.testing import capture_logs

from desk import Desk, OpenDesk, open_desk
from refdesk.store import Store


@pytest.fixture(autouse=True)
def logged() -> Iterator[list[MutableMapping[str, Any]]]:
    """What was logged during a test, as it was before it became text."""
    with capture_logs() as lines:
        yield lines


@pytest.fixture(scope="session")
def made_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a new store in it."""
    folder = tmp_path_factory.mktemp("made") / "data"
    Store.open(f"sqlite:///{folder}/refdesk.db", data_dir=folder).close()
    return folder


@pytest.fixture
def desk_folder(made_store: Path, tmp_path: Path) -> Path:
    """A folder whose ``data`` is a copy of that store."""
    shutil.copytree(made_store, tmp_path / "data")
    return tmp_path


@pytest.fixture
def opened(desk_folder: Path) -> OpenDesk:
    """Starts a desk with what a test wants of it; see `desk.open_desk`."""
    return partial(open_desk, desk_folder)


@pytest_asyncio.fixture
async def desk(opened: OpenDesk) -> AsyncIterator[Desk]:
    """A desk with one fake engine."""
    async with opened() as one:
        yield one
