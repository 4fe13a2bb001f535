"""The tables of the documentation are those the code describes."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from documented import PAGES, tool
from recorded import ROOT
from refdesk.cli import COMMANDS, app
from refdesk.gateway.gate import Right
from refdesk.gateway.root import Mount


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    """Return the script as a module."""
    return tool("docs_tables")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_page_is_up_to_date(tables: ModuleType, page: Path) -> None:
    """Its tables say what the code says."""
    text = page.read_text(encoding="utf-8")
    assert tables.filled(text) == text


def test_the_configuration_is_described_with_its_defaults(tables: ModuleType) -> None:
    """A key has its type, its default and what it is."""
    assert "| `concurrency` | whole number | `64` |" in tables.config_tables()


def test_every_package_has_its_place() -> None:
    """The chain has each package once, or it is named as standing outside of it."""
    house = tool("house_tables")
    chain = house.layers_chain()
    for path in house.ROOT.iterdir():
        if path.stem.startswith("__") or not (
            path.suffix == ".py" or (path / "__init__.py").exists()
        ):
            continue
        assert len(re.findall(rf"\b{path.stem}\b", chain)) == 1, path.stem


@pytest.mark.parametrize("name", ["Nothing", "upstream.Gate", "Options2", "capability.decide"])
def test_a_definition_that_moved_out_of_sight_is_an_error(name: str) -> None:
    """The page of where is what cannot name what is not there."""
    with pytest.raises(ValueError, match=f"{name} is defined in no file"):
        tool("house_tables").place(name)


def test_two_definitions_of_a_name_are_an_error() -> None:
    """A name that several files define must be told apart."""
    with pytest.raises(ValueError, match=r"ROUTES is defined in api/collections\.py, "):
        tool("house_tables").place("ROUTES")


def test_a_route_must_say_what_it_does() -> None:
    """A handler without a docstring is an error, which names the handler."""

    async def silent(*_: object) -> None:
        pass

    mount = Mount(method="GET", path="/x", right=Right.OPEN, handler=silent, refuse=silent)
    with pytest.raises(ValueError, match="silent serves /x: say in its docstring what"):
        tool("api_tables").about_route(mount)


def test_every_command_is_listed_with_its_options() -> None:
    """What the command line has is in the table; what it refuses is marked."""
    table = tool("support_tables").commands_table()
    for words in COMMANDS:
        assert f"| `refdesk {words}" in table
    (ask,) = [line for line in table.splitlines() if "`refdesk ask`" in line]
    assert "`--collection`, `--database`" in ask
    assert "`--assistant` (not yet)" in ask
    ran = CliRunner().invoke(app, ["ask", "--assistant", "a", "why"])
    assert "later release" in ran.output


def test_versions_are_those_of_the_lock() -> None:
    """A library has the version that tests run; one that is not locked is an error."""
    support = tool("support_tables")
    assert support.locked("openai") == version("openai")
    assert support.locked("milvus-lite") == version("milvus-lite")
    with pytest.raises(ValueError, match=r"test\.txt does not lock nothing-of-that-name"):
        support.locked("nothing-of-that-name")


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


def test_every_bound_is_in_the_limits() -> None:
    """The page of limits has the settings and constants of the code."""
    page = (ROOT / "docs/reference/limits.md").read_text(encoding="utf-8")
    assert "| `gateway.search.max_query_chars` | `400` |" in page
    assert "| `server.limits.body_bytes` | `33554432` |" in page
    assert "60 s | `gateway/client.py`" in page
