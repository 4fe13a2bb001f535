"""Who may read a collection."""

from __future__ import annotations

from typing import Any

import pytest

from refdesk.kb.permission import may_read


@pytest.mark.parametrize(
    ("permission", "identity", "may"),
    [
        (None, None, True),
        (True, None, True),
        ("true", None, True),
        ("1", {}, True),
        ({"public": 1}, None, True),
        ({"public": False, "team": "sales"}, {"team": "sales"}, True),
        (False, {"id": 7}, False),
        ("sales", {"team": "sales"}, False),
        ({}, {"id": 7}, False),
        ({"public": False}, {"id": 7}, False),
        ({"team": "sales"}, {"team": "sales"}, True),
        ({"team": "sales"}, {"team": "law"}, False),
        ({"team": "sales"}, {}, False),
        ({"team": "sales"}, None, False),
        ({"team": ["sales", "law"]}, {"team": "law"}, True),
        ({"team": "sales"}, {"team": ["law", "sales"]}, True),
        ({"owner": 7}, {"id": "7"}, True),
        ({"owner": 7, "team": "sales"}, {"id": 7, "team": "law"}, False),
        ({"id": None}, {}, False),
        ({"admin": True}, {"admin": True}, True),
        ({"admin": True}, {"admin": "True"}, True),
        ({"admin": True}, {"admin": 1}, False),
    ],
)
def test_may_read(permission: Any, identity: dict[str, Any] | None, may: bool) -> None:
    """Public is for all; else every claim that is named must be held, and none may lack."""
    assert may_read(permission, identity) is may
