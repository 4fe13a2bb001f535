"""
The environment as a layer: ``REFDESK_GATEWAY__SEARCH__CONCURRENCY=32``.  Pure.

Two underscores go one level down.  Names match without regard to case, and an underscore stands
for any character that a variable's name cannot hold: ``REFDESK_MODELS__DEEPSEEK_CHAT__MODEL``.
An empty variable counts as not set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

from refdesk.config import yaml_tree
from refdesk.config.faults import Fault
from refdesk.config.layers import Layer, Origin, Path
from refdesk.config.references import did_you_mean
from refdesk.config.schema import Config
from refdesk.config.secrets import is_secret_name
from refdesk.config.shape import Shape, child, fields, shape

PREFIX: Final = "REFDESK_"
_RESERVED: Final = re.compile(r"REFDESK_(NOW|CONFIG|TEST_.*)")
_KUBERNETES: Final = re.compile(
    r"REFDESK_SERVICE_(HOST|PORT(_.+)?)|REFDESK_PORT_\d+_(TCP|UDP|SCTP)(_(PORT|PROTO|ADDR))?"
)
"""What Kubernetes puts into every pod where a service is called ``refdesk``
(https://kubernetes.io/docs/tutorials/services/connect-applications-service/, 2026-11)."""
_ADDRESS: Final = re.compile(r"(tcp|udp|sctp)://")


class _Unmatched(Exception):
    """The variable stands for no key; the message is the end of a sentence."""


def environment_layer(
    env: Mapping[str, str], below: Mapping[str, Any]
) -> tuple[Layer, list[Fault]]:
    """Return the values set by the environment, and what is wrong with them."""
    reader = _Reader(below)
    for name in sorted(env):
        if name.upper().startswith(PREFIX) and env[name] and not _is_foreign(name, env[name]):
            reader.take(name, env[name])
    return reader.finish()


def _is_foreign(name: str, value: str) -> bool:
    upper = name.upper()
    if _RESERVED.fullmatch(upper) or _KUBERNETES.fullmatch(upper):
        return True
    return upper == "REFDESK_PORT" and bool(_ADDRESS.match(value))


class _Reader:
    def __init__(self, below: Mapping[str, Any]) -> None:
        self._below = below
        self._tree: dict[str, Any] = {}
        self._origins: dict[Path, Origin] = {}
        self._faults: list[Fault] = []
        self._made: dict[Path, Shape] = {}

    def take(self, name: str, value: str) -> None:
        origin = Origin(layer="environment", name=name)
        try:
            path, kind = self._resolve(name[len(PREFIX) :].split("__"))
            parent = self._parent(path)
        except _Unmatched as exc:
            self._faults.append(Fault(origin=origin, path=(), text=f"{exc}{self._near(name)}"))
            return
        parent[path[-1]] = _value(value, path, kind)
        self._origins[path] = origin

    def _parent(self, path: Path) -> dict[str, Any]:
        node = self._tree
        for key in path[:-1]:
            node = node.setdefault(key, {})
            if not isinstance(node, dict):
                raise _Unmatched("sets a key below another variable's plain value; take one out")
        return node

    def finish(self) -> tuple[Layer, list[Fault]]:
        for path, kind in self._made.items():
            given = self._at(self._tree, path)
            required = [
                key
                for key, info in (kind.model.model_fields if kind.model else {}).items()
                if info.is_required() and not (isinstance(given, dict) and key in given)
            ]
            if not required:
                continue
            section = self._at(self._below, path[:-1])
            known = list(section) if isinstance(section, Mapping) else []
            origin = next(o for p, o in self._origins.items() if p[: len(path)] == path)
            text = (
                f"is not in the configuration; {did_you_mean(path[-1], known)}; "
                f"a new one needs {', '.join(required)} as well"
            )
            self._faults.append(Fault(origin=origin, path=path, text=text))
            del self._at(self._tree, path[:-1])[path[-1]]
        return Layer(name="environment", tree=self._tree, origins=self._origins), self._faults

    def _resolve(self, parts: list[str]) -> tuple[Path, Shape]:
        path: Path = ()
        kind = Shape(model=Config)
        for part in parts:
            if not part:
                raise _Unmatched("stands for no key: there is an underscore too many")
            names = list(dict.fromkeys([*kind.keys, *self._existing(path)]))
            matches = [one for one in names if _fold(one) == _fold(part)]
            matches = [one for one in matches if one.lower() == part.lower()] or matches
            if len(matches) > 1:
                raise _Unmatched(f"stands for several keys: {', '.join(matches)}; rename one")
            key = matches[0] if matches else part.lower()
            below = child(kind, key)
            if below is None:
                raise _Unmatched("stands for no key")
            if not matches and kind.entry is not None and below.model:
                self._made[(*path, key)] = below
            path, kind = (*path, key), below
        return path, kind

    def _existing(self, path: Path) -> list[str]:
        names: list[str] = []
        for tree in (self._below, self._tree):
            found = self._at(tree, path)
            names.extend(found if isinstance(found, Mapping) else ())
        return names

    @staticmethod
    def _at(tree: Any, path: Path) -> Any:
        for key in path:
            tree = tree.get(key) if isinstance(tree, Mapping) else None
        return tree

    def _near(self, name: str) -> str:
        known = list(self._variables())
        wanted = name.upper()
        close = get_close_matches(wanted, known, n=1, cutoff=0.75)
        leaf = wanted.rsplit("__", 1)[-1].removeprefix(PREFIX)
        close = close or [one for one in known if one.endswith(f"__{leaf}")][:1]
        close = close or get_close_matches(wanted, known, n=1, cutoff=0.4)
        return f"; did you mean {close[0]}?" if close else ""

    def _variables(self) -> Iterator[str]:
        for path, info, _ in fields(Config):
            if shape(info.annotation).model:
                continue
            if "NAME" not in path:
                yield variable(path)
                continue
            for entry in self._existing(path[: path.index("NAME")]):
                yield variable(tuple(entry if key == "NAME" else key for key in path))


def variable(path: Path) -> str:
    """Return the variable that sets the key at a path."""
    return PREFIX + "__".join(_fold(key) for key in path).upper()


def _fold(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "_", name.lower())


def _value(text: str, path: Path, kind: Shape) -> Any:
    if text in ("null", "~"):
        return None
    # A key that is all digits stays text, and so does every word that the schema knows to be one:
    # what is a number there is read from its text.
    structured = text[0] in "[{\"'"
    if structured or (kind.open and not is_secret_name(path[-1])):
        read = yaml_tree.parse(text)
        plain = isinstance(read.value, (bool, int, float))
        if not read.faults and (structured or plain):
            return read.value
    return text
