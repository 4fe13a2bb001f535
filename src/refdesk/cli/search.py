"""``refdesk search``: one question, asked now, with the configured engines and bounds."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from refdesk.cli.options import ConfigOption, JsonOption, config_path
from refdesk.cli.output import FAILURE, err, out, print_json, say

if TYPE_CHECKING:
    from refdesk.config import Config
    from refdesk.errors import SearchError
    from refdesk.types import Attempt, ResultItem, WebAnswer, WebQuery
    from refdesk.web.engines import BaseEngine

app = typer.Typer(add_completion=False)

MOST: Final = 100
_SNIPPET_CHARS: Final = 300
_LATER: Final = {"kb": "knowledge search", "db": "database search"}


@app.command()
def search(
    question: Annotated[str, typer.Argument(help="What to look for.", show_default=False)],
    kinds: Annotated[
        list[str] | None, typer.Option("--type", help="Where to look: web.", show_default="web")
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="Ask this engine, and no other.", show_default=False)
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST, help="The most results.", show_default="search.web.max_results"
        ),
    ] = None,
    site: Annotated[
        list[str] | None,
        typer.Option(help="Only pages of this domain; may be repeated.", show_default=False),
    ] = None,
    config: ConfigOption = None,
    json: JsonOption = False,
    trace: Annotated[bool, typer.Option("--trace", help="Tell which engines were asked.")] = False,
) -> None:
    """
    Search the web and print what was found.

    Exit status 1 if the search failed; 0 if it found something, or nothing.
    """
    _check_kinds(kinds or [])
    query = _query(question, site or [])

    from refdesk.cli.check import read_checked

    loaded = read_checked(config_path(config))
    for warning in loaded.warnings:
        say(f"note: {warning}")
    most = min(limit or loaded.config.search.web.max_results, MOST)
    answer, error = _ask(loaded.config, query, engine, most)
    failed = error is not None and error.reason != "no_results"
    found = answer or error
    attempts, notices = (found.attempts, found.notices) if found else ((), ())
    items = answer.items[:most] if answer else ()
    if json:
        weight = loaded.config.search.weights.user
        result = _result(query.text, items, answer, weight) | {
            "duration_ms": round(_duration(answer, attempts) * 1000),
            "error": str(error) if failed else None,
            "notices": [*notices, *([str(error)] if error and not failed else [])],
        }
        print_json(result | ({"trace": _trace(found, attempts)} if trace else {}))
    else:
        _print_items(items)
    for notice in notices:
        say(f"note: {notice}")
    if trace and not json:
        _tell_attempts(attempts)
    if error is not None:
        say(str(error))
    elif answer is not None and not json:
        say(_summary(answer, len(items)))
    if failed:
        raise typer.Exit(FAILURE)


def _check_kinds(kinds: list[str]) -> None:
    for kind in kinds:
        if kind in _LATER:
            raise typer.BadParameter(
                f"{kind!r} ({_LATER[kind]}) comes with a later release; use web",
                param_hint="--type",
            )
        if kind != "web":
            raise typer.BadParameter(f"{kind!r} is no type of search; use web", param_hint="--type")


def _query(question: str, sites: list[str]) -> WebQuery:
    from refdesk.types import WebQuery
    from refdesk.web.filters import read_domains
    from refdesk.web.query import normal_text

    if not normal_text(question):
        raise typer.BadParameter(
            "it is empty: there is nothing to search for", param_hint="QUESTION"
        )
    if notices := read_domains(sites, ()).notices:
        raise typer.BadParameter("; ".join(notices), param_hint="--site")
    return WebQuery(text=normal_text(question), sites=tuple(sites))


def _ask(
    config: Config, query: WebQuery, engine: str | None, most: int
) -> tuple[WebAnswer | None, SearchError | None]:
    from refdesk.cli._store import store_if_well
    from refdesk.cli._web import web_search
    from refdesk.errors import SearchError

    engines = _engines(config, engine)
    store = store_if_well(config)

    async def run() -> WebAnswer:
        async with web_search(config, engines, store) as web:
            return await web.search(query, pages=-(-most // 10))

    try:
        return asyncio.run(run()), None
    except SearchError as exc:
        return None, exc
    finally:
        if store is not None:
            store.close()


def _engines(config: Config, name: str | None) -> dict[str, BaseEngine]:
    from refdesk.application import build_engines
    from refdesk.cli._web import one_engine
    from refdesk.errors import ConfigError

    if name is None:
        return build_engines(config)
    engine = one_engine(config, name)
    if not engine.options.enabled:
        raise ConfigError(
            f"the engine {name!r} is disabled; set engines.{name}.enabled to true, or look whether "
            f"it works with `refdesk engines test {name}`"
        )
    return {name: engine}


def _result(
    query: str, items: tuple[ResultItem, ...], answer: WebAnswer | None, weight: float
) -> dict[str, Any]:
    engine = answer.engine if answer else ""
    return {
        "type": "web",
        "query": query,
        "source": "user",
        "items": [_item(number, item, engine, weight) for number, item in enumerate(items, 1)],
        "total": len(items),
    }


def _item(number: int, item: ResultItem, engine: str, weight: float) -> dict[str, Any]:
    found: dict[str, Any] = {
        "citation_id": f"ref_{number:03d}",
        "index": number,
        "source": "user",
        "weight": weight,
        "type": "web",
        "title": item.title,
        "content": item.content,
        "url": item.url,
        "metadata": {"engine": engine, **item.metadata},
    }
    if item.score is not None:
        found["score"] = item.score
    if item.published:
        found["metadata"]["published"] = item.published
    return found


def _trace(found: WebAnswer | SearchError | None, attempts: tuple[Attempt, ...]) -> dict[str, Any]:
    return {
        "engine": getattr(found, "engine", None) or None,
        "queue_ms": round(found.queue_s * 1000) if found else 0,
        "attempts": [
            {
                "engine": attempt.engine,
                "outcome": attempt.outcome,
                "calls": attempt.calls,
                "duration_ms": round(attempt.duration_s * 1000),
                "detail": attempt.detail,
            }
            for attempt in attempts
        ],
    }


def _duration(answer: WebAnswer | None, attempts: tuple[Attempt, ...]) -> float:
    return answer.duration_s if answer else sum(attempt.duration_s for attempt in attempts)


def _print_items(items: tuple[ResultItem, ...]) -> None:
    from rich.style import Style
    from rich.text import Text

    from refdesk.cli._table import printable

    width = len(str(len(items)))
    margin = " " * (width + 2)
    for number, item in enumerate(items, 1):
        head = Text(f"{number:>{width}}. ", style="dim")
        head.append(printable(item.title), Style(bold=True))
        if item.published:
            head.append(f"  {printable(item.published)}", Style(dim=True))
        out().print(head)
        out().print(Text(margin).append(item.url, Style(color="blue", link=item.url)))
        text = " ".join(item.content.split())
        if text:
            cut = text if len(text) <= _SNIPPET_CHARS else text[: _SNIPPET_CHARS - 1] + "…"
            out().print(Text(margin + printable(cut)))


def _tell_attempts(attempts: tuple[Attempt, ...]) -> None:
    from rich.text import Text

    from refdesk.cli._table import printable

    for attempt in attempts:
        calls = f"{attempt.calls} call{'' if attempt.calls == 1 else 's'}"
        line = f"{attempt.engine}: {attempt.outcome}, {calls}, {attempt.duration_s * 1000:.0f} ms"
        detail = f": {attempt.detail}" if attempt.detail else ""
        err().print(Text(printable(line + detail), style="dim"))


def _summary(answer: WebAnswer, shown: int) -> str:
    results = f"{shown} result{'' if shown == 1 else 's'}"
    return f"{results} by {answer.engine} ({answer.engine_type}) in {answer.duration_s:.2f} s"
