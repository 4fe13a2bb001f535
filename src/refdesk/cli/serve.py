"""``refdesk serve``: the gateway."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from refdesk.cli.options import ConfigOption, config_path
from refdesk.cli.output import put, say

if TYPE_CHECKING:
    from refdesk.config import Loaded

app = typer.Typer(add_completion=False)


@app.command()
def serve(
    config: ConfigOption = None,
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[
        int | None, typer.Option(help="The port to listen on; 0 picks a free one.")
    ] = None,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where the embedded store lies; made on first start.")
    ] = None,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
) -> None:
    """
    Serve the gateway; without a configuration, on defaults.

    One line with the URL goes to stdout when it answers.  SIGHUP reads the configuration again;
    SIGTERM lets streams finish, a second one stops at once.
    """
    from refdesk import server
    from refdesk.application import key_required
    from refdesk.cli.check import read_checked, unmade_collections
    from refdesk.config.layers import dotted
    from refdesk.telemetry import logs, streams

    streams.install()
    flags = {
        "server.host": host,
        "server.port": port,
        "data_dir": str(data_dir) if data_dir is not None else None,
    }

    def load() -> Loaded:
        return read_checked(config_path(config), flags)

    loaded = load()
    logs.set_up(level=log_level.upper())
    unmade = (f"{dotted(path)} {text}" for path, text in unmade_collections(loaded.config))
    for warning in (*loaded.warnings, *loaded.dormant, *unmade):
        say(f"note: {warning}")
    if not loaded.config.models:
        say("note: no models are configured; every model request is refused until there is one")
    if not key_required(loaded.config):
        say("note: no client key is asked for (auth.required)")

    def up(url: str) -> None:
        put(url, flush=True)

    raise typer.Exit(server.serve(loaded, load, on_up=up))
