"""The engines and bounds of web search, as a configuration describes them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from refdesk.config import Config
from refdesk.config.library import LibrarySection
from refdesk.errors import ConfigError
from refdesk.web.engines import ENGINES, BaseEngine
from refdesk.web.settings import SearchSettings


def build_engines(
    config: Config, environment: Mapping[str, str] = os.environ
) -> dict[str, BaseEngine]:
    """
    Return the engines of a configuration, checked.

    The one of ``search.web.provider`` is among them, by the provider's name, unless an entry has
    that name; where the configuration does not speak of engines, it is the only one.

    Raises:
        ConfigError: The message names entry and remedy.
    """
    engines: dict[str, BaseEngine] = {}
    provider = config.search.web.provider
    entries = {} if provider and config.engines is None else config.engine_entries
    for name, entry in entries.items():
        try:
            plugin = ENGINES.get(entry.type)
        except ConfigError as exc:
            raise ConfigError(f"engines.{name}.type: {exc}") from None
        engines[name] = plugin.configure(name, entry.settings)
    if provider and provider not in engines:
        try:
            engines[provider] = provider_engine(config, provider, environment)
        except BadProvider as exc:
            raise ConfigError(f"search.web.{exc.key}: {exc}") from None
    return engines


def library_section(config: Config) -> LibrarySection:
    """Return the section ``search`` with the engine named that the library asks first."""
    web = config.search.web
    if web.provider is None or web.engine is not None:
        return config.search
    return config.search.model_copy(update={"web": web.model_copy(update={"engine": web.provider})})


def search_settings(config: Config) -> SearchSettings:
    """Return the bounds of web search."""
    search = config.gateway.search
    return SearchSettings(
        default_engine=search.default_engine,
        pages_per_query=search.pages_per_query,
        engine_timeout_ms=search.engine_timeout_ms,
        budget_ms=search.budget_ms,
        concurrency=search.concurrency,
        queue_timeout_ms=search.queue_timeout_ms,
        max_response_bytes=search.max_response_bytes,
        cache_ttl_s=search.cache_ttl_s,
        memory_limit_mb=search.memory_limit_mb,
    )


class BadProvider(ConfigError):
    """``search.web`` names an engine that cannot be used; ``key`` is the key at fault."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def provider_engine(config: Config, provider: str, environment: Mapping[str, str]) -> BaseEngine:
    """
    Return the engine that ``search.web.provider`` names, with the key of ``api_key_env``.

    Raises:
        BadProvider: There is no such plugin, its key is not set, or it needs more than a key.
    """
    try:
        plugin = ENGINES.get(provider)
    except ConfigError as exc:
        raise BadProvider("provider", str(exc)) from None
    options: dict[str, Any] = {}
    if variable := config.search.web.api_key_env:
        if not environment.get(variable):
            raise BadProvider(
                "api_key_env",
                f"{variable!r} is not set in the environment; set it to the key for {provider}",
            )
        options["api_key"] = environment[variable]
    try:
        return plugin.configure(provider, options)
    except ConfigError as exc:
        said = str(exc).removeprefix(f"engines.{provider}: ")
        raise BadProvider(
            "provider",
            f"{provider} cannot be used without an entry under `engines` ({said}); set"
            " search.web.api_key_env to the variable that holds its key, or add an entry",
        ) from None
