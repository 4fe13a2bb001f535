"""
YAML read into plain values, with the place of every key, and every fault found on the way.

Only plain data is taken: no tags that make objects, no key twice, no aliases that grow without
bound.  Keys are text, whatever they look like.  YAML is read as version 1.2: ``on`` is a word.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.composer import MaxDepthExceededError
from ruamel.yaml.error import MarkedYAMLError, YAMLError, YAMLWarning
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from refdesk.config.layers import Path

MAX_BYTES: Final = 1024 * 1024
"""Bytes of a configuration file; a larger one is refused with its size."""
MAX_NODES: Final = 20_000
"""Counted with aliases expanded: a large configuration has some thousands."""
MAX_DEPTH: Final = 60
"""Levels of a configuration; a deeper one is refused with its line."""

_CORE: Final = "tag:yaml.org,2002:"
_TRUE: Final = ("true", "yes", "on", "y")


@dataclass(frozen=True, kw_only=True, slots=True)
class YamlFault:
    """Something wrong in the text; the line and the column are counted from 1."""

    line: int
    column: int
    text: str
    path: Path = ()


@dataclass(kw_only=True, slots=True)
class YamlTree:
    """What was read.  ``value`` is of use only where ``faults`` is empty or none is ``fatal``."""

    value: Any = None
    places: dict[Path, tuple[int, int]] = field(default_factory=dict)
    faults: list[YamlFault] = field(default_factory=list)
    fatal: bool = False


class _TooLarge(Exception):
    def __init__(self, node: Any, text: str) -> None:
        super().__init__(text)
        self.node = node


def parse(text: str) -> YamlTree:
    """Read one document.  Never raises; faults hold no values of the document."""
    tree = YamlTree()
    if len(text) > MAX_BYTES:
        return _broken(tree, 1, 1, f"is longer than {MAX_BYTES} characters; split or shorten it")
    yaml = YAML(typ="safe", pure=True)
    yaml.max_depth = MAX_DEPTH + 1  # the root counts; without it deep nesting takes minutes
    try:
        with warnings.catch_warnings():
            # A second anchor of one name replaces the first, as YAML has it.
            warnings.simplefilter("ignore", YAMLWarning)
            node = yaml.compose(text)
    except MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return _broken(tree, line, column, _syntax(exc))
    except YAMLError as exc:
        place = getattr(exc, "position", None)
        before = text[:place] if isinstance(place, int) else ""
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        return _broken(tree, line, column, "a character that YAML does not allow; take it out")
    except RecursionError:
        return _broken(tree, 1, 1, f"is nested deeper than {MAX_DEPTH} levels")
    except (ValueError, AssertionError, IndexError, AttributeError, TypeError):
        return _broken(tree, 1, 1, "is no YAML that can be read")
    if node is None:
        return tree
    try:
        tree.value = _Builder(tree).build(node, (), 0, ())
    except _TooLarge as exc:
        mark = exc.node.start_mark
        return _broken(tree, mark.line + 1, mark.column + 1, str(exc))
    return tree


def _broken(tree: YamlTree, line: int, column: int, text: str) -> YamlTree:
    tree.faults.append(YamlFault(line=line, column=column, text=text))
    tree.fatal = True
    return tree


def _syntax(exc: MarkedYAMLError) -> str:
    problem = (exc.problem or "is no YAML that can be read").split("\n", 1)[0]
    if "'\\t'" in problem:
        return "a tab, which cannot indent YAML; indent with spaces"
    if isinstance(exc, MaxDepthExceededError):
        return f"is nested deeper than {MAX_DEPTH} levels"
    if "another document" in problem:
        return "a second document; the configuration is one document, take the --- out"
    return f"is no YAML: {problem}"


class _Builder:
    def __init__(self, tree: YamlTree) -> None:
        self._tree = tree
        self._nodes = 0

    def build(self, node: Node, path: Path, depth: int, open_nodes: tuple[int, ...]) -> Any:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise _TooLarge(
                node, f"grows beyond {MAX_NODES} values, its aliases expanded; use fewer of them"
            )
        if depth > MAX_DEPTH:
            raise _TooLarge(node, f"is nested deeper than {MAX_DEPTH} levels")
        if id(node) in open_nodes:
            raise _TooLarge(node, "is an alias of something that it is itself a part of")
        self._tree.places.setdefault(path, _place(node))
        inside = (*open_nodes, id(node))
        if isinstance(node, MappingNode):
            self._check_tag(node, path, "map")
            return self._mapping(node, path, depth, inside)
        if isinstance(node, SequenceNode):
            self._check_tag(node, path, "seq")
            return [
                self.build(inner, (*path, str(place)), depth + 1, inside)
                for place, inner in enumerate(node.value)
            ]
        return self._scalar(node, path)

    def _mapping(
        self, node: MappingNode, path: Path, depth: int, inside: tuple[int, ...]
    ) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                self._fault(key_node, "is a key that is no plain text; write a word", path)
                continue
            if key_node.tag == f"{_CORE}merge":
                merged = {**self._merge(value_node, path, depth, inside), **merged}
                continue
            key = str(key_node.value)
            here = (*path, key)
            if key in found:
                line = self._tree.places[here][0]
                self._fault(
                    key_node, f"stands here twice; the first is in line {line}, keep one", here
                )
                continue
            self._tree.places[here] = _place(key_node)
            found[key] = self.build(value_node, here, depth + 1, inside)
        return {**merged, **found}

    def _merge(self, node: Node, path: Path, depth: int, inside: tuple[int, ...]) -> dict[str, Any]:
        parts = node.value if isinstance(node, SequenceNode) else [node]
        merged: dict[str, Any] = {}
        for part in parts:
            if not isinstance(part, MappingNode):
                self._fault(part, "<< takes a mapping or a list of mappings", path)
                continue
            value = self.build(part, path, depth + 1, inside)
            merged = {**value, **merged}
        return merged

    def _check_tag(self, node: Node, path: Path, kind: str) -> None:
        if node.tag != f"{_CORE}{kind}":
            self._fault(node, _tag_text(node), path)

    def _scalar(self, node: Any, path: Path) -> Any:
        tag, text = node.tag or "", str(node.value)
        match tag.removeprefix(_CORE):
            case "str" | "timestamp" | "value":
                return text
            case "null":
                return None
            case "bool":
                return text.lower() in _TRUE
            case "int" | "float" as kind:
                number = _number(text, kind)
                if number is None:
                    self._fault(node, f"is no number that can be read ({kind})", path)
                return number
        self._fault(node, _tag_text(node), path)
        return None

    def _fault(self, node: Node, text: str, path: Path) -> None:
        line, column = _place(node)
        self._tree.faults.append(YamlFault(line=line, column=column, text=text, path=path))


def _tag_text(node: Node) -> str:
    tag = str(node.tag).replace(_CORE, "!!")
    return f"has the tag {tag}, which is not allowed; write plain values"


def _number(text: str, kind: str) -> int | float | None:
    plain = text.replace("_", "")
    try:
        if kind == "int":
            prefix = plain.lstrip("+-")[:2].lower()
            return int(plain, 0) if prefix in ("0x", "0o", "0b") else int(plain, 10)
        low = plain.lower()
        if low.endswith(".inf"):
            return -math.inf if low.startswith("-") else math.inf
        return math.nan if low.endswith(".nan") else float(plain)
    except ValueError:
        return None


def _place(node: Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1
