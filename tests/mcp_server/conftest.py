"""A desk for each test, on a store that is made only once."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest

from mcp_desk import OpenMcpDesk, open_mcp_desk
from refdesk.store import Store


@pytest.fixture(scope="session")
def made_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a new store in it."""
    folder = tmp_path_factory.mktemp("made") / "data"
    Store.open(f"sqlite:///{folder}/refdesk.db", data_dir=folder).close()
    return folder


@pytest.fixture
def opened(made_store: Path, tmp_path: Path) -> OpenMcpDesk:
    """Starts a desk that answers at /mcp; see `mcp_desk.open_mcp_desk`."""
    shutil.copytree(made_store, tmp_path / "data")
    return partial(open_mcp_desk, tmp_path)
