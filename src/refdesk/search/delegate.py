"""
Steps of a search that somebody else does: an assistant, or a tool of an MCP server.

The search asks through one Protocol; the agent and the MCP client implement it, and the
application hands them in.  A delegate is one source of many: when it fails, the search goes on
as the step that asked says.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
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

_THINKING: Final = re.compile(r"<(/?)think(?:ing)?>")
_FENCE: Final = re.compile(r"```[\w-]*+\s*+(.*?)```", re.DOTALL)


class Delegate(Protocol):
    """What can do a step for the search."""

    async def call(self, target: Uses, payload: Mapping[str, Any], *, timeout_s: float) -> Any:
        """
        Do the step and return its answer: text, or what its JSON holds.

        Raises:
            RefdeskError: It failed; the message says how, and holds no key.
        """
        ...


class Assistants(Protocol):
    """The agent runtime, as the search sees it."""

    async def call(
        self, target: Uses, payload: Mapping[str, Any], *, timeout_s: float, within: Delegates
    ) -> Any:
        """
        Do the step and return its answer; see `Delegate.call`.

        Args:
            target: The assistant.
            payload: What it is asked.
            timeout_s: How long it may take, in seconds.
            within: Hand this to the searches that the assistant does: it refuses to call the
                assistant from within itself.
        """
        ...


class Delegates:
    """
    Calls the delegate that a target belongs to; never one that is at work already.

    Args:
        assistant: Runs assistants; None where there is no agent runtime.
        mcp: Calls tools of MCP servers; None where none is configured.
        at_work: The targets on whose behalf this calls: they would be asked by themselves.
    """

    def __init__(
        self,
        *,
        assistant: Assistants | None = None,
        mcp: Delegate | None = None,
        at_work: frozenset[Uses] = frozenset(),
    ) -> None:
        self._assistant = assistant
        self._mcp = mcp
        self.at_work = at_work

    async def call(self, target: Uses, payload: Mapping[str, Any], *, timeout_s: float) -> Any:
        """Have the step done within the time, or raise DelegateError."""
        if target in self.at_work:
            raise DelegateError(f"{str(target)!r} is at work already and would be asked by itself")
        if target.kind == "mcp" and self._mcp is not None:
            return await self._mcp.call(target, payload, timeout_s=timeout_s)
        if target.delegated and target.kind != "mcp" and self._assistant is not None:
            within = Delegates(
                assistant=self._assistant, mcp=self._mcp, at_work=self.at_work | {target}
            )
            return await self._assistant.call(target, payload, timeout_s=timeout_s, within=within)
        raise DelegateError(_nobody(target))


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
    try:
        async with asyncio.timeout(timeout_s):
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


def is_at_work(delegate: Delegate | None, target: Uses) -> bool:
    """Return whether a target's own step is under way, so that it must not be asked again."""
    return isinstance(delegate, Delegates) and target in delegate.at_work


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
                return _without_thinking(answer)
            answer = found
        else:
            return answer
    return answer


def _without_thinking(text: str) -> str:
    """Return a text without its closed blocks of thinking; one that is never closed stays."""
    kept: list[str] = []
    at, opened = 0, -1
    for tag in _THINKING.finditer(text):
        if not tag[1]:
            opened = tag.start() if opened < 0 else opened
        elif opened >= 0:
            kept.append(text[at:opened])
            at, opened = tag.end(), -1
    return "".join((*kept, text[at:])).strip()


def _json_in(text: str) -> Any:
    text = _without_thinking(text)
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


def _nobody(target: Uses) -> str:
    if target.kind == "mcp":
        return f"no MCP server can be called for {str(target)!r}; configure it under mcp_servers"
    if target.kind == "assistant":
        return f"no assistant runtime is here to run {str(target)!r}; set this step to builtin"
    return f"{str(target)!r} is nobody to delegate to"
