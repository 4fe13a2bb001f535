"""
Documents read by a child process, with a limit on its time and memory.

Nothing that a document holds is looked at in this process: only its size, and the child's answer.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from refdesk.kb.ingest.chunk import Piece, Shape

COMMAND: Final = (sys.executable, "-I", "-m", "refdesk.kb.ingest.parse_child")
_ENVIRONMENT: Final = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT")
_GRACE_S: Final = 5.0
"""So much later a child ends by itself: whoever asked it was killed."""
_RENEW_AFTER: Final = 200
"""Parsers keep some memory of each document; a child reads so many and is replaced."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ParseLimits:
    """What one document may cost."""

    seconds: float = 30.0
    memory: int = 1024 * 1024 * 1024
    bytes: int = 256 * 1024 * 1024
    characters: int = 20_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Parsed:
    """What a document says."""

    text: str = field(repr=False)
    shape: Shape
    mime: str
    content_hash: str
    """Of the very bytes that were read."""
    title: str = ""
    pages: tuple[int, ...] = ()
    """Where each page begins in the text; empty where the format has no pages."""
    blank_pages: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    """What was left out, a phrase each."""
    encoding: str | None = None
    parser: str = ""
    held: int = 0
    """Letters, digits and signs in the file, by a second reader; 0 where there is none."""
    lost: int = 0
    """How many of these the text lacks."""


class Refused(Exception):
    """
    A document was not read.  The message is the end of a sentence that begins with its name.

    Args:
        message: Why, with the remedy.
        status: ``empty`` where it was read and holds no text.
        pages: How many it has, where that is known.
    """

    def __init__(
        self,
        message: str,
        *,
        status: Literal["failed", "empty"] = "failed",
        content_hash: str = "",
        mime: str = "",
        pages: int | None = None,
        blank_pages: tuple[int, ...] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.content_hash = content_hash
        self.mime = mime
        self.pages = pages
        self.blank_pages = blank_pages


class _Answer(msgspec.Struct, kw_only=True):
    ok: bool
    hash: str = ""
    status: Literal["failed", "empty"] = "failed"
    error: str = ""
    text: str = ""
    shape: Shape = "plain"
    mime: str | None = None
    title: str = ""
    pages: list[int] | None = None
    blank: list[int] | None = None
    notes: list[str] = []
    encoding: str | None = None
    parser: str | None = None
    held: int = 0
    lost: int = 0


class _Parts(msgspec.Struct, kw_only=True):
    ok: bool
    error: str = ""
    pieces: list[tuple[int, int, str, tuple[str, ...], int | None, str]] = []


class Parser:
    """
    Reads documents and parts them, several at once if asked to, each in a child that does one.

    Args:
        limits: What one document may cost.
        command: What starts a child; the memory limit is added as its last argument.
    """

    def __init__(
        self, limits: ParseLimits | None = None, *, command: tuple[str, ...] = COMMAND
    ) -> None:
        self.limits = limits or ParseLimits()
        self._command = command
        self._idle: list[_Child] = []

    async def read(self, path: Path, name: str) -> Parsed:
        """
        Return what a document says.

        Args:
            path: Where its bytes are.
            name: What it is called, for what the bytes do not tell.

        Raises:
            Refused: It cannot be read, must not be, or has no text.
        """
        limits = self.limits
        await asyncio.to_thread(check_size, path, limits)
        # A name from a file system may hold bytes that are no UTF-8.
        plain = name.encode("utf-8", "replace").decode()
        place = os.fsencode(path).hex()
        asked = {"path": place, "name": plain, "max_chars": limits.characters}
        return parsed(await self._ask(asked))

    async def part(
        self, text: str, *, shape: Shape, chars: int, pages: Sequence[int] = ()
    ) -> list[Piece]:
        """
        Return the passages of a text; see `refdesk.kb.ingest.chunk.parted`.

        Raises:
            Refused: It takes more time or memory than is allowed, or has too many passages.
        """
        asked = {"text": text, "shape": shape, "chars": chars, "pages": list(pages)}
        return pieces(await self._ask(asked), text)

    async def _ask(self, asked: dict[str, Any]) -> bytes:
        """Return a child's answer, as JSON, within the limits."""
        limits = self.limits
        child = self._idle.pop() if self._idle else await self._start()
        keep = False
        try:
            async with asyncio.timeout(limits.seconds):
                body = await child.ask(asked | {"seconds": limits.seconds + _GRACE_S})
            # One that ran out of memory may have gone wrong in ways that show later.
            keep = b'"it needs more memory' not in body[:400] and child.asked < _RENEW_AFTER
        except TimeoutError:
            raise Refused(
                f"it took longer to read than the {limits.seconds:g} s allowed: split it, or save"
                " it in another format"
            ) from None
        except (asyncio.IncompleteReadError, ValueError, ConnectionError):
            raise Refused(
                "its parser died over it, most likely for want of memory"
                f" ({limits.memory // 1048576} MiB are allowed): split it, or save it in another"
                " format"
            ) from None
        finally:
            if keep:
                self._idle.append(child)
            else:
                await child.end()
        return body

    async def aclose(self) -> None:
        """End all children."""
        while self._idle:
            await self._idle.pop().end()

    async def _start(self) -> _Child:
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        process = await asyncio.create_subprocess_exec(
            *self._command,
            str(self.limits.memory),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        return _Child(process)


def check_size(path: Path, limits: ParseLimits) -> None:
    """Raise Refused of a file that is too large, or cannot be looked at."""
    try:
        size = path.stat().st_size
    except OSError as exc:
        raise Refused(f"it cannot be opened ({exc.strerror})") from None
    if size > limits.bytes:
        raise Refused(f"it has {size} bytes, and {limits.bytes} are allowed: split it")


class _Child:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.asked = 0

    async def ask(self, asked: dict[str, Any]) -> bytes:
        """Return the answer about one document or text, as JSON."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        self.asked += "path" in asked
        stdin.write(msgspec.json.encode(asked) + b"\n")
        await stdin.drain()
        length = int(await stdout.readline())
        return await stdout.readexactly(length)

    async def end(self) -> None:
        """End it and whatever it started."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        transport = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()


def parsed(body: bytes) -> Parsed:
    """Return what a child's answer, as JSON, says of a document; Refused if it says why not."""
    answer = msgspec.json.decode(body, type=_Answer)
    if not answer.ok:
        raise Refused(
            answer.error,
            status=answer.status,
            content_hash=answer.hash,
            mime=answer.mime or "",
            pages=len(answer.pages) if answer.pages else None,
            blank_pages=tuple(answer.blank or ()),
        )
    return Parsed(
        text=answer.text,
        shape=answer.shape,
        mime=answer.mime or "",
        content_hash=answer.hash,
        title=" ".join(answer.title.split())[:500],
        pages=tuple(answer.pages or ()),
        blank_pages=tuple(answer.blank or ()),
        notes=tuple(answer.notes),
        encoding=answer.encoding,
        parser=answer.parser or "",
        held=answer.held,
        lost=answer.lost,
    )


def pieces(body: bytes, text: str) -> list[Piece]:
    """Return the passages that a child's answer, as JSON, tells of a text; or raise Refused."""
    answer = msgspec.json.decode(body, type=_Parts)
    if not answer.ok:
        raise Refused(answer.error)
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}
    return [
        Piece(
            text=header + text[start:end],
            start=start,
            end=end,
            heading=shared.setdefault(heading, heading),
            page=page,
            lead=lead,
        )
        for start, end, header, heading, page, lead in answer.pieces
    ]
