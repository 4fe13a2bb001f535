"""
What of the package meets foreign text, found by walking it: patterns, and functions of text.

A new pattern or function is found without being told.  Patterns stand in modules, at any depth of
their tables and classes, or at the call that uses them.  Functions are the public ones whose first
argument is text or bytes (or a list of texts, or a body), of modules and of classes, and classes
that are fed.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any

import refdesk

_ELSEWHERE = (".__main__", ".migrations.")
"""Modules that are run, and not imported."""
_ANYWHERE = frozenset({"search", "finditer"})
_METHODS = {
    **dict.fromkeys(("search", "match", "fullmatch", "finditer")),
    **dict.fromkeys(("findall", "split", "sub", "subn"), "finditer"),
}
"""How a pattern may be used, and which use of those that are tried is like it."""


@dataclass
class Pattern:
    """A regular expression and the methods that it is used with."""

    name: str
    module: str
    pattern: re.Pattern[Any]
    methods: set[str] = field(default_factory=set)

    @property
    def uses(self) -> list[str]:
        """Methods to try; where none is seen, it may be looked for anywhere."""
        return sorted(self.methods) or ["finditer"]


@dataclass(frozen=True)
class Dynamic:
    """A pattern that is made when the program runs, so that it cannot be tried here."""

    module: str
    source: str


@cache
def modules() -> tuple[ModuleType, ...]:
    """Return every module of the package."""
    names = [each.name for each in pkgutil.walk_packages(refdesk.__path__, "refdesk.")]
    found = [name for name in names if not any(part in f"{name}." for part in _ELSEWHERE)]
    return (refdesk, *map(importlib.import_module, found))


@cache
def patterns() -> tuple[tuple[Pattern, ...], tuple[Dynamic, ...]]:
    """Return every pattern of the package, each once, and the calls whose pattern is unknown."""
    found: dict[tuple[Any, int], Pattern] = {}
    dynamic: list[Dynamic] = []

    def note(name: str, pattern: re.Pattern[Any], method: str | None = None) -> None:
        made = Pattern(name, module.__name__, pattern)
        one = found.setdefault((pattern.pattern, pattern.flags), made)
        if method is not None:
            one.methods.add(method)

    for module in modules():
        seen: dict[int, Any] = {}
        for name, value in list(vars(module).items()):
            if not name.startswith("__"):
                for path, pattern in _inside(value, f"{module.__name__}.{name}", module, seen):
                    note(path, pattern)
        for call in _calls(module):
            assert isinstance(call.func, ast.Attribute)
            method, on = call.func.attr, call.func.value
            if isinstance(on, ast.Name) and on.id == "re":
                try:
                    made = _made(call, module)
                except NameError:
                    dynamic.append(Dynamic(module.__name__, ast.unparse(call.args[0])))
                    continue
                if method != "compile":
                    note(f"{module.__name__}:{call.lineno}", made, _METHODS[method] or method)
            elif method in _METHODS and isinstance(used := _value(on, module), re.Pattern):
                note(ast.unparse(on), used, _METHODS[method] or method)
    return tuple(found.values()), tuple(dynamic)


def _calls(module: ModuleType) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and (node.func.attr in _METHODS or node.func.attr == "compile")
        ):
            yield node


def _made(call: ast.Call, module: ModuleType) -> re.Pattern[Any]:
    """Compile the pattern of a call as the module would."""
    assert isinstance(call.func, ast.Attribute)
    place = {"sub": 4, "subn": 4, "split": 3, "compile": 1}.get(call.func.attr, 2)
    flags = call.args[place:] + [each.value for each in call.keywords if each.arg == "flags"]
    value, *bits = (_evaluated(each, module) for each in (call.args[0], *flags))
    return re.compile(value, *bits)


def _evaluated(node: ast.expr, module: ModuleType) -> Any:
    return eval(compile(ast.Expression(node), module.__name__, "eval"), dict(vars(module)))


def _value(node: ast.expr, module: ModuleType) -> Any:
    if isinstance(node, ast.Name):
        return vars(module).get(node.id)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return getattr(vars(module).get(node.value.id), node.attr, None)
    return None


def _inside(
    value: Any, name: str, module: ModuleType, seen: dict[int, Any]
) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Yield the patterns in a value: in tables, in objects and classes of the package, closures."""
    if isinstance(value, re.Pattern):
        yield name, value
        return
    if id(value) in seen or isinstance(value, ModuleType):
        return
    seen[id(value)] = value
    inner: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        inner = [(f"{name}.{key}", each) for key, each in value.items()]
        inner += [(f"{name}.keys", key) for key in value]
    elif isinstance(value, (list, tuple, set, frozenset)):
        inner = [(f"{name}.{place}", each) for place, each in enumerate(value)]
    elif inspect.isclass(value):
        if value.__module__ == module.__name__:
            inner = [(f"{name}.{key}", each) for key, each in vars(value).items()]
    elif inspect.isfunction(value):
        if value.__module__ == module.__name__:
            cells = [cell.cell_contents for cell in value.__closure__ or () if _full(cell)]
            inner = [(name, each) for each in (*(value.__defaults__ or ()), *cells)]
    elif type(value).__module__.partition(".")[0] == "refdesk":
        slots = [slot for kind in type(value).__mro__ for slot in getattr(kind, "__slots__", ())]
        keys = dict.fromkeys([*getattr(value, "__dict__", ()), *slots])
        inner = [(f"{name}.{key}", getattr(value, key)) for key in keys if hasattr(value, key)]
    for path, each in inner:
        yield from _inside(each, path, module, seen)


def _full(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


@dataclass(frozen=True)
class Reader:
    """A function of text: a module's, a class's, or a class that is fed."""

    name: str
    module: str
    call: Callable[..., Any]
    fed: bool = False


@cache
def readers() -> tuple[Reader, ...]:
    """Return the public functions of text and the classes that are fed, in all modules."""
    found: list[Reader] = []
    for module in modules():
        for name, value in sorted(vars(module).items()):
            if name.startswith("_") or getattr(value, "__module__", "") != module.__name__:
                continue
            path = f"{module.__name__}.{name}"
            if inspect.isclass(value):
                if callable(getattr(value, "feed", None)) and not _is_protocol(value):
                    found.append(Reader(path, module.__name__, value, fed=True))
                for key, each in sorted(vars(value).items()):
                    if isinstance(each, (classmethod, staticmethod)) and not key.startswith("_"):
                        found.append(Reader(f"{path}.{key}", module.__name__, getattr(value, key)))
            elif inspect.isfunction(inspect.unwrap(value)):
                found.append(Reader(path, module.__name__, value))
    return tuple(each for each in found if each.fed or _reads_text(each.call))


def _is_protocol(kind: type) -> bool:
    return bool(getattr(kind, "_is_protocol", False))


def _reads_text(call: Callable[..., Any]) -> bool:
    function = inspect.unwrap(call)
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return False
    first = next(iter(inspect.signature(function).parameters.values()), None)
    return first is not None and is_text(str(first.annotation))


def is_text(annotation: str) -> bool:
    """Whether an annotation is one of text: texts, bytes, members of a body, a body."""
    text = r"(?:str|bytes|Raw|Document)"
    pattern = (
        rf"(?:{text}|(?:Sequence|Iterable|list|tuple)\[{text}(?:, \.\.\.)?\]|dict\[str, Raw\])"
    )
    parts = re.split(r" \| ", annotation)
    return any(re.fullmatch(pattern, part) for part in parts)
