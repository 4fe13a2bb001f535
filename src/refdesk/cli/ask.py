"""``refdesk ask``: one answered, cited turn on the terminal, through the configured upstreams."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from refdesk.cli.options import ConfigOption, IdentityOption, JsonOption, config_path, read_identity
from refdesk.cli.output import FAILURE, out, print_json, put, put_drawn, say

if TYPE_CHECKING:
    from refdesk.answering import Turn
    from refdesk.config import Config
    from refdesk.search.citations import Piece
    from refdesk.store import Store
    from refdesk.types import Reference

app = typer.Typer(add_completion=False)

_PASSAGE_CHARS: Final = 160


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
        str | None, typer.Option(help="Not yet: let this assistant answer.", show_default=False)
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

    No server is needed.  Where no model is configured, one of this machine answers: Ollama's, or
    the small one of `make demo`.  Exit status 1 if the model gave no whole answer, or the search
    failed.
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
    from refdesk.cli._web import one_engine
    from refdesk.types import private_kind

    named = wishes.engine is not None and wishes.engine != config.search.web.provider
    # A collection or a database is resolved with the search; see `refdesk.search.sources`.
    if named and private_kind(wishes.engine or "") is None:
        assert wishes.engine is not None
        one_engine(config, wishes.engine)
    # Whoever may read the configuration may ask; the keys are for clients from elsewhere.
    own = config.model_copy(update={"auth": config.auth.model_copy(update={"required": False})})
    with ExitStack() as stack:
        small = False
        if not config.models and not config.upstreams:
            own, small = await asyncio.to_thread(_at_hand, own, wishes.model, stack)
        return await _ask(own, store, wishes, small)


async def _ask(config: Config, store: Store, wishes: _Wishes, small: bool) -> int:
    from refdesk.answering import Asking, Turn
    from refdesk.application import Application
    from refdesk.errors import WireError

    name = _model(config, wishes.model)
    application = await Application.start(config, store)
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
                small=small,
                identity=wishes.identity,
            ),
            searcher=application.searcher,
            app=application.root,
        )
        return await _play(turn, wishes, name, wire)
    finally:
        await application.close()


def _at_hand(config: Config, wished: str | None, stack: ExitStack) -> tuple[Config, bool]:
    """
    Return the configuration with a model of this machine, and whether that is the small one.

    A vendor's key in the environment is no leave to send it what was found in the house.
    """
    from refdesk.answering.small import WIRE
    from refdesk.config.schema import ModelEntry, UpstreamEntry
    from refdesk.demo import local_model
    from refdesk.demo.choose import Model, Network, offered
    from refdesk.errors import ConfigError

    found = None
    if wished != local_model.NAME:
        found = offered(wished, {}, Network())
    if found is None and wished in (None, local_model.NAME):
        if (weights := local_model.find_weights()) is None:
            raise ConfigError(
                "no models are configured, and there is none on this machine; add one under"
                " `models:`, with its upstream under `upstreams:`, start Ollama, or install a"
                f" small one: {local_model.INSTALL}"
            )
        running = local_model.LocalModel(weights)
        stack.callback(running.close)
        found = Model(
            name=local_model.NAME,
            base_url=running.url,
            wire=WIRE,
            where=f"{local_model.TITLE}, on this machine",
            small=True,
        )
    if found is None:
        raise ConfigError(
            f"no models are configured, and nothing on this machine offers {wished!r}; add it"
            " under `models:`, with its upstream under `upstreams:`"
        )
    say(f"note: no models are configured; {found.name} answers ({found.where})")
    upstream = {"provider": found.provider, "wire": [found.wire], "base_url": found.base_url}
    here = {
        "upstreams": {"here": UpstreamEntry.model_validate(upstream)},
        "models": {found.name: ModelEntry.model_validate({"upstream": "here"})},
        "default_model": found.name,
    }
    return config.model_copy(update=here), found.small


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

    def write(piece: Piece) -> None:
        if links:
            put_drawn(terminal(piece))
        else:
            put(plain(piece), end="", flush=True)

    return write


def _end(turn: Turn) -> None:
    answered = turn.answered
    put("", flush=True)
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
        if reference.type == "kb":
            line.append(f"  {printable(_place(reference))}", Style(dim=True, link=_file(reference)))
        out().print(line)
        if reference.type == "kb":
            said = textwrap.shorten(reference.content, _PASSAGE_CHARS, placeholder=" …")
            out().print(Text(f"    {printable(said)}", Style(dim=True)))


def _place(reference: Reference) -> str:
    """Return where in which document a passage stands."""
    meta = reference.meta.get("metadata")
    known = meta if isinstance(meta, dict) else dict(reference.meta)
    parts = [str(known.get("filename") or known.get("key") or "")]
    if known.get("page"):
        parts.append(f"page {known['page']}")
    parts += [str(each) for each in known.get("heading") or ()]
    return " › ".join(part for part in parts if part)


def _file(reference: Reference) -> str | None:
    """Return the address of the file that a passage is from, if it is one of this machine."""
    meta = reference.meta.get("metadata")
    key = meta.get("key") if isinstance(meta, dict) else None
    path = Path(key) if isinstance(key, str) else None
    return path.as_uri() if path is not None and path.is_absolute() else None


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
