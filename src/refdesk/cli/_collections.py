"""What the commands about collections share: their options, and knowledge opened for their work."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from refdesk.cli.options import config_path

if TYPE_CHECKING:
    from refdesk.config import Config
    from refdesk.kb.collection import Knowledge
    from refdesk.types import SearchResult

T = TypeVar("T")

CollectionOption = Annotated[
    str | None, typer.Option("--collection", help="The collection.", show_default=False)
]
NameArgument = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="The collection.", show_default=False)
]
EmbedderOption = Annotated[
    str | None,
    typer.Option(
        help='minilm, e5, or JSON: {"type": "openai", "base_url": …, "model": …, '
        '"api_key_env": "NAME"}, the variable that holds the key.',
        show_default=False,
    ),
]
MetadataOption = Annotated[
    str | None,
    typer.Option(
        help='Values that searches can filter by, as JSON: {"team": "sales"}.', show_default=False
    ),
]


def run(
    given: Path | None,
    work: Callable[[Knowledge], Awaitable[T]],
    flags: Mapping[str, Any] | None = None,
) -> T:
    """Open what the configuration says, do the work, and close it."""
    from refdesk.cli.check import read_checked
    from refdesk.telemetry import logs

    loaded = read_checked(config_path(given), flags)
    logs.set_up(level="ERROR")

    async def run() -> T:
        from refdesk.desk.parts import open_knowledge

        async with AsyncExitStack() as stack:
            return await work(await open_knowledge(loaded.config, stack))

    return asyncio.run(run())


def search_once(
    given: Path | None, request: Mapping[str, Any], identity: dict[str, Any] | None
) -> SearchResult:
    """Do one search as the library does it; it is recorded."""
    from refdesk.cli.check import read_checked
    from refdesk.telemetry import logs

    config: Config = read_checked(config_path(given)).config
    logs.set_up(level="ERROR")

    async def run() -> SearchResult:
        from refdesk.desk.parts import open_parts, open_store

        async with AsyncExitStack() as stack:
            store = await open_store(config, stack)
            parts = await open_parts(config, stack, store=store)
            return await parts.searcher.search(request, identity=identity)

    return asyncio.run(run())


def needed(name: str | None) -> str:
    """Return the name of a collection that a command cannot do without."""
    if name is None:
        raise typer.BadParameter("name the collection", param_hint="--collection")
    return named(name)


def named(name: str) -> str:
    """Return a name as it was given, unless it could be none."""
    if not name.strip() or name != name.strip() or not name.isprintable():
        raise typer.BadParameter(
            f"{name!r} is no name for a collection: write one without white space at its ends",
            param_hint="NAME",
        )
    return name


def read_embedder(text: str | None) -> dict[str, Any] | None:
    """Return the entry that ``--embedder`` stands for: a plugin's name, or JSON."""
    if text is None:
        return None
    if not text.lstrip().startswith("{"):
        return {"type": text.strip()}
    entry = read_object(text, "--embedder")
    if not isinstance(entry.get("type"), str):
        raise typer.BadParameter('it has no "type"; name a plugin', param_hint="--embedder")
    return entry


def read_object(text: str | None, option: str) -> dict[str, Any]:
    """Return the JSON object that an option holds; an empty one without it."""
    if text is None:
        return {}
    value = read_json(text, option)
    if not isinstance(value, dict):
        raise typer.BadParameter(
            'it is no JSON object; write one such as {"team": "sales"}', param_hint=option
        )
    return value


def read_json(text: str, option: str) -> Any:
    """Return the JSON that an option holds, whatever it is."""
    import msgspec

    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as exc:
        raise typer.BadParameter(f"it is not JSON: {exc}", param_hint=option) from None
