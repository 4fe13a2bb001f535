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
IdentityOption = Annotated[
    str | None,
    typer.Option(
        "--identity",
        help='Who asks, as JSON: {"id": 7, "team": "sales"}.',
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


def read_identity(text: str | None) -> dict[str, Any] | None:
    """Return the claims that ``--identity`` gives; a usage error where they are no JSON object."""
    if text is None:
        return None
    import msgspec

    try:
        claims = msgspec.json.decode(text)
    except msgspec.DecodeError as exc:
        raise typer.BadParameter(f"it is not JSON: {exc}", param_hint="--identity") from None
    if not isinstance(claims, dict):
        raise typer.BadParameter(
            'it is no JSON object; write one such as {"id": 7}', param_hint="--identity"
        )
    return claims
