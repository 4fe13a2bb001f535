"""What a worker of a Ray cluster does: one thing at a time, in a process that is kept."""

from __future__ import annotations

import asyncio
import socket
import tempfile
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from refdesk.errors import ConfigError
from refdesk.kb.embedders import Embedder
from refdesk.kb.ingest.chunk import Piece
from refdesk.kb.ingest.parse import Parsed, ParseLimits, Parser, Refused
from refdesk.kb.ingest.work import read_parted
from refdesk.kb.ports import Vectors


def read_there(
    theirs: str, body: Any, name: str, limits: ParseLimits, chars: int
) -> tuple[Parsed, list[Piece]] | Refused:
    """Read and part a document, whose parser runs in a child process as everywhere."""
    _check_same(theirs)
    with tempfile.NamedTemporaryFile(prefix="refdesk-") as file:
        file.write(body)
        file.flush()
        try:
            return _loop().run(read_parted(_parser(limits), Path(file.name), name, chars))
        except Refused as refused:
            return refused


def embed_there(
    theirs: str, kind: type[Embedder], options: Any, identity: str, texts: Sequence[str]
) -> Vectors:
    """Embed passages by an embedder that this process makes once."""
    _check_same(theirs)
    embedder = _embedder(kind, options)
    if embedder.identity != identity:
        raise ConfigError(
            f"the Ray worker {socket.gethostname()} embeds by {embedder.identity}, and {identity} "
            "is wanted: install the same there"
        )
    return _loop().run(embedder.passages(texts))


def here() -> str:
    """Return the version of Refdesk in this process."""
    return version("refdesk")


def _check_same(theirs: str) -> None:
    """Look again: a machine may have joined after all were asked."""
    if theirs != here():
        raise ConfigError(
            f"the Ray worker {socket.gethostname()} has Refdesk {here()}, and {theirs} asked it: "
            f"run `pip install 'refdesk[ray]=={theirs}'` there"
        )


@cache
def _loop() -> asyncio.Runner:
    return asyncio.Runner()


@cache
def _parser(limits: ParseLimits) -> Parser:
    return Parser(limits)


@cache
def _embedder(kind: type[Embedder], options: Any) -> Embedder:
    return kind(options)
