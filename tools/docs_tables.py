"""
Write the tables of the documentation from the code they describe.

A page holds ``<!-- table: NAME -->`` and ``<!-- end of table -->``; what stands between them is
written here.  ``--check`` writes nothing and fails where a page is out of date.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from refdesk.config.environment import variable
from refdesk.config.schema import Config
from refdesk.config.secrets import DEFAULT_KEY
from refdesk.config.shape import shape
from refdesk.providers import PROVIDERS
from refdesk.web.engines import ENGINES, BaseEngine

sys.path.insert(0, str(Path(__file__).parent))
from api_tables import bodies, operations, routes_table
from house_tables import layers_chain, where_table
from limits import constants_table, settings_table
from support_tables import clients_table, commands_table, plugins_table, versions_table

DOCS = Path(__file__).parent.parent / "docs"

_TABLE = re.compile(r"(<!-- table: (?P<name>[\w.-]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def config_tables() -> str:
    """Return a heading and a table for each section of the configuration."""
    return "\n".join(_section(Config, (), "The top level", "What stands at the left edge."))


def _section(
    model: type[BaseModel], path: tuple[str, ...], title: str, about: str
) -> Iterator[str]:
    yield f"### {title}\n"
    yield f"{about}\n"
    yield "| key | type | default | what it is |"
    yield "| --- | --- | --- | --- |"
    below: list[tuple[type[BaseModel], tuple[str, ...]]] = []
    for name, info in model.model_fields.items():
        here = (*path, name)
        inner = shape(info.annotation)
        entry = shape(inner.entry).model if inner.entry is not None else None
        if inner.model or entry:
            below.append((inner.model or entry, here if inner.model else (*here, "NAME")))  # type: ignore[arg-type]
        row = (f"`{name}`", _type(info), _default(here, info), info.description or "")
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    if model.model_config.get("extra") == "allow":
        yield "| … | | | Further keys are the plugin's own. |"
    yield ""
    if path and "NAME" not in path:
        first = next(iter(model.model_fields))
        yield f"In the environment, for example: `{variable((*path, first))}`.\n"
    for inner_model, inner_path in below:
        about = (inner_model.__doc__ or "").strip().split("\n\n", 1)[0]
        yield from _section(inner_model, inner_path, f"`{'.'.join(inner_path)}`", about)


def _type(info: Any) -> str:
    if any("json_schema" in dir(item) for item in info.metadata):
        schemas = [i.json_schema for i in info.metadata if getattr(i, "json_schema", None)]
        if schemas and (values := schemas[0].get("enum")):
            return _allowed(values)
    return _of(info.annotation)


def _allowed(values: Any) -> str:
    words = {True: "true", False: "false"}
    return " or ".join(f"`{words.get(v, v) if isinstance(v, bool) else v}`" for v in values)


def _of(annotation: Any) -> str:
    inner = shape(annotation)
    if inner.model:
        return "text or mapping" if inner.model.__name__ == "EmbedderEntry" else "mapping"
    if inner.entry is not None:
        return "mapping by name"
    if inner.secret:
        return "secret"
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return _allowed(args)
    if origin is tuple and "KeyRef" in str(args[0]):
        return "text or list of text"
    if origin is tuple:
        return f"list of {_of(args[0])}"
    if args and hasattr(annotation, "__metadata__"):
        return _of(args[0])
    if args:
        return _of(next(arg for arg in args if arg is not type(None)))
    words = {str: "text", int: "whole number", float: "number", bool: "true or false"}
    return words.get(annotation, "any")


def _default(path: tuple[str, ...], info: Any) -> str:
    if path == ("store", "key"):
        return f"`{DEFAULT_KEY}`"
    if info.is_required():
        return "must be given"
    default = info.default
    if default is PydanticUndefined:
        default = info.default_factory()
    if default is None:
        return "unset"
    if isinstance(default, BaseModel):
        return f"`{default.type}`" if hasattr(default, "type") else ""
    if isinstance(default, (tuple, list)):
        return ", ".join(f"`{item}`" for item in default) or "empty"
    if isinstance(default, dict):
        return "empty"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def engine_summary() -> str:
    """Return a table of all engines: what they honour, and what a call gives and costs."""
    rows = [
        "| type | rows a call | pages | honours in its vendor's syntax | list price per 1,000 |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in ENGINES.builtin():
        engine = ENGINES.get(name)
        honours = ", ".join(sorted(engine.honours)).replace("_", " ") or "nothing"
        price = f"${engine.list_price:.2f}" if engine.list_price else "free"
        pages = "yes" if engine.pages else "no"
        rows.append(f"| `{name}` | {engine.rows_per_call} | {pages} | {honours} | {price} |")
    return "\n".join(rows) + "\n"


def engine_options() -> str:
    """Return a heading and a table of options for each engine, less those that all share."""
    shared = set(BaseEngine.Options.model_fields)
    parts = ["### All engines\n", *_options(BaseEngine.Options, set())]
    for name in ENGINES.builtin():
        engine = ENGINES.get(name)
        about = (engine.__doc__ or "").strip().split("\n\n", 1)[0].replace("\n    ", " ")
        parts += [
            f"### `{name}`\n",
            f"{about}\n" if about else "",
            *_options(engine.Options, shared),
        ]
    return "\n".join(parts)


def _options(options: type[BaseModel], left_out: set[str]) -> Iterator[str]:
    fields = {k: v for k, v in options.model_fields.items() if k not in left_out}
    if not fields:
        yield "It has no options of its own.\n"
        return
    yield "| option | type | default | what it is |"
    yield "| --- | --- | --- | --- |"
    for name, info in fields.items():
        row = (f"`{name}`", _type(info), _default((name,), info), info.description or "")
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield ""


def lacks_table() -> str:
    """Return a table of what providers are known not to have, with the evidence."""
    rows = [
        f"| `{name}` | {service.replace('_', ' ')} | {evidence} |"
        for name in PROVIDERS.names()
        for service, evidence in PROVIDERS.get(name).lacks.items()
    ]
    return "\n".join(["| provider | lacks | evidence |", "| --- | --- | --- |", *rows])


def provider_matrix() -> str:
    """Return a table of what is known of each provider's own search, with the evidence."""
    rows = [
        "| provider | wire | models | tools | lists | evidence |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name in PROVIDERS.builtin():
        provider = PROVIDERS.get(name)
        for rule in provider.hosted:
            models = rule.models.replace("|", "\\|")
            tools = "all" if rule.tools == ".*" else f"`{rule.tools}`"
            lists = {".*": "all", "": "none"}.get(rule.domains, f"`{rule.domains}`")
            if rule.always:
                tools = lists = "–"
            rows.append(
                f"| `{name}` | {rule.wire} | `{models}` | {tools} | {lists} | {rule.evidence} |"
            )
        for rule in provider.families:
            models = rule.models.replace("|", "\\|")
            rows.append(
                f"| `{name}` | {rule.wire} | newer, by family: `{models}` | as above | as above "
                f"| {rule.evidence} |"
            )
        for wire, evidence in provider.refuses_tool_on.items():
            rows.append(f"| `{name}` | {wire} | takes no search tool | – | – | {evidence} |")
        if not provider.hosted and not provider.refuses_tool_on:
            rows.append(
                f"| `{name}` | – | none known to search here | – | – "
                "| searched for by the gateway |"
            )
    return "\n".join(rows) + "\n"


TABLES: dict[str, Callable[[], str]] = {
    "config": config_tables,
    "engines": engine_summary,
    "engine-options": engine_options,
    "providers": provider_matrix,
    "provider-lacks": lacks_table,
    "limit-settings": settings_table,
    "limit-constants": constants_table,
    "api-routes": routes_table,
    "api-operations": operations,
    "api-bodies": bodies,
    "commands": commands_table,
    "plugins": plugins_table,
    "clients": clients_table,
    "versions": versions_table,
    "layers": layers_chain,
    "where": where_table,
}
"""Every table by its name."""


def filled(page: str) -> str:
    """Return a page with its tables as they should be; KeyError for a name without a table."""

    def table(match: re.Match[str]) -> str:
        return f"{match[1]}{TABLES[match['name']]().rstrip()}\n{match[3]}"

    return _TABLE.sub(table, page)


def main(arguments: list[str] | None = None, *, docs: Path = DOCS) -> int:
    """Write or check all pages; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if out of date")
    options = parser.parse_args(arguments)
    stale = 0
    for page in sorted(docs.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        wanted = filled(text)
        if text == wanted:
            continue
        stale += 1
        if options.check:
            print(f"{page}: out of date; run tools/docs_tables.py", file=sys.stderr)
        else:
            page.write_text(wanted, encoding="utf-8")
            print(f"{page}: written")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
