"""
References resolved and paths made absolute, in a configuration that is being read.

What cannot be resolved becomes a fault of the draft.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any, Final

from refdesk.config.draft import Draft
from refdesk.config.layers import Path
from refdesk.config.schema import STORE_URL, Config
from refdesk.config.secrets import KEY_FILE, KeyRef, Resolver, UnresolvedError, default_key

_SQLITE: Final = re.compile(r"(sqlite(?:\+\w+)?:///)(?!/|:memory:|file:)([^?]+)(.*)", re.DOTALL)


def resolve(draft: Draft, env: Mapping[str, str]) -> None:
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
        if isinstance(entry, dict):
            _model_files(entry, draft.base)


def _model_files(entry: dict[str, Any], base: FilePath) -> None:
    """Make the paths of model files absolute; the word ``reflect`` is none."""
    written = entry.get("models")
    listed = [written] if isinstance(written, str) else written
    if isinstance(listed, list) and listed != ["reflect"]:
        entry["models"] = [
            _absolute(base, each) if isinstance(each, str) else each for each in listed
        ]


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
