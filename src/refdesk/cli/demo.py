"""``refdesk demo``: the main job, with no key and no configuration."""

from __future__ import annotations

import os
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def demo(
    question: Annotated[str | None, typer.Argument(help="What to ask.", show_default=False)] = None,
    once: Annotated[
        bool,
        typer.Option("--once", help="End after the answer; 0 only if one with sources came."),
    ] = False,
    model: Annotated[
        str | None, typer.Option(help="The model to ask; smollm2-135m is the small local one.")
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(help="Where it is served; its key, if any, in REFDESK_DEMO_API_KEY."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(help="The port to listen on; 0 picks a free one.", min=0, max=65535),
    ] = None,
) -> None:
    """
    Ask a real model a question that needs the web, and show every step.

    The model is the one named, else one that ANTHROPIC_API_KEY, OPENAI_API_KEY or an Ollama on this
    machine offers, else a small one that runs here.  Without a network, pages that come with
    Refdesk are searched.
    """
    from refdesk.cli.output import fail
    from refdesk.demo.run import QUESTION, Wishes, run
    from refdesk.errors import RefdeskError
    from refdesk.telemetry import logs
    from refdesk.terminal import console

    logs.set_up(level="ERROR")  # the demo itself tells what a log would
    wishes = Wishes(
        question=question.strip() if question and question.strip() else QUESTION,
        once=once,
        model=model,
        base_url=base_url,
        port=port,
    )
    try:
        status = run(wishes, env=os.environ, console=console(highlight=False))
    except RefdeskError as exc:
        fail(str(exc))
    raise typer.Exit(status)
