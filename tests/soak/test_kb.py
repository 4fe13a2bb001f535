"""A small part of `make soak-kb`: two processes are killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from soak.rounds import Soak


@pytest.mark.timeout(240)  # five processes, four of which load the vector store
def test_killed(tmp_path: Path) -> None:
    """
    What was told before SIGKILL is whole for the next process; what was not is whole or not there.

    The one after it does the rest.
    """
    soak = Soak(tmp_path, seed=3)
    soak.create()
    assert soak.add()
    soak.look("while it was adding")
    assert soak.update()
    seen = soak.look("while it was updating", resume=True)
    assert soak.faults == []
    assert seen["jobs"] == 0
    assert soak.told.total() >= 2
