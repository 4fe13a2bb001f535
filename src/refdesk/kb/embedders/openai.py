"""
Any endpoint with ``/v1/embeddings``: OpenAI, Ollama, vLLM, text-embeddings-inference and others.

Texts go in batches; a batch that the endpoint finds too large goes again in halves.  Whatever
passes is tried again.  An answer is taken only if it has one vector of one length for each text.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
import numpy as np
from pydantic import Field, model_validator

from refdesk.config.fields import HeaderSecret
from refdesk.errors import EmbedderError, EngineError
from refdesk.http import HttpRequest, HttpResponse
from refdesk.kb.embedders._base import EMBEDDERS, Embedder, Fetcher, unit
from refdesk.kb.vectors import Vector, Vectors
from refdesk.masking import Masker

_TRY_AGAIN: Final = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 529))
_TOO_LARGE: Final = frozenset((400, 413, 422))
_PASSES: Final = frozenset(("timeout", "unreachable", "upstream_down"))
_LONGEST_PAUSE_S: Final = 30.0
"""The longest wait between two tries, whatever the endpoint asks for."""
MAX_DIMENSION: Final = 65_536
"""Numbers of one vector; longer vectors of an endpoint are an error."""
_MAX_BYTES: Final = 64 * 1024 * 1024
"""Bytes of an embeddings endpoint's answer; a larger one is an error."""
_SHOWN: Final = 200
_READ: Final = 10_000

Sleep = Callable[[float], Awaitable[None]]


class _Row(msgspec.Struct):
    embedding: list[float]
    index: int | None = None


class _Answer(msgspec.Struct):
    data: list[_Row]


