"""
Recordings: bytes that vendors and clients really sent.

Most lie in a folder beside the repository (``../shared/wires/recordings``); those that the project
made itself lie in ``tests/recordings``.  A test that needs one that is not there is skipped.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
OWN = ROOT / "tests" / "recordings"
SHARED = ROOT.parent / "shared" / "wires" / "recordings"


def recording(name: str) -> bytes:
    """Return the bytes of a recording, such as ``anthropic-messages/plain-tools/response.json``."""
    for folder in (OWN, SHARED):
        if (folder / name).is_file():
            return (folder / name).read_bytes()
    pytest.skip(f"the recording {name} is not here: it lies in ../shared beside the repository")


def recorded_json(name: str) -> Any:
    """Return a recording, parsed."""
    return json.loads(recording(name))
