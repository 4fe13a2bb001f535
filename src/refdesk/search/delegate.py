"""
Steps of a search that somebody else does: an assistant, or a tool of an MCP server.

The search asks through one Protocol; the agent and the MCP client implement it, and the
application hands them in.  A delegate is one source of many: when it fails, the search goes on
as the step that asked says.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol

import msgspec

from refdesk.errors import DelegateError, RefdeskError
from refdesk.uses import Uses

DELEGATE_TIMEOUT_S: Final = 30.0
"""For an assistant or MCP tool to do a step; beyond it the builtin does it."""
_MAX_ANSWER_CHARS: Final = 2_000_000
"""Characters of a delegate's answer; a longer one is an error."""
_WRAPPERS: Final = 4
"""How many layers are taken off an answer: ``next`` around ``data`` around JSON in a fence."""

_THINKING: Final = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE: Final = re.compile(r"```[\w-]*\s*\n?(.*?)```", re.DOTALL)

_at_work: ContextVar[frozenset[Uses]] = ContextVar("refdesk_at_work", default=frozenset())


class Delegate(Protocol):
    """Whoever can do a step for the search."""

    async def call(self, target: Uses, payload: Mapping[str, Any], *, timeout_s: float) -> Any:
        """
        Do the step and return its answer: text, or what its JSON holds.

        Raises:
            RefdeskError: It failed; the message says how, and holds no key.
        """
        ...


class Delegates:
    """
    Calls the delegate that a target belongs to.

    Args:
        assistant: Runs assistants; None where there is no agent runtime.
        mcp: Calls tools of MCP servers; None where none is configured.
    """

    def __init__(self, *, assistant: Delegate | None = None, mcp: Delegate | None = None) -> None:
        self._assistant = assistant
        self._mcp = mcp

    async def call(self, target: Uses, payload: Mapping[str, Any], *, timeout_s: float) -> Any:
        """Have the step done within the time, or raise DelegateError."""
        chosen = self._mcp if target.kind == "mcp" else self._assistant
        if not target.delegated or chosen is None:
            raise DelegateError(_nobody(target))
        return await chosen.call(target, payload, timeout_s=timeout_s)


async def ask(
    delegate: Delegate | None,
    target: Uses,
    payload: Mapping[str, Any],
    *,
    timeout_s: float = DELEGATE_TIMEOUT_S,
) -> Any:
    """
    Ask a delegate, and return its answer unwrapped (see `read_answer`).

    Whatever goes wrong, and however the delegate behaves, it is a DelegateError within the time.
    """
    if delegate is None:
        raise DelegateError(_nobody(target))
    if is_at_work(target):
        raise DelegateError(f"{str(target)!r} is at work already and would be asked by itself")
    try:
        async with asyncio.timeout(timeout_s):
            with _working(target):
                answer = await delegate.call(target, payload, timeout_s=timeout_s)
    except TimeoutError:
        raise DelegateError(
            f"{str(target)!r} gave no answer within {timeout_s:g} s; "
            "make it faster, or set this step to builtin"
        ) from None
    except DelegateError:
        raise
    except RefdeskError as error:
        raise DelegateError(f"{str(target)!r} failed: {error}") from error
    except Exception as error:
        # Its message may hold anything; its kind is enough to know where to look.
        raise DelegateError(f"{str(target)!r} failed with {type(error).__name__}") from error
    return read_answer(answer)


def is_at_work(target: Uses) -> bool:
    """Whether this is called by this delegate, so that it must not be asked again."""
    return target in _at_work.get()


def read_answer(answer: Any) -> Any:
    """
    Return what an answer says, without what is wrapped around it.

    Taken off are ``next`` and ``data`` of an assistant's answer, thinking, code fences, and the
    text around JSON.  Text without JSON stays text.
    """
    for _ in range(_WRAPPERS):
        if isinstance(answer, Mapping):
            inner = answer.get("next") or answer.get("data")
            if not isinstance(inner, (Mapping, list, str)) or not inner:
                return answer
            answer = inner
        elif isinstance(answer, str):
            found = _json_in(answer[:_MAX_ANSWER_CHARS])
            if found is None:
                return _THINKING.sub("", answer).strip()
            answer = found
        else:
            return answer
    return answer


def _json_in(text: str) -> Any:
    text = _THINKING.sub("", text).strip()
    candidates = [text, *(match[1] for match in _FENCE.finditer(text))]
    candidates += [text[text.find(a) : text.rfind(b) + 1] for a, b in ("{}", "[]") if a in text]
    for candidate in candidates:
        try:
            found = msgspec.json.decode(candidate.strip())
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            continue
        if isinstance(found, (dict, list)):
            return found
    return None


@contextmanager
def _working(target: Uses) -> Iterator[None]:
    token = _at_work.set(_at_work.get() | {target})
    try:
        yield
    finally:
        _at_work.reset(token)


def _nobody(target: Uses) -> str:
    if target.kind == "mcp":
        return f"no MCP server can be called for {str(target)!r}; configure it under mcp_servers"
    if target.kind == "assistant":
        return f"no assistant runtime is here to run {str(target)!r}; set this step to builtin"
    return f"{str(target)!r} is nobody to delegate to"
