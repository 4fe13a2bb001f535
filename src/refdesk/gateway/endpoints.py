"""
What upstreams have beside the model routes, and what each path needs to be passed on.

Paths are those of OpenAI (https://developers.openai.com/api/reference) and Anthropic
(https://platform.claude.com/docs/en/api), read 2026-12-01.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import Flag, auto
from typing import Final, Literal

from refdesk.providers import Service

Method = Literal["GET", "POST", "DELETE"]

MAX_ID_CHARS: Final = 512
"""Characters of an id in a path or a body; a longer one is no id."""
_ID: Final = rf"[A-Za-z0-9][A-Za-z0-9._:~=+-]{{0,{MAX_ID_CHARS - 1}}}"


class Trait(Flag):
    """What is special about an endpoint."""

    NONE = 0
    MODEL = auto()
    """The body names a model, which decides the upstream."""
    ANY_MODEL = auto()
    """The body may name one."""
    HISTORY = auto()
    """The body holds a conversation, in which marks of ours may stand."""
    REQUESTS = auto()
    """The body holds requests, each with a model and a conversation."""
    CREATES = auto()
    """The answer names an id that the client may send back."""
    NAMES = auto()
    """The answer names ids of files that the upstream made."""
    LISTS = auto()
    """The answer tells of what all client keys made."""
    FORM = auto()
    """The body is a form with a file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """A method and a path below ``/v1``."""

    method: Method
    path: str
    """With ``{id}`` for an id, and ``{part}`` for that of something below it."""
    traits: Trait = Trait.NONE
    service: Service
    """What an upstream must have."""
    wires: tuple[str, ...]
    """An upstream must speak one of them; the first that it does decides how it is logged in to."""
    _pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        pattern = re.escape(self.path).replace(r"\{id\}", f"({_ID})").replace(r"\{part\}", _ID)
        object.__setattr__(self, "_pattern", re.compile(pattern))

    @property
    def about(self) -> str:
        """What it is about, as messages name it."""
        return _ABOUT[self.service]

    @property
    def prefix(self) -> str:
        """The path up to its first id; the whole path where it has none."""
        return self.path.partition("{")[0]

    def match(self, path: str) -> str | None:
        """Return the id in a path, an empty string where it has none; None for another path."""
        found = self._pattern.fullmatch(path)
        return None if found is None else "".join(found.groups())


_ABOUT: Final[dict[Service, str]] = {
    "embeddings": "embeddings",
    "stored_responses": "stored responses",
    "stored_completions": "stored completions",
    "files": "files",
    "batches": "batches",
    "message_batches": "message batches",
    "counts": "counts of tokens",
    "compaction": "compacted conversations",
}


def _group(
    service: Service, wires: tuple[str, ...], *rows: tuple[Method, str, Trait]
) -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(method=method, path=path, traits=traits, service=service, wires=wires)
        for method, path, traits in rows
    )


_OPENAI: Final = ("responses", "chat")
_FILES: Final = _group(
    "files", _OPENAI,
    ("POST", "/files", Trait.CREATES | Trait.FORM),
    ("GET", "/files", Trait.LISTS),
    ("GET", "/files/{id}", Trait.NONE),
    ("DELETE", "/files/{id}", Trait.NONE),
    ("GET", "/files/{id}/content", Trait.NONE),
)  # fmt: skip
ENDPOINTS: Final = (
    *_group("embeddings", _OPENAI, ("POST", "/embeddings", Trait.MODEL)),
    *_group(
        "counts", ("responses",),
        ("POST", "/responses/input_tokens", Trait.ANY_MODEL | Trait.HISTORY),
    ),
    *_group(
        "compaction", ("responses",),
        ("POST", "/responses/compact", Trait.MODEL | Trait.HISTORY),
    ),
    *_group(
        "stored_responses", ("responses",),
        ("GET", "/responses/{id}", Trait.NONE),
        ("DELETE", "/responses/{id}", Trait.NONE),
        ("POST", "/responses/{id}/cancel", Trait.NONE),
        ("GET", "/responses/{id}/input_items", Trait.NONE),
        ("POST", "/conversations", Trait.CREATES),
        ("GET", "/conversations/{id}", Trait.NONE),
        ("POST", "/conversations/{id}", Trait.NONE),
        ("DELETE", "/conversations/{id}", Trait.NONE),
        ("GET", "/conversations/{id}/items", Trait.NONE),
        ("POST", "/conversations/{id}/items", Trait.NONE),
        ("GET", "/conversations/{id}/items/{part}", Trait.NONE),
        ("DELETE", "/conversations/{id}/items/{part}", Trait.NONE),
    ),
    *_group(
        "stored_completions", ("chat",),
        ("GET", "/chat/completions/{id}", Trait.NONE),
        ("POST", "/chat/completions/{id}", Trait.NONE),
        ("DELETE", "/chat/completions/{id}", Trait.NONE),
        ("GET", "/chat/completions/{id}/messages", Trait.NONE),
    ),
    *_FILES,
    # The same paths, of clients that speak Messages.
    *(replace(each, wires=("messages",)) for each in _FILES),
    *_group(
        "batches", _OPENAI,
        ("POST", "/batches", Trait.CREATES | Trait.NAMES),
        ("GET", "/batches", Trait.LISTS),
        ("GET", "/batches/{id}", Trait.NAMES),
        ("POST", "/batches/{id}/cancel", Trait.NAMES),
    ),
    *_group(
        "message_batches", ("messages",),
        ("POST", "/messages/batches", Trait.REQUESTS | Trait.CREATES),
        ("GET", "/messages/batches", Trait.LISTS),
        ("GET", "/messages/batches/{id}", Trait.NONE),
        ("DELETE", "/messages/batches/{id}", Trait.NONE),
        ("POST", "/messages/batches/{id}/cancel", Trait.NONE),
        ("GET", "/messages/batches/{id}/results", Trait.NONE),
    ),
)  # fmt: skip
"""Every endpoint, the more exact path first."""


STORED: Final = next(each for each in ENDPOINTS if each.path == "/responses/{id}")
"""By which an answer is fetched that was made in the background."""


def find(method: str, path: str, *, messages: bool) -> tuple[Endpoint, str] | None:
    """
    Return the endpoint of a method and a path below ``/v1``, and the id in the path.

    Args:
        method: Of the request; HEAD counts as GET.
        path: Without ``/v1``.
        messages: Whether the client speaks Messages, where two wires have the same path.
    """
    wanted = "GET" if method == "HEAD" else method
    found = [
        (endpoint, id_)
        for endpoint in ENDPOINTS
        if endpoint.method == wanted and (id_ := endpoint.match(path)) is not None
    ]
    same = [each for each in found if (each[0].wires == ("messages",)) == messages]
    return next(iter(same or found), None)


def mounts() -> dict[tuple[Method, str], bool]:
    """Return methods and paths to be served, each with whether files are sent there.

    A path that ends in a slash stands for all below it.
    """
    served: dict[tuple[Method, str], bool] = {}
    for each in ENDPOINTS:
        key = each.method, each.prefix
        served[key] = served.get(key, False) or Trait.FORM in each.traits
    # A path of its own needs no entry beside one for all below.
    below = [key for key in served if key[1].endswith("/")]
    return {
        (method, path): files
        for (method, path), files in served.items()
        if not any(path != at and path.startswith(at) and method == by for by, at in below)
    }
