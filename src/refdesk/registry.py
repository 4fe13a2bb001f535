"""Tables of named plugins, filled by decorator; other distributions add theirs by entry point."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from refdesk.errors import UnknownName

T = TypeVar("T")


class Registry(Generic[T]):
    """
    A table of the plugins of one kind.

    Args:
        kind: What one of them is called in messages, such as ``"engine"``.
        packages: The packages whose public modules hold the built-in ones.

    Other distributions add theirs with an entry point in the group ``refdesk.<kind>s``.  Modules
    are imported at the first look-up, not before.
    """

    def __init__(self, kind: str, *packages: str) -> None:
        self.kind = kind
        self._packages = packages
        self._table: dict[str, T] = {}
        self._loaded = False

    def register(self, name: str) -> Callable[[T], T]:
        """Give the decorated object its name in this table; a name is given once."""

        def keep(plugin: T) -> T:
            if self._table.setdefault(name, plugin) is not plugin:
                raise RuntimeError(f"two {self.kind}s are called {name!r}")
            return plugin

        return keep

    def get(self, name: str) -> T:
        """Return the plugin of that name, or raise UnknownName, which lists the known ones."""
        self._load()
        try:
            return self._table[name]
        except KeyError:
            raise UnknownName(self.kind, name, self._table) from None

    def name_of(self, plugin: T) -> str | None:
        """Return the name of a plugin, or None if it is not in this table."""
        self._load()
        return next((name for name, known in self._table.items() if known is plugin), None)

    def names(self) -> list[str]:
        """Return all names, sorted."""
        self._load()
        return sorted(self._table)

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        for package in self._packages:
            for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
                if not module.name.startswith("_"):
                    importlib.import_module(f"{package}.{module.name}")
        for point in entry_points(group=f"refdesk.{self.kind}s"):
            point.load()
