"""The thread in which Ray is called: some of its calls never return, and must hold up nobody."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class RayThread:
    """
    Calls functions, one after the other, until `end`.

    It lasts, since what Ray starts ends with the thread that started it; and no exit waits for it.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._started = False

    def call(self, function: Callable[..., T], *args: Any) -> Future[T]:
        """Have a function called; what it returns or raises is the future's."""
        if not self._started:
            threading.Thread(target=self._run, name="ray", daemon=True).start()
            self._started = True
        done: Future[T] = Future()

        def call() -> None:
            if done.set_running_or_notify_cancel():
                try:
                    done.set_result(function(*args))
                except BaseException as exc:
                    done.set_exception(exc)

        self._calls.put(call)
        return done

    def end(self) -> None:
        """Let it end, once it has called what it was given."""
        self._calls.put(None)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            call()
