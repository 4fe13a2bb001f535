"""The doctor's look at plugins of other distributions: each is imported, used or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from refdesk.cli._finding import Finding
from refdesk.registry import Registry


def registries() -> tuple[Registry[Any], ...]:
    """Return the tables of all kinds of plugins."""
    from refdesk.kb.embedders import EMBEDDERS
    from refdesk.kb.vectors import VECTOR_STORES
    from refdesk.providers import PROVIDERS
    from refdesk.web.engines import ENGINES

    return ENGINES, PROVIDERS, EMBEDDERS, VECTOR_STORES


def look_at_plugins() -> Iterator[Finding]:
    """Tell of each plugin of another distribution whether it can be used."""
    for registry in registries():
        for plugin in registry.installed:
            fault = registry.fault(plugin)
            yield Finding(
                area="plugin",
                name=plugin.name,
                level="warning" if fault else "ok",
                text=fault or f"{registry.kind} of {plugin.distribution}",
            )
