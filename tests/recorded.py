"""
Recordings: bytes that vendors and clients really sent.

They lie in ``tests/recordings``; the README beside each says where it comes from and under which
licence.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RECORDINGS = ROOT / "tests" / "recordings"


def recording(name: str) -> bytes:
    """Return the bytes of a recording, such as ``anthropic-messages/plain-tools/response.json``."""
    return (RECORDINGS / name).read_bytes()


def recorded_json(name: str) -> Any:
    """Return a recording, parsed."""
    return json.loads(recording(name))
