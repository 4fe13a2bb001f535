"""
Threads for models that run in this process.

Passages are embedded one batch at a time, in a thread of lower priority: a flood of documents takes
what processor time others leave, and none of the threads that short work waits for.  Questions have
threads of their own, so that none waits behind a batch.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, TypeVar

T = TypeVar("T")

NICENESS: Final = 10
"""How far work on documents stands back where processors are short (``nice``)."""


def stand_back() -> None:
    """Lower the priority of this thread and of those that it starts, where the system can."""
    with contextlib.suppress(OSError, AttributeError):
        # On Linux a thread has a niceness of its own, by its number.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


_PASSAGES: Final = ThreadPoolExecutor(1, "embed passages", initializer=stand_back)
_QUESTIONS: Final = ThreadPoolExecutor(2, "embed questions")


async def embed_passages(embed: Callable[..., T], *args: Any, **named: Any) -> T:
    """Run a function that embeds passages; batches wait for each other, in order."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_PASSAGES, partial(embed, *args, **named))


async def embed_question(embed: Callable[..., T], *args: Any, **named: Any) -> T:
    """Run a function that embeds a question."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_QUESTIONS, partial(embed, *args, **named))
