"""What the schema says about a path: which keys are known there, and what they hold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from refdesk.config.layers import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """
    What may stand at a place: a section with fields, entries under free names, or a plain value.

    ``open`` tells that further keys are allowed, which somebody else checks.
    """

    model: type[BaseModel] | None = None
    entry: Any = None
    """The type of the entries, where names are free."""
    open: bool = False
    secret: bool = False

    @property
    def keys(self) -> list[str]:
        """The known keys, in the order of the schema."""
        return list(self.model.model_fields) if self.model else []


def shape(annotation: Any) -> Shape:
    """Return what a type of the schema allows."""
    kind = get_origin(annotation)
    if kind is Annotated:
        return shape(get_args(annotation)[0])
    if kind in (Union, UnionType):
        inner = [shape(one) for one in get_args(annotation) if one is not type(None)]
        return next((one for one in inner if one.model or one.entry is not None), inner[0])
    if kind is dict:
        return Shape(entry=get_args(annotation)[1], open=get_args(annotation)[1] is Any)
    if annotation is Any:
        return Shape(open=True)
    if annotation is SecretStr:
        return Shape(secret=True)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return Shape(model=annotation, open=annotation.model_config.get("extra") == "allow")
    return Shape()


def child(parent: Shape, key: str) -> Shape | None:
    """Return what may stand under a key, or None where the key is not known."""
    if parent.model:
        if key in parent.model.model_fields:
            return shape(parent.model.model_fields[key].annotation)
        return Shape(open=True) if parent.open else None
    if parent.entry is not None:
        return shape(parent.entry)
    return Shape(open=True) if parent.open else None


def at(root: type[BaseModel], path: Path) -> Shape | None:
    """Return what may stand at a path, or None where it is not known."""
    found: Shape | None = Shape(model=root)
    for key in path:
        found = child(found, key) if found else None
    return found


def fields(
    root: type[BaseModel], path: Path = ()
) -> Iterator[tuple[Path, FieldInfo, type[BaseModel]]]:
    """Yield every field below a section with its path; ``NAME`` stands for free names."""
    for name, info in root.model_fields.items():
        here = (*path, name)
        yield here, info, root
        inner = shape(info.annotation)
        if inner.model:
            yield from fields(inner.model, here)
        elif inner.entry is not None and (below := shape(inner.entry)).model:
            yield from fields(below.model, (*here, "NAME"))
