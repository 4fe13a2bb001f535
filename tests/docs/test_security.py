"""The threat model names tests that are there."""

from __future__ import annotations

import re

import pytest

from recorded import ROOT

PAGE = (ROOT / "docs/explain/security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/.]+)(?:::(\w+))?`", PAGE)))


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_what_shows_it_exists(path: str, name: str) -> None:
    """Each threat's last column names a folder, a file or a test of the suite."""
    assert (ROOT / path).exists()
    if name:
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_every_threat_names_what_shows_it() -> None:
    """No row of the table is without a test."""
    table = PAGE.partition("## What stops each")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]
    assert len(rows) > 15
    assert all("`tests/" in row.rpartition("| ")[2] or "`tests/" in row for row in rows)
