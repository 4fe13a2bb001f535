"""Options that several commands share, and the configuration they lead to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from refdesk.config import Loaded

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        envvar="REFDESK_CONFIG",
        help="The configuration file; else ./refdesk.yaml, if there is one.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def config_path(given: Path | None) -> Path | None:
    """Return the file to read: the one given, else ./refdesk.yaml; None where there is neither."""
    from refdesk.config.load import DEFAULT_NAME

    default = Path(DEFAULT_NAME)
    return given or (default if default.exists() else None)


def read_config(given: Path | None, flags: Mapping[str, Any] | None = None) -> Loaded:
    """
    Read the configuration as every command does; ConfigError tells all that is wrong with it.

    Args:
        given: The value of ``--config``.
        flags: Values from the command line by dotted key, such as ``server.port``.
    """
    from refdesk.config import load

    return load(config_path(given), env=os.environ, flags=flags)
