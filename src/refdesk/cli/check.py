"""
``refdesk check``: the configuration, every plugin's options, every name.  No network.

`examine_all` is what a start and a reload go by as well, so that all of them find the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import typer
from pydantic import BaseModel, ValidationError

from refdesk.cli.options import ConfigOption, JsonOption, config_path
from refdesk.cli.output import PROBLEMS, print_json, put, say
from refdesk.config import Config, Draft, Loaded, examine, load
from refdesk.config.dormant import dormant
from refdesk.config.faults import Fault, in_order, schema_faults
from refdesk.config.layers import Path
from refdesk.config.references import collections_named, did_you_mean
from refdesk.config.schema import default_engines
from refdesk.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from refdesk.registry import Registry

app = typer.Typer(add_completion=False)


@app.command()
def check(config: ConfigOption = None, json: JsonOption = False) -> None:
    """Read the configuration and tell all that is wrong: exit status 0, or 3 with problems."""
    draft, faults = examine_all(config_path(config), env=os.environ)
    if draft.config is not None:
        faults += [draft.fault(*found) for found in unmade_collections(draft.config)]
    problems = [str(fault) for fault in in_order(faults)]
    if draft.config is not None and draft.config.engines is None:
        say("no engines are configured: the keyless ddgs engine will be used")
    notes = dormant(draft.config) if draft.config is not None else ()
    for note in notes:
        say(f"note: {note}")
    if json:
        counts = _counts(draft.config) if draft.config else {}
        print_json({"ok": not problems, "problems": problems, "notes": notes, "counts": counts})
    else:
        for problem in problems:
            put(problem)
    if problems:
        say(_count(len(problems), "problem"))
        raise typer.Exit(PROBLEMS)
    if not json and draft.config:
        listed = ", ".join(_count(n, kind.rstrip("s")) for kind, n in _counts(draft.config).items())
        put(f"{draft.path or 'the defaults'}: all is well: {listed}")


def examine_all(
    path: FilePath | None,
    *,
    env: Mapping[str, str],
    flags: Mapping[str, Any] | None = None,
    saved: Mapping[str, Any] | None = None,
) -> tuple[Draft, list[Fault]]:
    """
    Read the configuration and hand every plugin its options; return all faults, in file order.

    The draft's ``config`` is set where the configuration by itself holds, whatever plugins say.
    """
    draft = examine(path, env=env, flags=flags, saved=saved)
    faults = list(draft.faults)
    known = {fault.path for fault in faults}
    faults += [fault for fault in _plugin_faults(draft) if fault.path not in known]
    faults += _library_faults(draft, env)
    faults += _ingest_faults(draft)
    return draft, in_order(faults)


def read_checked(path: FilePath | None, flags: Mapping[str, Any] | None = None) -> Loaded:
    """
    Read the configuration for a start or a reload: what `check` finds fault with is refused.

    Raises:
        ConfigError: All faults, a line each.
    """
    _, faults = examine_all(path, env=os.environ, flags=flags)
    if faults:
        raise ConfigError("\n".join(map(str, faults)))
    return load(path, env=os.environ, flags=flags)


def unmade_collections(config: Config) -> list[tuple[Path, str]]:
    """
    Return the collections that are named and neither configured nor in the store: where, and what.

    They keep nothing from starting: searches there fail until the collection is made.  A store on
    another machine is not asked, nor one that cannot be opened, which the doctor tells of.
    """
    named = list(collections_named(config.model_dump()))
    if not named or not config.store.url.startswith("sqlite"):
        return []
    from refdesk.cli._store import existing_store

    known = list(config.collections)
    try:
        store = existing_store(config)
    except StoreError:
        return []
    if store is not None:
        with store:
            known += [each.name for each in store.knowledge.collections()]
    faults = []
    for path, name in named:
        if name not in known:
            text = f"names the collection {name!r}, but none is called that"
            near = did_you_mean(name, known)
            faults.append((path, f"{text}; {near}; `refdesk kb create {name}` makes it"))
    return faults


def _plugin_faults(draft: Draft) -> Iterator[Fault]:
    engines = draft.merged.tree.get("engines")
    if engines is None and draft.config is not None:
        engines = {name: {"type": entry.type} for name, entry in default_engines().items()}
    for name, entry in engines.items() if isinstance(engines, dict) else ():
        if isinstance(entry, dict) and isinstance(entry.get("type"), str):
            yield from _engine_faults(draft, name, entry)
    upstreams = draft.merged.tree.get("upstreams")
    for name, entry in upstreams.items() if isinstance(upstreams, dict) else ():
        provider = entry.get("provider") if isinstance(entry, dict) else None
        if isinstance(provider, str):
            yield from _provider_faults(draft, name, provider)
    collections = draft.merged.tree.get("collections")
    for name, entry in collections.items() if isinstance(collections, dict) else ():
        embedder = entry.get("embedder") if isinstance(entry, dict) else None
        if embedder not in (None, "minilm"):
            from refdesk.kb.embedders import EMBEDDERS

            at = ("collections", name, "embedder")
            yield from _entry_faults(draft, at, embedder, EMBEDDERS)
    vectors = draft.merged.tree.get("vectors")
    if vectors not in (None, "lance"):
        from refdesk.kb.vectors import VECTOR_STORES

        yield from _entry_faults(draft, ("vectors",), vectors, VECTOR_STORES)


def _engine_faults(draft: Draft, name: str, entry: dict[str, Any]) -> Iterator[Fault]:
    from refdesk.web.engines._base import ENGINES

    at = ("engines", name)
    settings = {key: value for key, value in entry.items() if key != "type"}
    try:
        plugin = ENGINES.get(entry["type"])
    except ConfigError as exc:
        yield draft.fault((*at, "type"), str(exc))
        return
    try:
        plugin.configure(name, settings)
    except ConfigError as exc:
        if isinstance(exc.__context__, ValidationError):
            yield from _option_faults(draft, at, exc.__context__, plugin.Options, settings)
        else:
            yield draft.fault(at, str(exc).removeprefix(f"engines.{name}: "))


def _entry_faults(draft: Draft, at: Path, entry: Any, registry: Registry[Any]) -> Iterator[Fault]:
    """Yield what is wrong with an entry that is a plugin's name, or a mapping with ``type``."""
    given = {"type": entry} if isinstance(entry, str) else entry
    if not isinstance(given, dict) or not isinstance(given.get("type"), str):
        return
    settings = {key: value for key, value in given.items() if key != "type"}
    try:
        plugin = registry.get(given["type"])
    except ConfigError as exc:
        yield draft.fault(at if isinstance(entry, str) else (*at, "type"), str(exc))
        return
    try:
        plugin.Options.model_validate(settings)
    except ValidationError as exc:
        yield from _option_faults(draft, at, exc, plugin.Options, settings)


