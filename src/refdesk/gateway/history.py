"""
Our own marks: rows sealed into an answer, and opened again when a client sends them back.

Any replica that holds the store's key can read them, after any restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

import msgspec

from refdesk.types import ResultItem
from refdesk.wires.base import Source

_PURPOSE: Final = b"search-row"
MAX_SEALED_SNIPPET: Final = 500
"""What a client carries along for every result, on every later turn."""


class Sealer(Protocol):
    """Seals and opens under the store's key."""

    def seal(self, plaintext: bytes, *, purpose: bytes) -> str:
        """Return ``rd1.`` and the sealed bytes, fit for a JSON string."""

    def open(self, token: str, *, purpose: bytes) -> bytes | None:
        """Return what was sealed; None for anything else."""

    def mac(self, data: bytes) -> bytes:
        """Return a keyed hash."""


class KeySealer:
    """
    A sealer whose tokens open for one client key only, or only without one.

    Args:
        sealer: Seals under the store's key.
        key_id: The client key; None: the request bore none and needed none.
    """

    def __init__(self, sealer: Sealer, key_id: str | None) -> None:
        self._sealer = sealer
        self._owner = f"/{key_id}".encode() if key_id is not None else b""

    def seal(self, plaintext: bytes, *, purpose: bytes) -> str:
        """Return a token that opens for the same owner."""
        return self._sealer.seal(plaintext, purpose=purpose + self._owner)

    def open(self, token: str, *, purpose: bytes) -> bytes | None:
        """Return what was sealed for this owner; None for anything else."""
        return self._sealer.open(token, purpose=purpose + self._owner)

    def mac(self, data: bytes) -> bytes:
        """Return a keyed hash, the same for every owner."""
        return self._sealer.mac(data)


class _Row(msgspec.Struct, array_like=True):
    url: str
    title: str
    snippet: str
    published: str | None = None


_DECODER: Final = msgspec.json.Decoder(_Row)


def seal_sources(items: Sequence[ResultItem], sealer: Sealer) -> tuple[Source, ...]:
    """Return the items as numbered sources, each with its sealed row."""
    return tuple(
        Source(
            url=item.url,
            title=item.title,
            snippet=item.content[:MAX_SEALED_SNIPPET],
            published=item.published,
            sealed=sealer.seal(
                msgspec.json.encode(
                    _Row(item.url, item.title, item.content[:MAX_SEALED_SNIPPET], item.published)
                ),
                purpose=_PURPOSE,
            ),
        )
        for item in items
    )


def open_rows(tokens: Iterable[str], sealer: Sealer) -> dict[str, Source]:
    """Return the rows of those tokens that can be opened."""
    rows: dict[str, Source] = {}
    for token in tokens:
        data = sealer.open(token, purpose=_PURPOSE)
        if data is None:
            continue
        try:
            row = _DECODER.decode(data)
        except msgspec.DecodeError:
            continue
        rows[token] = Source(
            url=row.url,
            title=row.title,
            snippet=row.snippet,
            published=row.published,
            sealed=token,
        )
    return rows


def marker(data: bytes, sealer: Sealer) -> str:
    """Return a label that cannot be guessed and that repeats for the same data."""
    return sealer.mac(data)[:8].hex()
