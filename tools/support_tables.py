"""What there is and was tested: commands, plugins, and the versions in locks and package files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
import typer

from refdesk.cli import app
from refdesk.kb.embedders import EMBEDDERS
from refdesk.kb.vectors import VECTOR_STORES
from refdesk.providers import PROVIDERS
from refdesk.registry import Registry
from refdesk.web.engines import ENGINES

ROOT: Final = Path(__file__).parent.parent
_EVERYWHERE: Final = frozenset({"--config", "--json", "--help"})
_SDKS: Final = {
    "anthropic": "every synthesized answer, whole and streamed, cut at any byte",
    "openai": "the same",
}
_LIBRARIES: Final = {
    "mcp": "both sides of MCP",
    "lancedb": "vectors in files",
    "pymilvus": "vectors in Milvus",
    "milvus-lite": "stands in for a Milvus cluster",
    "ray": "documents taken in on a cluster",
    "xberg": "PDF, EPUB and RTF",
    "duckdb": "DuckDB databases",
    "psycopg": "PostgreSQL",
    "pymysql": "MariaDB and MySQL",
    "sqlalchemy": "the store, and databases",
}


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command of the command line that does something, by its words."""

    def below(words: str, command: Any) -> Iterator[tuple[str, click.Command]]:
        if not hasattr(command, "list_commands"):
            yield words, command
            return
        context = command.make_context("refdesk", [], resilient_parsing=True)
        for name in command.list_commands(context):
            yield from below(f"{words} {name}", command.get_command(context, name))

    yield from below("refdesk", typer.main.get_command(app))


def commands_table() -> str:
    """Return a table of all commands, with the options that not every command has."""
    rows = ["| command | what it does | options |", "| --- | --- | --- |"]
    for words, command in commands():
        about = " ".join((command.help or "").split("\n\n")[0].split())
        options = [
            f"`{option}`{_later(param)}"
            for param in command.params
            if param.param_type_name == "option"
            for option in param.opts
            if option.startswith("--") and option not in _EVERYWHERE
        ]
        rows.append(f"| `{words}` | {_cell(about)} | {', '.join(options)} |")
    return "\n".join(rows) + "\n"


def _later(param: Any) -> str:
    return " (not yet)" if (param.help or "").startswith("Not yet") else ""


def plugins_table() -> str:
    """Return a table of the built-in plugins of each kind, and the group of those of others."""
    tables: tuple[Registry[Any], ...] = (ENGINES, PROVIDERS, EMBEDDERS, VECTOR_STORES)
    rows = ["| kind | built in | entry point group of others |", "| --- | --- | --- |"]
    for table in tables:
        names = ", ".join(f"`{name}`" for name in table.builtin())
        rows.append(f"| {table.kind} | {names} | `{table.group}` |")
    return "\n".join(rows) + "\n"


def clients_table() -> str:
    """Return a table of the clients that the tests run, with their versions."""
    rows = ["| client | version | how |", "| --- | --- | --- |"]
    rows += [f"| {name} (Python) | {locked(name)} | {how} |" for name, how in _SDKS.items()]
    for folder, how in (
        ("ai_sdk", "the same, read by its strict parsers"),
        ("e2e", "`make e2e`: the real program against a scripted model"),
    ):
        package = json.loads((ROOT / "tests" / folder / "package.json").read_text("utf-8"))
        found = sorted(package["dependencies"].items())
        rows += [f"| {name} (npm) | {version} | {how} |" for name, version in found]
    return "\n".join(rows) + "\n"


def versions_table() -> str:
    """Return a table of the libraries whose versions matter, as the tests run them."""
    rows = ["| library | version | for |", "| --- | --- | --- |"]
    rows += [f"| {name} | {locked(name)} | {use} |" for name, use in _LIBRARIES.items()]
    return "\n".join(rows) + "\n"


def locked(name: str) -> str:
    """
    Return the version of a distribution in the lock that tests are set up from.

    Raises:
        ValueError: It is not locked.
    """
    lock = (ROOT / "requirements" / "test.txt").read_text("utf-8")
    found = re.search(rf"^{re.escape(name)}(?:\[[\w,-]+\])?==([^\s;]+)", lock, re.MULTILINE)
    if found is None:
        raise ValueError(f"requirements/test.txt does not lock {name}")
    return found[1]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("``", "`")
