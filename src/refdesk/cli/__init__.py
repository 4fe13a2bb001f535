"""
The command line.  One file per noun, imported when its command is run.

A new command is a module with a `typer.Typer` called ``app``, and one line in ``COMMANDS``.
"""

from __future__ import annotations

import io
import sys
from typing import Annotated, Final

import typer

from refdesk.cli._lazy import Lazy, lazy_group
from refdesk.cli.output import FAILURE, put, say
from refdesk.errors import RefdeskError

COMMANDS: Final = {
    "serve": Lazy("refdesk.cli.serve", "Serve the gateway."),
    "demo": Lazy("refdesk.cli.demo", "Ask a real model a question that needs the web."),
    "check": Lazy("refdesk.cli.check", "Read the configuration and tell all that is wrong."),
    "doctor": Lazy("refdesk.cli.doctor", "Reach engines, upstreams and store, and tell what ails."),
    "search": Lazy("refdesk.cli.search", "Search from here."),
    "ask": Lazy("refdesk.cli.ask", "Answer a question with sources."),
    "kb": Lazy("refdesk.cli.kb", "Put documents into collections, and find passages in them."),
    "db": Lazy("refdesk.cli.db", "Ask a database, and see what it may be asked."),
    "engines": Lazy("refdesk.cli.engines", "List the search engines, and test one."),
    "models": Lazy("refdesk.cli.models", "List the models, and explain who searches for one."),
    "keys": Lazy("refdesk.cli.keys", "Make, list and revoke client keys."),
    "logs": Lazy("refdesk.cli.logs", "Show what was asked of the gateway."),
    "migrate": Lazy("refdesk.cli.migrate", "Bring the store up to date."),
    "config": Lazy("refdesk.cli.config", "Show the configuration, its schema, its file."),
}

app = typer.Typer(
    name="refdesk",
    cls=lazy_group(COMMANDS),
    help="The reference desk for language models: web search for any client and any model.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        put(f"refdesk {version('refdesk')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    """Take the options that stand before a command."""


def main() -> None:
    """Run the command line; what Refdesk raises on purpose is a message and exit status 1."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may know ASCII only
    try:
        app()
    except RefdeskError as exc:
        say(str(exc))
        sys.exit(FAILURE)
