"""What every embedder is: options, an identity that a collection remembers, two forms of text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Protocol

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from refdesk.errors import ConfigError
from refdesk.http import HttpRequest, HttpResponse
from refdesk.kb.vectors import Vector, Vectors
from refdesk.registry import Registry

EMBEDDERS: Registry[type[Embedder]] = Registry(
    "embedder",
    "refdesk.kb.embedders",
    fits=lambda plugin: isinstance(plugin, type) and issubclass(plugin, Embedder),
)

BATCH: Final = 32
"""How many passages whoever embeds many had best give at once."""


class Fetcher(Protocol):
    """Does HTTP exchanges, such as `refdesk.fetch.fetcher.Fetcher`."""

    async def send(
        self, request: HttpRequest, *, timeout_s: float, max_bytes: int, public_only: bool
    ) -> HttpResponse:
        """Return the whole answer, or raise EngineError."""
        ...


class Embedder(ABC):
    """
    Makes vectors of texts.

    Args:
        options: Its settings.
        fetcher: Does its HTTP exchanges, where it does any.

    Vectors are float32 of unit length, so that their product is their cosine.  A question and a
    passage have forms of their own: many models were trained on two.
    """

    class Options(BaseModel):
        """The embedder's own settings: an entry of ``embedder:``, less ``type``."""

        model_config = ConfigDict(extra="forbid", frozen=True)

    languages: frozenset[str] | None = None
    """The languages that it understands (ISO 639-1); None where it is not known to have bounds."""

    floor: float = 0.0
    """
    The cosine of a question and a passage that have nothing in common, as measured.

    What is not above it is found by its words only.
    """

    computes: ClassVar[bool] = False
    """Whether it makes vectors by itself, of its options alone, which hold no key.

    One that does may be made again in a process on another machine; others stay where they are.
    """

    def __init__(self, options: Options, *, fetcher: Fetcher | None = None) -> None:
        self.options = options
        self.fetcher = fetcher

    @property
    @abstractmethod
    def identity(self) -> str:
        """What a collection remembers: type and model.  Equal identities give equal vectors."""

    @abstractmethod
    async def dimension(self) -> int:
        """Return how long its vectors are; a remote one may have to be asked."""

    @abstractmethod
    async def passages(self, texts: Sequence[str]) -> Vectors:
        """
        Return the vectors of passages, one in each row, in order.

        Raises:
            EmbedderError: It cannot be done; the message says why, and what to do.
        """

    @abstractmethod
    async def query(self, text: str) -> Vector:
        """Return the vector of a question; see `passages`."""

    async def aclose(self) -> None:  # noqa: B027 - most have nothing open
        """Let go of what it holds."""


def local_names() -> list[str]:
    """Return the built-in embedders that compute here: they need no address, key or file."""
    return [name for name in EMBEDDERS.builtin() if EMBEDDERS.get(name).computes]


def make_embedder(entry: Mapping[str, Any], *, fetcher: Fetcher | None = None) -> Embedder:
    """
    Make an embedder of its entry in the configuration: ``type``, and the plugin's own options.

    Raises:
        UnknownName: No embedder has this type.
        ConfigError: Its options are wrong; the message names them, and holds no key.
    """
    name = str(entry.get("type", ""))
    plugin = EMBEDDERS.get(name)
    try:
        options = plugin.Options.model_validate({k: v for k, v in entry.items() if k != "type"})
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, each['loc'])) or 'its options'}: {each['msg']}"
            for each in error.errors(include_input=False, include_context=False, include_url=False)
        )
        raise ConfigError(f"embedder {name!r} is not configured rightly: {wrong}") from None
    return plugin(options, fetcher=fetcher)


def check_same(collection: str, remembered: str, embedder: Embedder) -> None:
    """
    Raise ConfigError unless an embedder is the one that a collection was made with.

    Vectors of two embedders cannot be compared, so nothing but a new index helps.
    """
    if remembered and remembered != embedder.identity:
        raise ConfigError(
            f"collection {collection!r} was embedded by {remembered}, and {embedder.identity} is "
            f"configured now; configure {remembered} again, or run `refdesk kb reindex "
            f"{collection}` to embed it anew"
        )


def unit(vectors: Vectors) -> Vectors:
    """Return vectors brought to unit length; what has no length stays as it is."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    brought: Vectors = (vectors / np.maximum(norms, 1e-12)).astype(np.float32)
    return brought