def _option_faults(
    draft: Draft,
    at: Path,
    error: ValidationError,
    options: type[BaseModel],
    settings: dict[str, Any],
) -> Iterator[Fault]:
    """Yield each of a plugin's findings, with its own place in the file."""
    found = schema_faults(error, options, settings, hidden=lambda path: draft.hides((*at, *path)))
    for path, text in found:
        yield draft.fault((*at, *path), text)


def _library_faults(draft: Draft, env: Mapping[str, str]) -> Iterator[Fault]:
    """Yield what is wrong with the engine that ``search.web.provider`` stands for."""
    config = draft.config
    provider = config.search.web.provider if config is not None else None
    if config is None or not provider or provider in (config.engines or {}):
        return
    from refdesk.web.building import BadProvider, provider_engine

    try:
        provider_engine(config, provider, env)
    except BadProvider as exc:
        yield draft.fault(("search", "web", exc.key), str(exc))


def _ingest_faults(draft: Draft) -> Iterator[Fault]:
    """Yield what lacks for taking documents in on a cluster."""
    if draft.config is None or draft.config.ingest.ray is None:
        return
    from refdesk.kb.ingest.ray_cluster import NOT_INSTALLED, is_installed

    if not is_installed():
        yield draft.fault(("ingest", "ray"), NOT_INSTALLED)


def _provider_faults(draft: Draft, name: str, provider: str) -> Iterator[Fault]:
    from refdesk.providers import PROVIDERS

    try:
        PROVIDERS.get(provider)
    except ConfigError as exc:
        yield draft.fault(("upstreams", name, "provider"), str(exc))


def _counts(config: Config) -> dict[str, int]:
    return {
        "upstreams": len(config.upstreams),
        "models": len(config.models),
        "engines": len(config.engine_entries),
        "collections": len(config.collections),
        "databases": len(config.databases),
    }


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