@EMBEDDERS.register("openai")
class OpenAi(Embedder):
    """Asks an endpoint."""

    class Options(Embedder.Options):
        """Where it is, and which model."""

        base_url: str = Field(
            "https://api.openai.com/v1", pattern=r"^https?://", description="Up to `/v1`."
        )
        model: str = Field(min_length=1, description="The model's name.")
        api_key: HeaderSecret | None = Field(None, description="Sent as a bearer token.")
        api_key_env: str | None = Field(
            None,
            pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
            description="Instead: the environment variable that holds it.",
        )
        dimensions: int | None = Field(
            None,
            ge=1,
            le=MAX_DIMENSION,
            description="How long vectors are to be, where it can be chosen.",
        )
        batch: int = Field(64, ge=1, le=2048, description="How many texts go in one request.")
        timeout_s: float = Field(60.0, gt=0, description="For one request.")
        attempts: int = Field(4, ge=1, le=10, description="How often one request is tried.")
        query_prefix: str = Field("", description="Put before a question, such as `query: `.")
        passage_prefix: str = Field("", description="Put before a passage.")
        floor: float = Field(
            0.0, ge=0, lt=1, description="The cosine of texts that have nothing in common."
        )
        languages: frozenset[str] | None = Field(
            None, description="The languages it knows (ISO 639-1); unset: no bounds."
        )

        @model_validator(mode="after")
        def _one_key(self) -> OpenAi.Options:
            if self.api_key is not None and self.api_key_env is not None:
                raise ValueError("give api_key or api_key_env, not both")
            return self

    options: Options

    def __init__(self, options: Options, *, fetcher: Fetcher | None = None) -> None:
        super().__init__(options, fetcher=fetcher)
        self.sleep: Sleep = asyncio.sleep
        """How it waits between two tries."""
        self.floor = options.floor
        self.languages = options.languages
        self._dimension = options.dimensions

    @property
    def identity(self) -> str:
        """The model and what is put before texts; the endpoint may move."""
        options = self.options
        more = [f"{options.dimensions} dimensions"] if options.dimensions else []
        if options.query_prefix or options.passage_prefix:
            more.append(f"prefixes {options.query_prefix!r} and {options.passage_prefix!r}")
        return f"openai ({', '.join([options.model, *more])})"

    async def dimension(self) -> int:
        """Return how long vectors are; the endpoint is asked once."""
        if self._dimension is None:
            await self._embed(["dimension"])
        assert self._dimension is not None
        return self._dimension

    async def passages(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text."""
        prefix = self.options.passage_prefix
        parts = []
        for start in range(0, len(texts), self.options.batch):
            batch = texts[start : start + self.options.batch]
            parts.append(await self._embed([prefix + text for text in batch]))
        if not parts:
            return np.zeros((0, await self.dimension()), dtype=np.float32)
        return np.concatenate(parts)

    async def query(self, text: str) -> Vector:
        """Return the vector of a question."""
        vector: Vector = (await self._embed([self.options.query_prefix + text]))[0]
        return vector

    async def _embed(self, texts: list[str]) -> Vectors:
        # An endpoint refuses an empty text, and the whole batch with it.
        asked = [text if text.strip() else "." for text in texts]
        response = await self._send(asked)
        if response.status in _TOO_LARGE and len(texts) > 1:
            half = len(texts) // 2
            return np.concatenate(
                [await self._embed(texts[:half]), await self._embed(texts[half:])]
            )
        if response.status != 200:
            raise EmbedderError(
                f"{self._who} answered {response.status}{self._said(response.body)}"
            )
        return self._read(response.body, len(texts))

    async def _send(self, texts: list[str]) -> HttpResponse:
        if self.fetcher is None:
            raise EmbedderError(f"{self._who} cannot be asked: no connection was given to it")
        options = self.options
        body: dict[str, Any] = {"model": options.model, "input": texts, "encoding_format": "float"}
        if options.dimensions is not None:
            body["dimensions"] = options.dimensions
        headers = [("content-type", "application/json"), ("accept", "application/json")]
        if key := self._key():
            headers.append(("authorization", f"Bearer {key}"))
        request = HttpRequest(
            method="POST",
            url=options.base_url.rstrip("/") + "/embeddings",
            headers=tuple(headers),
            body=msgspec.json.encode(body),
        )
        for attempt in range(1, options.attempts + 1):
            last = attempt == options.attempts
            pause = min(_LONGEST_PAUSE_S, 0.5 * 2 ** (attempt - 1))
            try:
                # The operator chose the endpoint; it may well be on this machine.
                response = await self.fetcher.send(
                    request, timeout_s=options.timeout_s, max_bytes=_MAX_BYTES, public_only=False
                )
            except EngineError as error:
                if last or error.outcome not in _PASSES:
                    raise EmbedderError(f"{self._who} could not be asked: {error}") from error
            else:
                passes = response.status in _TRY_AGAIN or _is_refusal(response)
                if last or not passes:
                    return response
                pause = min(_LONGEST_PAUSE_S, _retry_after(response) or pause)
            await self.sleep(pause)
        raise AssertionError("unreachable")

    def _read(self, body: bytes, count: int) -> Vectors:
        try:
            rows = msgspec.json.decode(body, type=_Answer).data
        except (msgspec.DecodeError, UnicodeDecodeError):
            # Some answer 200 and write the error in the body.
            raise EmbedderError(
                f"{self._who} answered 200 without vectors{self._said(body)}; see whether the "
                "model makes embeddings"
            ) from None
        if len(rows) != count:
            raise EmbedderError(f"{self._who} gave {len(rows)} vectors for {count} texts")
        if all(row.index is not None for row in rows):
            if sorted(row.index or 0 for row in rows) != list(range(count)):
                raise EmbedderError(f"{self._who} gave vectors with wrong numbers")
            rows.sort(key=lambda row: row.index or 0)
        lengths = {len(row.embedding) for row in rows}
        expected = self._dimension or next(iter(lengths))
        if lengths != {expected} or not expected:
            raise EmbedderError(
                f"{self._who} gave vectors of {', '.join(map(str, sorted(lengths)))} dimensions, "
                f"and {expected} were expected: configure the model the collection was made with, "
                "or run `refdesk kb reindex`"
            )
        if expected > MAX_DIMENSION:
            raise EmbedderError(
                f"{self._who} gave vectors of {expected} dimensions, and {MAX_DIMENSION} are"
                " allowed: see whether the model makes embeddings"
            )
        with np.errstate(over="ignore"):
            vectors = np.array([row.embedding for row in rows], dtype=np.float32)
        if not np.isfinite(vectors).all() or not np.abs(vectors).max(axis=1).all():
            raise EmbedderError(f"{self._who} gave vectors that have no direction")
        self._dimension = expected
        return unit(vectors)

    def _key(self) -> str:
        """Return the key, or an empty text where none is sent."""
        options = self.options
        if options.api_key_env is None:
            return options.api_key.get_secret_value() if options.api_key is not None else ""
        key = os.environ.get(options.api_key_env, "").strip()
        if not key:
            raise EmbedderError(
                f"{self._who} cannot be asked: its key is to be in the environment variable"
                f" {options.api_key_env}, which is not set; set it where refdesk runs"
            )
        return key

    @property
    def _who(self) -> str:
        host = urlsplit(self.options.base_url).netloc.rsplit("@", 1)[-1]
        return f"the embedder {self.options.model!r} at {host}"

    def _said(self, body: bytes) -> str:
        """Return what an answer says of its failure, shortened, and without the key."""
        try:
            told = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return ""
        if not isinstance(told, Mapping):
            return ""
        error = told.get("error") or told.get("message") or told.get("base_resp")
        if isinstance(error, Mapping):
            error = error.get("message") or error.get("status_msg")
        if not isinstance(error, str) or not error:
            return ""
        error = Masker([self._key()])(error[:_READ])
        return f": {' '.join(error.split())[:_SHOWN]}"


def _is_refusal(response: HttpResponse) -> bool:
    """Whether an answer is a refusal that says 200, as some write that they are asked too often."""
    if response.status != 200:
        return False
    try:
        told = msgspec.json.decode(response.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return isinstance(told, Mapping) and not told.get("data")


def _retry_after(response: HttpResponse) -> float | None:
    try:
        return max(0.0, float(response.header("retry-after") or ""))
    except ValueError:
        return None
