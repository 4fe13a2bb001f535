"""``refdesk search``: one question, asked now, with the configured engines and bounds."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from refdesk.cli.options import ConfigOption, IdentityOption, JsonOption, config_path, read_identity
from refdesk.cli.output import FAILURE, err, out, print_json, say

if TYPE_CHECKING:
    from refdesk.config import Config
    from refdesk.desk.parts import Engines
    from refdesk.search import Searcher, Trace
    from refdesk.types import ResultItem, SearchResult

app = typer.Typer(add_completion=False)

MOST: Final = 100
_SNIPPET_CHARS: Final = 300
_KINDS: Final = {"web": "web search", "kb": "knowledge search", "db": "database search"}

Results = Sequence["SearchResult | None"]


@app.command()
def search(
    question: Annotated[str, typer.Argument(help="What to look for.", show_default=False)],
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            "--type", help="Where to look: web, kb or db; may be repeated.", show_default="web"
        ),
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="Ask this engine, and no other.", show_default=False)
    ] = None,
    collection: Annotated[
        list[str] | None,
        typer.Option(help="Look in this collection; may be repeated.", show_default=False),
    ] = None,
    database: Annotated[
        str | None, typer.Option(help="Look in this database.", show_default=False)
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, max=MOST, help="The most results, of each type.", show_default=False),
    ] = None,
    site: Annotated[
        list[str] | None,
        typer.Option(help="Only pages of this domain; may be repeated.", show_default=False),
    ] = None,
    wait_all: Annotated[
        bool, typer.Option("--all", help="Wait for all types; so it is by default.")
    ] = False,
    wait_any: Annotated[
        bool, typer.Option("--any", help="Stop at the first type that finds something.")
    ] = False,
    wait_race: Annotated[
        bool, typer.Option("--race", help="Stop at the first type that ends.")
    ] = False,
    identity: IdentityOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    trace: Annotated[
        bool, typer.Option("--trace", help="Show what was done, and how long it took.")
    ] = False,
) -> None:
    """
    Search, and print what was found.

    Exit status 1 if the search failed; 0 if it found something, or nothing.
    """
    wanted = _kinds(kinds, collection, database)
    _check(question, site or [])
    mode = _mode(wait_all, wait_any, wait_race)
    who = read_identity(identity)

    from refdesk.cli.check import read_checked
    from refdesk.search import Trace
    from refdesk.web.query import normal_text

    loaded = read_checked(config_path(config))
    for warning in loaded.warnings if "web" in wanted else ():
        say(f"note: {warning}")
    options: dict[str, dict[str, Any]] = {
        "web": {"sites": site or None, "engine": engine},
        "kb": {"collections": collection or None},
        "db": {"database": database},
    }
    requests = [
        {
            "query": normal_text(question),
            "type": kind,
            "source": "user",
            "limit": limit,
            **options[kind],
        }
        for kind in wanted
    ]
    traced = Trace()
    results = _run(loaded.config, requests, mode, engine, {"trace": traced, "identity": who})
    ended = [result for result in results if result is not None]
    items = list({item.index: item for each in ended for item in each.items}.values())
    items.sort(key=lambda item: item.index)
    if json:
        _print_json(results, mode, traced if trace else None)
    else:
        _print_items(items)
    _tell(loaded.config, ended, len(items), quiet=json)
    if trace and not json:
        err().print(traced.tree())
    if ended and all(result.error is not None for result in ended):
        raise typer.Exit(FAILURE)


def _kinds(
    given: list[str] | None, collection: list[str] | None, database: str | None
) -> list[str]:
    for kind in given or []:
        if kind not in _KINDS:
            raise typer.BadParameter(
                f"{kind!r} is no type of search; use {', '.join(_KINDS)}", param_hint="--type"
            )
    named = [*(["kb"] if collection else []), *(["db"] if database else [])]
    return list(dict.fromkeys([*(given or []), *named])) or ["web"]


def _check(question: str, sites: list[str]) -> None:
    from refdesk.web.filters import read_domains
    from refdesk.web.query import normal_text

    if not normal_text(question):
        raise typer.BadParameter(
            "it is empty: there is nothing to search for", param_hint="QUESTION"
        )
    if notices := read_domains(sites, ()).notices:
        raise typer.BadParameter("; ".join(notices), param_hint="--site")


def _mode(wait_all: bool, wait_any: bool, wait_race: bool) -> str:
    chosen = [
        name for name, on in (("all", wait_all), ("any", wait_any), ("race", wait_race)) if on
    ]
    if len(chosen) > 1:
        raise typer.BadParameter("choose one of them", param_hint="--all, --any, --race")
    return chosen[0] if chosen else ""


def _run(
    config: Config,
    requests: list[dict[str, Any]],
    mode: str,
    engine: str | None,
    call: dict[str, Any],
) -> Results:
    from refdesk.cli._store import store_if_well
    from refdesk.desk.parts import open_parts

    engines = _engines(config, engine)
    store = store_if_well(config)

    async def run() -> Results:
        async with AsyncExitStack() as stack:
            parts = await open_parts(config, stack, store=store, engines=engines)
            searcher = parts.searcher
            _check_handlers(searcher, [request["type"] for request in requests])
            if len(requests) == 1 and not mode:
                return [await searcher.search(requests[0], **call)]
            if mode == "any":
                return await searcher.any(requests, **call)
            if mode == "race":
                return await searcher.race(requests, **call)
            return await searcher.all(requests, **call)

    try:
        return asyncio.run(run())
    finally:
        if store is not None:
            store.close()


def _check_handlers(searcher: Searcher, kinds: list[str]) -> None:
    for kind in kinds:
        if kind == "kb" and kind not in searcher.handlers.types():
            raise typer.BadParameter(
                "there are no collections yet; `refdesk kb create NAME` makes one",
                param_hint="--collection",
            )
        if kind not in searcher.handlers.types():
            raise typer.BadParameter(
                "no database is configured; add one under `databases`", param_hint="--database"
            )


def _engines(config: Config, name: str | None) -> Engines:
    from refdesk.cli._web import one_engine
    from refdesk.errors import ConfigError
    from refdesk.types import private_kind
    from refdesk.web.building import build_engines

    # A collection or a database is named in the request; see `refdesk.search.sources`.
    if name is None or private_kind(name) is not None:
        return build_engines
    engine = one_engine(config, name)
    if not engine.options.enabled:
        raise ConfigError(
            f"the engine {name!r} is disabled; set engines.{name}.enabled to true, or look whether "
            f"it works with `refdesk engines test {name}`"
        )
    return lambda _: {name: engine}


def _print_json(results: Results, mode: str, trace: Trace | None) -> None:
    from refdesk.search.emit import result_json

    shown = [
        None
        if result is None
        else result_json(result) | {"error": result.error, "notices": list(result.notices)}
        for result in results
    ]
    single = len(shown) == 1 and not mode and shown[0] is not None
    printed: dict[str, Any] = {"mode": mode or "all", "results": shown}
    if single and shown[0] is not None:
        printed = shown[0]
    print_json(printed | ({"trace": trace.to_json()} if trace else {}))


def _print_items(items: Sequence[ResultItem]) -> None:
    from rich.style import Style
    from rich.text import Text

    from refdesk.cli._table import printable

    width = len(str(len(items)))
    margin = " " * (width + 2)
    for item in items:
        head = Text(f"{item.index:>{width}}. ", style="dim")
        head.append(printable(item.title), Style(bold=True))
        if item.published:
            head.append(f"  {printable(item.published)}", Style(dim=True))
        out().print(head)
        if item.url:
            link = Style(color="blue", link=item.url)
            out().print(Text(margin).append(printable(item.url), link))
        text = " ".join(item.content.split())
        if text:
            cut = text if len(text) <= _SNIPPET_CHARS else text[: _SNIPPET_CHARS - 1] + "…"
            out().print(Text(margin + printable(cut)))


def _tell(config: Config, results: Sequence[SearchResult], shown: int, *, quiet: bool) -> None:
    """Say what went not as it should, and how much there is."""
    for result in results:
        for notice in result.notices:
            say(f"note: {notice}")
        if result.error is not None:
            prefix = f"{_KINDS.get(result.type, result.type)}: " if len(results) > 1 else ""
            say(prefix + result.error)
    good = [result for result in results if result.error is None]
    if quiet or not good or not shown:
        return
    by = ", ".join(_finder(config, result) for result in good if result.items)
    seconds = max(result.duration_ms for result in good) / 1000
    say(f"{shown} result{'' if shown == 1 else 's'} by {by} in {seconds:.2f} s")


def _finder(config: Config, result: SearchResult) -> str:
    if result.engine is None:
        return _KINDS[result.type]
    entry = config.engine_entries.get(result.engine)
    return f"{result.engine} ({entry.type})" if entry else result.engine
