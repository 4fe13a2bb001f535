"""
A conversation with an exchange, written down and played.

    playbook << Search(...) >> SearchDone(...) << CallUpstream(...) >> UpstreamAnswered(...)
    playbook << Answer(...)

``<<`` says what the exchange must ask for next (or give at its end), ``>>`` what it is told.  What
is expected may be a value, compared whole, or a function that is given the command and asserts.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any


class Playbook:
    """
    Plays one exchange, step by step, as it is written.

    Args:
        course: The exchange, not begun yet.
    """

    def __init__(self, course: Generator[Any, Any, Any]) -> None:
        self._course = course
        self._reply: Any = None
        self.asked: list[Any] = []
        """Everything the exchange asked for so far, and at the end what it gave."""
        self.over = False

    def __lshift__(self, expected: Any) -> Playbook:
        """Let the exchange go on, and compare what it asks for."""
        if self.over:
            raise AssertionError("the exchange is over")
        try:
            said = self._course.send(self._reply)
        except StopIteration as end:
            said = end.value
            self.over = True
        self._reply = None
        self.asked.append(said)
        if isinstance(expected, type):
            assert isinstance(said, expected), f"expected {expected.__name__}, got {said!r}"
        elif isinstance(expected, Callable):  # type: ignore[arg-type]
            expected(said)
        else:
            assert said == expected, f"expected {expected!r}, got {said!r}"
        return self

    def __rshift__(self, reply: Any) -> Playbook:
        """Tell the exchange something; it goes on with the next ``<<``."""
        self._reply = reply
        return self

    @property
    def last(self) -> Any:
        """The last thing the exchange asked for, or gave."""
        return self.asked[-1]
