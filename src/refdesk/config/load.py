"""
Reading the configuration: all layers, all faults at once, and where every value was set.

Files are read here and nowhere else in this package.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, Final

from pydantic import ValidationError

from refdesk.config import yaml_tree
from refdesk.config.environment import environment_layer
from refdesk.config.faults import Fault, in_order, is_hidden, schema_faults
from refdesk.config.layers import Layer, Merged, Origin, Path, dotted, merge
from refdesk.config.references import find_faults
from refdesk.config.schema import STORE_URL, Config
from refdesk.config.secrets import KEY_FILE, KeyRef, Resolver, UnresolvedError, default_key
from refdesk.config.view import leaves
from refdesk.errors import ConfigError

DEFAULT_NAME: Final = "refdesk.yaml"
"""What is read where no file is named: this, in the current folder."""

_SQLITE: Final = re.compile(r"(sqlite(?:\+\w+)?:///)(?!/|:memory:|file:)([^?]+)(.*)", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Loaded:
    """A configuration that holds, with the origin of each of its values."""

    config: Config
    origins: Mapping[str, Origin]
    """By dotted key, for every value that is no mapping."""
    path: FilePath | None
    """The file that was read, where there was one."""
    warnings: tuple[str, ...] = ()
    secrets: frozenset[Path] = frozenset()
    """The values that came from the environment or a file by reference."""


@dataclass(kw_only=True, slots=True)
class Draft:
    """A configuration as far as it could be read; ``config`` is None where there are faults."""

    path: FilePath | None
    base: FilePath
    merged: Merged
    faults: list[Fault]
    config: Config | None = None
    secrets: set[Path] = field(default_factory=set)

    def fault(self, path: Path, text: str) -> Fault:
        """Return a fault with the place where that key was written."""
        return Fault(origin=self.merged.origin(path), path=path, text=text)

    def hides(self, path: Path) -> bool:
        """Whether the value at a path must not be shown."""
        return path in self.secrets or is_hidden(path, Config)


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
    _resolve(draft, env)
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


def _resolve(draft: Draft, env: Mapping[str, str]) -> None:
    """Put in what references stand for, and make paths absolute."""
    tree = draft.merged.tree

    def resolver(data_dir: str | None) -> Resolver:
        return Resolver(env=env, read=_read_text, base=draft.base, data_dir=data_dir)

    data_dir = tree.get("data_dir")
    if data_dir is None:
        data_dir = Config.model_fields["data_dir"].default
    if isinstance(data_dir, str):
        data_dir = _replace(draft, ("data_dir",), data_dir, resolver(None))
        flagged = draft.merged.origin(("data_dir",)).layer == "flag"
        data_dir = _absolute(FilePath.cwd() if flagged else draft.base, data_dir)
        tree["data_dir"] = data_dir
    references = resolver(data_dir if isinstance(data_dir, str) else str(draft.base))
    for key, value in list(tree.items()):
        if key == "store" and isinstance(value, dict):
            tree[key] = {
                name: inner if name == "key" else _each(draft, (key, name), inner, references)
                for name, inner in value.items()
            }
        elif key != "data_dir":
            tree[key] = _each(draft, (key,), value, references)
    _store(draft, references)
    folder = tree.get("assistants_dir")
    if folder is None or isinstance(folder, str):
        default = Config.model_fields["assistants_dir"].default
        tree["assistants_dir"] = _absolute(draft.base, folder or default)
    databases = tree.get("databases")
    for entry in databases.values() if isinstance(databases, dict) else ():
        if isinstance(entry, dict) and isinstance(entry.get("url"), str):
            entry["url"] = _sqlite(entry["url"], draft.base)


def _each(draft: Draft, path: Path, value: Any, references: Resolver) -> Any:
    if isinstance(value, str):
        return _replace(draft, path, value, references)
    if isinstance(value, dict):
        return {k: _each(draft, (*path, k), v, references) for k, v in value.items()}
    if isinstance(value, list):
        return [_each(draft, (*path, str(i)), v, references) for i, v in enumerate(value)]
    return value


def _replace(draft: Draft, path: Path, text: str, references: Resolver) -> str:
    try:
        value, secret = references.resolve(text)
    except UnresolvedError as exc:
        draft.faults.append(draft.fault(path, str(exc)))
        return text
    if secret:
        draft.secrets.add(path)
    return value


def _store(draft: Draft, references: Resolver) -> None:
    store = draft.merged.tree.setdefault("store", {})
    if store is None:
        store = draft.merged.tree["store"] = {}
    if not isinstance(store, dict) or references.data_dir is None:
        return
    if store.get("url") is None:
        store["url"] = STORE_URL.replace("${data_dir}", references.data_dir)
    url = store["url"]
    embedded = not isinstance(url, str) or url.startswith("sqlite")
    if isinstance(url, str):
        store["url"] = _sqlite(url, draft.base)
    key = store.get("key")
    if key is None:
        if not embedded:
            text = "is missing; it must be given with a store that several servers may share"
            draft.faults.append(draft.fault(("store", "key"), text))
        store["key"] = [default_key(references.data_dir)]
        return
    many = key if isinstance(key, list) else [key]
    store["key"] = [
        _key(
            draft,
            ("store", "key", str(place)) if isinstance(key, list) else ("store", "key"),
            one,
            references,
            may_be_made=embedded,
        )
        for place, one in enumerate(many)
    ]


def _key(draft: Draft, path: Path, value: Any, references: Resolver, *, may_be_made: bool) -> Any:
    """Return a key's reference.  Its file is looked for, but read by the store only."""
    if not isinstance(value, str):
        return value
    try:
        file = references.key_file(value)
        if file is not None:
            made = may_be_made and file == FilePath(references.resolve(KEY_FILE)[0])
            if not made:
                references.resolve(value)
            return KeyRef(path=file, may_be_made=made)
    except UnresolvedError as exc:
        draft.faults.append(draft.fault(path, str(exc)))
        return default_key()
    draft.secrets.add(path)
    return _replace(draft, path, value, references)


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


def _read_text(path: FilePath) -> str:
    return path.read_text(encoding="utf-8")


def _absolute(base: FilePath, text: str) -> str:
    return str(base / FilePath(text).expanduser())


def _sqlite(url: str, base: FilePath) -> str:
    match = _SQLITE.fullmatch(url)
    if not match:
        return url
    # Four slashes: the fourth begins the absolute path (SQLAlchemy's form).
    return f"{match[1]}{_absolute(base, match[2])}{match[3]}"
