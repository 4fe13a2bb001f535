"""``refdesk ask``: one answered, cited turn on the terminal, through the configured upstreams."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from refdesk.cli.options import ConfigOption, IdentityOption, JsonOption, config_path, read_identity
from refdesk.cli.output import FAILURE, out, print_json, say

if TYPE_CHECKING:
    from refdesk.answering import Turn
    from refdesk.config import Config
    from refdesk.search.citations import Piece
    from refdesk.store import Store
    from refdesk.types import Reference

app = typer.Typer(add_completion=False)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="What to ask.", show_default=False)],
    model: Annotated[
        str | None,
        typer.Option(
            help="The model, as a client would name it.",
            show_default="default_model, else the first one",
        ),
    ] = None,
    assistant: Annotated[
        str | None, typer.Option(help="Let this assistant answer.", show_default=False)
    ] = None,
    collection: Annotated[
        str | None, typer.Option(help="Answer from this collection.", show_default=False)
    ] = None,
    database: Annotated[
        str | None, typer.Option(help="Answer from this database.", show_default=False)
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="Search, and ask this engine first.", show_default=False)
    ] = None,
    identity: IdentityOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """
    Answer a question with sources, as the model writes.

    No server is needed.  Exit status 1 if the model gave no whole answer, or the search failed.
    """
    if assistant is not None:
        raise typer.BadParameter("comes with a later release", param_hint="--assistant")
    if not question.strip():
        raise typer.BadParameter("it is empty: there is nothing to ask", param_hint="QUESTION")
    who = read_identity(identity)

    from refdesk.cli.check import read_checked
    from refdesk.telemetry import logs

    loaded = read_checked(config_path(config))
    logs.set_up(level="ERROR")
    store = _open(loaded.config)
    try:
        wishes = _Wishes(question.strip(), model, engine, collection, database, who, json)
        code = asyncio.run(_answer(loaded.config, store, wishes))
    finally:
        store.close()
    raise typer.Exit(code)


@dataclass(frozen=True, slots=True)
class _Wishes:
    question: str
    model: str | None
    engine: str | None
    collection: str | None
    database: str | None
    identity: dict[str, Any] | None
    json: bool


def _open(config: Config) -> Store:
    """Open the store; made if there is none, since what is asked is recorded as at a server."""
    from refdesk.cli._store import existing_store
    from refdesk.store.opening import open_store

    return existing_store(config) or open_store(config)


async def _answer(config: Config, store: Store, wishes: _Wishes) -> int:
    from refdesk.answering import Asking, Turn
    from refdesk.application import Application
    from refdesk.cli._web import one_engine
    from refdesk.errors import WireError

    if wishes.engine is not None and wishes.engine != config.search.web.provider:
        one_engine(config, wishes.engine)
    name = _model(config, wishes.model)
    # Whoever may read the configuration may ask; the keys are for clients from elsewhere.
    own = config.model_copy(update={"auth": config.auth.model_copy(update={"required": False})})
    application = await Application.start(own, store)
    try:
        try:
            target = application.gateway.targets.find(name)
        except WireError as exc:
            say(str(exc))
            return FAILURE
        wire = next((each for each in target.wires if each in target.ways), None)
        if wire is None:
            say(
                f"the model {name!r} is served on {' and '.join(target.wires)}, which cannot be"
                " asked yet; choose another with --model"
            )
            return FAILURE
        turn = Turn(
            Asking(
                question=wishes.question,
                model=name,
                wire=wire,
                engine=wishes.engine,
                collection=wishes.collection,
                database=wishes.database,
                max_query_chars=config.gateway.search.max_query_chars,
                identity=wishes.identity,
            ),
            searcher=application.searcher,
            app=application.root,
        )
        return await _play(turn, wishes, name, wire)
    finally:
        await application.close()


def _model(config: Config, wished: str | None) -> str:
    from refdesk.errors import ConfigError

    name = wished or config.default_model or next(iter(config.models), None)
    if name is None:
        raise ConfigError(
            "no models are configured; add one under `models:`, with its upstream under"
            " `upstreams:`"
        )
    return name


async def _play(turn: Turn, wishes: _Wishes, model: str, wire: str) -> int:
    from refdesk.answering import AnswerFailed

    await turn.look_up()
    _tell_search(turn)
    show = (lambda _: None) if wishes.json else _writer()
    error = ""
    try:
        async for piece in turn.answer():
            show(piece)
    except AnswerFailed as exc:
        error = str(exc)
    if wishes.json:
        print_json(_object(turn, wishes, model, wire, error))
    else:
        _end(turn)
    if error:
        say(error)
    failed = error or (turn.result is not None and turn.result.error is not None)
    return FAILURE if failed else 0


def _tell_search(turn: Turn) -> None:
    result = turn.result
    if result is None:
        say(f"note: nothing was searched ({turn.skipped})")
        return
    for notice in result.notices:
        say(f"note: {notice}")
    if result.error is not None:
        say(f"note: the search failed, so the answer has no sources: {result.error}")
    elif not turn.context.items:
        say("note: the search found nothing, so the answer has no sources")


def _writer() -> Callable[[Piece], None]:
    """Return what writes a piece at once, with links where the terminal has them."""
    from refdesk.search.rendering import plain, terminal

    links = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    render = terminal if links else plain

    def write(piece: Piece) -> None:
        sys.stdout.write(render(piece))
        sys.stdout.flush()

    return write


def _end(turn: Turn) -> None:
    answered = turn.answered
    print(flush=True)
    if answered is None:
        return
    if answered.cut_short:
        say("note: the model stopped since it had written as much as it may")
    if answered.unknown:
        say(f"note: the model cited what is not there: {', '.join(answered.unknown)}")
    cited = sorted(answered.cited, key=lambda reference: reference.index)
    if cited:
        _list("Sources", cited)
    elif turn.context.items:
        say("note: the model cited none of the sources")
        _list("Found", turn.context.items)


def _list(title: str, references: Sequence[Reference]) -> None:
    from rich.style import Style
    from rich.text import Text

    from refdesk.cli._table import printable

    out().print()
    out().print(Text(title, style="bold"))
    for reference in references:
        line = Text().append(f"[{reference.index}] ", Style(dim=True))
        line.append(printable(reference.title or reference.id), Style(bold=True))
        if reference.url:
            line.append("  ").append(
                printable(reference.url), Style(color="blue", link=reference.url)
            )
        for place in (_place(reference),) if reference.type == "kb" else ():
            line.append(f"  {printable(place)}", Style(dim=True))
        out().print(line)


def _place(reference: Reference) -> str:
    """Return where in which document a passage stands."""
    meta = reference.meta.get("metadata")
    known = meta if isinstance(meta, dict) else dict(reference.meta)
    parts = [str(known.get("filename") or known.get("key") or "")]
    if known.get("page"):
        parts.append(f"page {known['page']}")
    parts += [str(each) for each in known.get("heading") or ()]
    return " › ".join(part for part in parts if part)


def _object(turn: Turn, wishes: _Wishes, model: str, wire: str, error: str) -> dict[str, Any]:
    from refdesk.search.emit import reference_json, result_json

    answered, result = turn.answered, turn.result
    return {
        "question": wishes.question,
        "model": model,
        "wire": wire,
        "answer": answered.text if answered else None,
        "references": [reference_json(reference) for reference in turn.context.items],
        "cited": [reference.index for reference in answered.cited] if answered else [],
        "unknown_citations": list(answered.unknown) if answered else [],
        "cut_short": answered.cut_short if answered else False,
        "request_id": result.request_id if result else None,
        "search": None if result is None else result_json(result),
        "error": error or None,
    }
