"""
Routes below ``/api/v1`` as values: what answers them, and all that is said of them.  No I/O.

The same table routes requests and makes the OpenAPI document, so that neither can know of a route
that the other does not.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from refdesk.errors import WireError

if TYPE_CHECKING:
    from pydantic import BaseModel

PREFIX: Final = "/api/v1"

Method = Literal["GET", "POST", "DELETE"]
Answer = tuple[int, dict[str, Any]]
"""The status, and what the body says; from 400 on it is a problem, with its ``detail``."""
Handler = Callable[..., Awaitable[Answer]]
"""Called with the `Call`, and with the values in the path by their names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """A value in the query of a URL; none is required."""

    name: str
    summary: str
    type: Literal["string", "integer"] = "string"


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """One method of one path."""

    method: Method
    path: str
    """Below the prefix; a part in braces is a value: ``/collections/{name}``."""
    handler: Handler
    summary: str
    answer: type[BaseModel]
    body: type[BaseModel] | None = None
    """What is to be sent as JSON, where anything is."""
    optional_body: bool = False
    files: bool = False
    """Whether files may be sent in the place of JSON."""
    query: tuple[Parameter, ...] = ()
    statuses: tuple[int, ...] = (200,)
    """How it answers when all went well."""
    changes: bool = False
    """Whether it changes a collection, which not everybody may; see `refdesk.api.rights`."""

    def values(self, parts: Sequence[str]) -> dict[str, str] | None:
        """Return the values that a path's parts have for this route; None if it is another's."""
        wanted = self.path.strip("/").split("/")
        if len(wanted) != len(parts):
            return None
        found: dict[str, str] = {}
        for name, part in zip(wanted, parts, strict=True):
            if name.startswith("{"):
                found[name.strip("{}")] = part
            elif name != part:
                return None
        return found


def find(
    routes: Sequence[Route], method: str, parts: Sequence[str]
) -> tuple[Route, Mapping[str, str]]:
    """
    Return the route of a path, and the values in it.

    Raises:
        WireError: Nothing is there (404), or not with this method (405); it says what is.
    """
    fitting = [(route, found) for route in routes if (found := route.values(parts)) is not None]
    for route, found in fitting:
        if route.method == method:
            return route, found
    path = "/".join([PREFIX, *parts])[:200]
    if fitting:
        others = ", ".join(route.method for route, _ in fitting)
        raise WireError(f"{method} {path} is not served; use {others}", status=405)
    near = [route for route in routes if parts and route.path.split("/")[1] == parts[0]]
    served = ", ".join(f"{route.method} {PREFIX}{route.path}" for route in near or routes)
    raise WireError(f"{path} is not served; served: {served}", status=404)
