"""
Tables of named plugins: built-in ones by decorator, those of other distributions by entry point.

Looking a built-in plugin up reads no other distribution's files.  A plugin of another distribution
is imported when it is first asked for, and a broken one fails that look-up only.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import Distribution, EntryPoint, distributions
from typing import Any, Final, Generic, TypeVar

from refdesk.errors import BrokenPlugin, UnknownName

T = TypeVar("T")

_REASON_CHARS: Final = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class Installed:
    """A plugin of another distribution, not imported yet."""

    name: str
    distribution: str
    """Name and version."""
    point: EntryPoint | None
    """None: the distribution's list of entry points cannot be read."""
    fault: str = ""
    """Why it cannot be read."""


class Registry(Generic[T]):
    """
    A table of the plugins of one kind.

    Args:
        kind: What one of them is called in messages, such as ``"engine"``.
        packages: The packages whose public modules hold the built-in ones.
        fits: Tells whether an object is a plugin of this kind.

    Other distributions add theirs with an entry point in `group`, whose name is the plugin's name
    and whose object is the plugin.  A built-in plugin keeps its name.
    """

    def __init__(self, kind: str, *packages: str, fits: Callable[[Any], bool]) -> None:
        self.kind = kind
        self.group = f"refdesk.{kind.replace(' ', '_')}s"
        self._packages = packages
        self._fits = fits
        self._table: dict[str, T] = {}
        self._foreign: dict[str, T] = {}
        self._broken: dict[str, str] = {}
        self._builtin: frozenset[str] | None = None

    def register(self, name: str) -> Callable[[T], T]:
        """Give the decorated object its name in this table; a name is given once."""

        def keep(plugin: T) -> T:
            if self._table.setdefault(name, plugin) is not plugin:
                raise RuntimeError(f"two {self.kind}s are called {name!r}")
            return plugin

        return keep

    def get(self, name: str) -> T:
        """
        Return the plugin of that name.

        Raises:
            UnknownName: There is none; the message lists the known ones.
            BrokenPlugin: It is installed and cannot be used; the message names its distribution.
        """
        self._load()
        for table in (self._table, self._foreign):
            if name in table:
                return table[name]
        if name not in self._broken:
            try:
                self._foreign[name] = self._import(name)
            except BrokenPlugin as exc:
                self._broken[name] = str(exc)
            else:
                return self._foreign[name]
        raise BrokenPlugin(self._broken[name])

    def name_of(self, plugin: T) -> str | None:
        """Return the name of a plugin, or None if it is not in this table."""
        self._load()
        known = [*self._table.items(), *self._foreign.items()]
        return next((name for name, each in known if each is plugin), None)

    def names(self) -> list[str]:
        """Return all names, sorted; plugins of other distributions are not imported."""
        self._load()
        return sorted({*self._table, *(each.name for each in self.installed if each.point)})

    def builtin(self) -> list[str]:
        """Return the names of the built-in plugins, sorted."""
        return sorted(self._load())

    @cached_property
    def installed(self) -> tuple[Installed, ...]:
        """The plugins of other distributions, of which none is imported."""
        return tuple(_installed(self.group))

    def fault(self, plugin: Installed) -> str:
        """Import a plugin of another distribution; return why it cannot be used, or nothing."""
        if plugin.point is None:
            return plugin.fault
        if plugin.name in self._load():
            return (
                f"{plugin.distribution} has {self._one} called {plugin.name!r}, and the built-in "
                "one is used; give it another name"
            )
        try:
            self.get(plugin.name)
        except BrokenPlugin as exc:
            return str(exc)
        return ""

    @property
    def _one(self) -> str:
        return f"{'an' if self.kind[0] in 'aeiou' else 'a'} {self.kind}"

    def _load(self) -> frozenset[str]:
        """Import the built-in plugins, the first time; return their names."""
        if self._builtin is None:
            self._builtin = frozenset()  # a module may look another plugin up
            for package in self._packages:
                for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
                    if not module.name.startswith("_"):
                        importlib.import_module(f"{package}.{module.name}")
            self._builtin = frozenset(self._table)
        return self._builtin

    def _import(self, name: str) -> T:
        found = [each for each in self.installed if each.name == name and each.point]
        if not found:
            raise UnknownName(self.kind, name, self.names())
        if len(found) > 1:
            both = " and ".join(each.distribution for each in found)
            raise BrokenPlugin(f"{both} each have {self._one} called {name!r}; uninstall one")
        (plugin,) = found
        assert plugin.point is not None
        try:
            loaded: T = plugin.point.load()
        except (Exception, SystemExit) as exc:  # the code of others may do anything at import
            raise BrokenPlugin(
                f"the {self.kind} {name!r} of {plugin.distribution} cannot be imported "
                f"({_reason(exc)}); repair or uninstall that distribution"
            ) from exc
        if not self._fits(loaded):
            raise BrokenPlugin(
                f"{plugin.point.value!r} of {plugin.distribution} is a {type(loaded).__name__}, "
                f"not {self._one}; correct its entry point {name!r} in {self.group}"
            )
        return loaded


def _installed(group: str) -> Iterator[Installed]:
    """Yield the entry points of a group; each distribution is read by itself."""
    seen: set[str] = set()
    for distribution in distributions():
        label = _label(distribution)
        name = label.partition(" ")[0].replace("_", "-").lower()
        if name in seen:  # a later folder of the path has it, too, and is not imported from
            continue
        seen.add(name)
        try:
            points = distribution.entry_points.select(group=group)
        except Exception as exc:  # any text may stand in the file
            text = distribution.read_text("entry_points.txt") or ""
            if group in text:
                fault = (
                    f"entry_points.txt of {label} cannot be read ({_reason(exc)}); repair or "
                    "uninstall that distribution"
                )
                yield Installed(name="", distribution=label, point=None, fault=fault)
            continue
        for point in points:
            yield Installed(name=point.name, distribution=label, point=point)


def _label(distribution: Distribution) -> str:
    """Return name and version; of a distribution without METADATA, its folder."""
    with contextlib.suppress(Exception):  # since Python 3.14 a missing file is an error
        metadata = distribution.metadata
        if "Name" in metadata and "Version" in metadata:
            return f"{metadata['Name']} {metadata['Version']}"
    return str(getattr(distribution, "_path", "a distribution without metadata"))


def _reason(error: BaseException) -> str:
    said = " ".join(str(error).split())
    text = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return text if len(text) <= _REASON_CHARS else f"{text[:_REASON_CHARS]}…"
