"""
Reading the configuration: all layers, all faults at once, and where every value was set.

Files are read here and in `resolve`, nowhere else in this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, Final

from pydantic import ValidationError

from refdesk.config import yaml_tree
from refdesk.config.dormant import dormant
from refdesk.config.draft import Draft
from refdesk.config.environment import environment_layer
from refdesk.config.faults import Fault, in_order, schema_faults
from refdesk.config.layers import Layer, Merged, Origin, Path, dotted, merge
from refdesk.config.references import find_faults
from refdesk.config.resolve import resolve
from refdesk.config.schema import Config
from refdesk.config.view import leaves
from refdesk.errors import ConfigError

DEFAULT_NAME: Final = "refdesk.yaml"
"""What is read where no file is named: this, in the current folder."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Loaded:
    """A configuration that holds, with the origin of each of its values."""

    config: Config
    origins: Mapping[str, Origin]
    """By dotted key, for every value that is no mapping."""
    path: FilePath | None
    """The file that was read, where there was one."""
    warnings: tuple[str, ...] = ()
    dormant: tuple[str, ...] = ()
    """What it asks for and this release does not do yet, a sentence each."""
    secrets: frozenset[Path] = frozenset()
    """The values that came from the environment or a file by reference."""


def load(
    path: FilePath | None = None,
    *,
    env: Mapping[str, str],
    flags: Mapping[str, Any] | None = None,
    saved: Mapping[str, Any] | None = None,
) -> Loaded:
    """
    Read the configuration; all of it holds, or ConfigError tells every fault, a line each.

    Args:
        path: The file; None reads none.
        env: The environment, both for ``REFDESK_…`` and for ``${env:NAME}``.
        flags: Values from the command line by dotted key; None means not given.
        saved: Values saved by the console, as the file would have them.
    """
    draft = examine(path, env=env, flags=flags, saved=saved)
    if draft.config is None:
        raise ConfigError("\n".join(map(str, draft.faults)))
    origins = {
        dotted(key): draft.merged.origins.get(key) or _origin(draft.merged, key)
        for key, _ in leaves(draft.config)
    }
    return Loaded(
        config=draft.config,
        origins=origins,
        path=draft.path,
        warnings=tuple(_warnings(draft.config)),
        dormant=dormant(draft.config),
        secrets=frozenset(draft.secrets),
    )


def examine(
    path: FilePath | None = None,
    *,
    env: Mapping[str, str],
    flags: Mapping[str, Any] | None = None,
    saved: Mapping[str, Any] | None = None,
) -> Draft:
    """Read the configuration as `load` does, but hand back the faults instead of raising them."""
    file_layer, faults = _read(path) if path else (Layer(name="file", tree={}), [])
    layers = [file_layer, Layer(name="saved", tree=saved or {})]
    draft = Draft(
        path=path,
        base=(path.absolute().parent if path else FilePath.cwd()),
        merged=merge(layers),
        faults=faults,
    )
    if any(not fault.path for fault in faults):
        return draft  # what follows from a file that cannot be read would only confuse
    from_env, more = environment_layer(env, draft.merged.tree)
    faults.extend(more)
    layers += [from_env, _flag_layer(flags or {})]
    draft.merged = merge(layers)
    resolve(draft, env)
    _validate(draft)
    return draft


def _read(path: FilePath) -> tuple[Layer, list[Fault]]:
    name = str(path)
    origin = Origin(layer="file", file=name)

    def unreadable(text: str) -> tuple[Layer, list[Fault]]:
        return Layer(name="file", tree={}), [Fault(origin=origin, path=(), text=text)]

    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return unreadable("there is no such file; name another with --config, or write it")
    except IsADirectoryError:
        return unreadable("is a folder; name the file in it")
    except (OSError, ValueError) as exc:
        return unreadable(f"cannot be read ({getattr(exc, 'strerror', None) or 'not a path'})")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        return unreadable(f"is not UTF-8 in line {line}; save it as UTF-8")
    tree = yaml_tree.parse(text)
    faults = [
        Fault(
            origin=Origin(layer="file", file=name, line=f.line, column=f.column),
            path=f.path,
            text=f.text,
        )
        for f in tree.faults
    ]
    if tree.value is not None and not isinstance(tree.value, dict):
        line, column = tree.places[()]
        place = Origin(layer="file", file=name, line=line, column=column)
        return Layer(name="file", tree={}), [
            Fault(
                origin=place,
                path=(),
                text="the file should be a mapping: keys such as `upstreams:` at its left edge",
            )
        ]
    origins = {
        at: Origin(layer="file", file=name, line=line, column=column)
        for at, (line, column) in tree.places.items()
    }
    return Layer(name="file", tree=tree.value or {}, origins=origins), faults


def _flag_layer(flags: Mapping[str, Any]) -> Layer:
    tree: dict[str, Any] = {}
    for key, value in flags.items():
        if value is None:
            continue
        node = tree
        *parents, leaf = key.split(".")
        for parent in parents:
            node = node.setdefault(parent, {})
        node[leaf] = value
    return Layer(name="flag", tree=tree)


def _origin(merged: Merged, path: Path) -> Origin:
    """Return the origin of a value in the effective configuration that no layer wrote as such."""
    tree: Any = merged.tree
    for length, key in enumerate(path):
        if not isinstance(tree, Mapping):
            return merged.origins.get(path[:length], Origin(layer="default"))
        if key not in tree:
            return Origin(layer="default")
        tree = tree[key]
    return Origin(layer="default")


def _validate(draft: Draft) -> None:
    tree = draft.merged.tree
    known = {fault.path for fault in draft.faults}
    found: list[tuple[Path, str]] = []
    try:
        config = Config.model_validate(tree, context={"references_checked": True})
    except ValidationError as exc:
        found = schema_faults(exc, Config, tree, hidden=draft.hides)
    else:
        draft.config = config
    found += find_faults(tree)
    draft.faults.extend(draft.fault(path, text) for path, text in found if path not in known)
    draft.faults[:] = in_order(draft.faults)
    if draft.faults:
        draft.config = None


def _warnings(config: Config) -> list[str]:
    found = []
    if config.engines is None:
        found.append("no engines are configured: the keyless ddgs engine is used")
    elif not any(entry.settings.get("enabled", True) for entry in config.engines.values()):
        found.append("no engine is enabled: the gateway cannot search")
    return found
