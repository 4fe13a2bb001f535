"""
Keys that do nothing, so that whoever writes one is told: yet, or beside another key.

What is left as the defaults have it is passed over: only who asks for something misses it.
"""

from __future__ import annotations

from collections.abc import Iterator

from refdesk.config.schema import Config

_LATER = "has no effect yet"


def dormant(config: Config) -> tuple[str, ...]:
    """Return a sentence for each key that asks for what this release does not do."""
    return (
        *_modes(config),
        *_models(config),
        *_declared(config),
        *_sources(config),
        *_steps(config),
    )


def _modes(config: Config) -> Iterator[str]:
    modes: list[tuple[str, str | None]] = [("gateway.search.mode", config.gateway.search.mode)]
    for section, entries in (("upstreams", config.upstreams), ("models", config.models)):
        for name, entry in entries.items():
            if entry.search is not None:
                modes.append((f"{section}.{name}.search.mode", entry.search.mode))
    for key, mode in modes:
        if mode not in (None, "inject"):
            yield f"{key}: {mode!r} {_LATER}: every search is injected; write inject"


def _models(config: Config) -> Iterator[str]:
    for name, upstream in config.upstreams.items():
        if "gemini" in upstream.wire:
            yield (
                f"upstreams.{name}.wire: 'gemini' {_LATER}: that wire is not served; write chat, "
                "responses or messages, if the upstream speaks one"
            )
    for name, model in config.models.items():
        for key in ("function_calling", "input_tokens"):
            if getattr(model.capabilities, key) is not None:
                yield f"models.{name}.capabilities.{key}: {_LATER}"


def _declared(config: Config) -> Iterator[str]:
    for name, model in config.models.items():
        if name.endswith(":online") and name.removesuffix(":online") in config.models:
            yield (
                f"models.{name}: clients that ask for {name!r} get this model, and not "
                f"{name.removesuffix(':online')!r} with a search for each user turn"
            )
        search = model.search
        if search is None or search.declare != "always":
            continue
        if search.model_fields_set & {"enabled", "engine", "mode"}:
            enabled = search.enabled
        else:
            above = config.upstreams[model.upstream].search
            enabled = above.enabled if above is not None else "default"
        if enabled == "off":
            yield (
                f"models.{name}.search.declare: 'always' has no effect while gateway search is "
                "switched off for it (enabled: off)"
            )


def _sources(config: Config) -> Iterator[str]:
    if config.search.options != type(config.search)().options:
        yield f"search.options: {_LATER}"
    if config.privacy.store_bodies:
        yield f"privacy.store_bodies: {_LATER}: bodies are never stored"


def _steps(config: Config) -> Iterator[str]:
    for step in type(config.uses).model_fields:
        who = getattr(config.uses, step)
        if who not in ("builtin", "disabled") and not who.startswith("mcp:"):
            yield (
                f"uses.{step}: {who!r} {_LATER}: there are no assistants; write builtin or "
                "mcp:<server>.<tool>"
            )
