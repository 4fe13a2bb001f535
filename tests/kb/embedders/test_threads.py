"""Threads that embed stand back, and keep questions apart from batches."""

from __future__ import annotations

import asyncio
import os
import sys
import threading

import pytest

from refdesk.kb.embedders._threads import NICENESS, embed_passages, embed_question


@pytest.mark.skipif(sys.platform != "linux", reason="threads have a priority of their own on Linux")
async def test_passages_stand_back_and_questions_do_not() -> None:
    """Passages are embedded at lower priority than everything else in the process."""

    def niceness() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    own = niceness()
    assert await embed_passages(niceness) == NICENESS
    assert await embed_question(niceness) == own
    assert niceness() == own


async def test_a_question_does_not_wait_behind_a_batch() -> None:
    """A batch under way, and others behind it, hold no question up; batches run one by one."""
    begun, go_on = threading.Event(), threading.Event()
    running: list[int] = []

    def batch() -> int:
        running.append(1)
        begun.set()
        go_on.wait(10)
        most = len(running)
        running.pop()
        return most

    batches = [asyncio.ensure_future(embed_passages(batch)) for _ in range(3)]
    await asyncio.to_thread(begun.wait, 10)
    assert await embed_question(lambda: "answered") == "answered"
    go_on.set()
    assert await asyncio.gather(*batches) == [1, 1, 1]
