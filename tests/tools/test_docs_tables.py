"""The tables of the documentation are those the code describes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from recorded import ROOT


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    """Return the script as a module."""
    spec = importlib.util.spec_from_file_location("docs_tables", ROOT / "tools/docs_tables.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_config_reference_is_up_to_date(tables: ModuleType) -> None:
    """The reference of the configuration says what the schema says."""
    page = (ROOT / "docs/reference/config.md").read_text(encoding="utf-8")
    assert tables.filled(page) == page
    assert "| `concurrency` | whole number | `64` |" in page


def test_check_writes_nothing(
    tables: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stale page fails the check and stays; without --check it is written, once."""
    page = tmp_path / "page.md"
    stale = "before\n<!-- table: config -->\nold\n<!-- end of table -->\nafter\n"
    page.write_text(stale)
    assert tables.main(["--check"], docs=tmp_path) == 1
    assert page.read_text() == stale
    assert "out of date" in capsys.readouterr().err
    assert tables.main([], docs=tmp_path) == 0
    written = page.read_text()
    assert written.startswith("before\n<!-- table: config -->\n### The top level")
    assert written.endswith("<!-- end of table -->\nafter\n")
    assert tables.main(["--check"], docs=tmp_path) == 0


def test_unknown_table(tables: ModuleType) -> None:
    """A page that asks for a table nobody writes is an error."""
    with pytest.raises(KeyError, match="nope"):
        tables.filled("<!-- table: nope -->\n<!-- end of table -->\n")


def test_every_bound_is_in_the_limits(tables: ModuleType) -> None:
    """The page of limits has the settings and constants of the code, and is up to date."""
    page = (ROOT / "docs/reference/limits.md").read_text(encoding="utf-8")
    assert tables.filled(page) == page
    assert "| `gateway.search.max_query_chars` | `400` |" in page
    assert "| `server.limits.body_bytes` | `33554432` |" in page
    assert "60 s | `gateway/client.py`" in page
