"""A whole Refdesk on loopback, with its store made once."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest

from desk import OpenDesk, open_desk
from refdesk.store import Store


@pytest.fixture(scope="session")
def made_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a new store in it."""
    folder = tmp_path_factory.mktemp("made") / "data"
    Store.open(f"sqlite:///{folder}/refdesk.db", data_dir=folder).close()
    return folder


@pytest.fixture
def opened(made_store: Path, tmp_path: Path) -> OpenDesk:
    """Starts a desk with what a test wants of it; see `desk.open_desk`."""
    shutil.copytree(made_store, tmp_path / "data")
    return partial(open_desk, tmp_path)
