"""
Calls that a provider runs itself, and their results: which are whole, whose they are, what waits.

A call and its result are one: sent without its half, either is refused.  Calls from code (types
since ``web_search_20260209``) belong to the code's own call, and go or stay with it.  Only a call
in the last assistant message can wait for its result: the answer broke off there, or called the
client's tools in the same breath
(https://platform.claude.com/docs/en/agents-and-tools/tool-use/server-tools).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from msgspec import Raw

from refdesk.wires.base import Kept
from refdesk.wires.document import elements, kind, string
from refdesk.wires.messages.blocks import SEALED, content_blocks, is_own_call, opened, text_of

SIGNS: Final = (b"server_tool_use", b"mcp_tool_use", b"_tool_result")
"""What a message with such a block holds."""
_CALLS: Final = ("server_tool_use", "mcp_tool_use")


@dataclass(slots=True)
class Call:
    """A call of a provider, or of ours."""

    name: str
    query: str
    parent: str
    """The call of the code that it was made from; else empty."""
    at: int
    """The place of its message."""
    answered: bool = False
    """Its result stands somewhere after it."""
    whole: bool = False
    """Its result stands where the provider takes it."""
    payloads: list[str] = field(default_factory=list)
    """What of its result only the provider can read."""
    waits: bool = False


def is_call(type_: str | None) -> bool:
    """Whether a block of this type is a call that a provider runs."""
    return type_ in _CALLS


def is_result(type_: str | None) -> bool:
    """Whether a block of this type is the result of such a call; ``tool_result`` is a client's."""
    return type_ is not None and type_.endswith("_tool_result")


def caller_of(block: dict[str, Raw]) -> str:
    """Return the id of the call of the code that made this one; else an empty string."""
    return string(opened(block.get("caller")).get("tool_id")) or ""


def calls_in(messages: Sequence[Raw]) -> dict[str, Call]:
    """Return the calls of a history by their ids, each with its result."""
    calls: dict[str, Call] = {}
    turns = _Turns(messages)
    for at, block in _blocks(messages):
        type_ = string(block.get("type"))
        if is_call(type_):
            calls[string(block.get("id")) or ""] = Call(
                name=string(block.get("name")) or "",
                query=string(opened(block.get("input")).get("query")) or "",
                parent=caller_of(block),
                at=at,
            )
        elif is_result(type_):
            call = calls.get(string(block.get("tool_use_id")) or "")
            if call is not None and not call.answered:
                call.answered = True
                call.whole = turns.meet(call.at, at)
                call.payloads = list(_payloads(block.get("content")))
    waiting = {name for name, call in calls.items() if not call.answered}
    for name in waiting & _last_calls(messages):
        calls[name].waits = True
    return calls


def staying(calls: Mapping[str, Call], kept: Kept | None) -> set[str]:
    """
    Return the ids of the calls that stay, with their results, for an upstream.

    A call from code goes with the code's, and takes it and the others along.

    Args:
        calls: Those of the history.
        kept: The marks that the upstream made itself; None where it makes none.
    """
    if kept is None:
        return set()
    roots = _roots(calls)
    gone = {
        roots[name]
        for name, call in calls.items()
        if not _stays(name, call, kept) or (call.parent and call.parent not in calls)
    }
    return {name for name in calls if roots[name] not in gone}


def _stays(name: str, call: Call, kept: Kept) -> bool:
    return (
        (call.whole or call.waits)
        and not is_own_call(name)
        and kept.has_id(name)
        and all(kept.has_payload(each) and not each.startswith(SEALED) for each in call.payloads)
    )


def _roots(calls: Mapping[str, Call]) -> dict[str, str]:
    """Return the outermost call of each; calls in a circle have one of them."""
    roots: dict[str, str] = {}
    for name in calls:
        way: list[str] = []
        at = name
        while at in calls and at not in roots:
            roots[at] = at  # Where the way leads back to itself it ends here.
            way.append(at)
            at = calls[at].parent or at
        for each in way:
            roots[each] = roots.get(at, way[-1])
    return roots


def awaits_result(messages: Sequence[Raw]) -> bool:
    """Whether a provider's call waits for its result: nothing may be added before it came."""
    if not any(sign in bytes(raw) for raw in messages for sign in SIGNS):
        return False
    return any(call.waits for name, call in calls_in(messages).items() if not is_own_call(name))


def _blocks(messages: Sequence[Raw]) -> Iterator[tuple[int, dict[str, Raw]]]:
    for at, raw in enumerate(messages):
        data = bytes(raw)
        if any(sign in data for sign in SIGNS):
            for block in content_blocks(opened(raw)):
                yield at, opened(block)


def _payloads(content: Raw | None) -> Iterator[str]:
    """Yield what is encrypted in a result, an empty text where a search result lacks it."""
    tables = elements(content) if content is not None and kind(content) == "array" else [content]
    for raw in tables:
        table = opened(raw)
        if string(table.get("type")) == "web_search_result":
            yield string(table.get("encrypted_content")) or ""
        elif "encrypted_stdout" in table:
            yield string(table.get("encrypted_stdout")) or ""


class _Turns:
    """Tells whether a call and its result may stand so far apart; each message is read once."""

    def __init__(self, messages: Sequence[Raw]) -> None:
        self._messages = messages
        self._parting: list[int] = []

    def meet(self, at: int, result_at: int) -> bool:
        """Return whether nothing but tool results of the client stands between two messages."""
        if result_at <= at + 1:
            return True
        if not self._parting:
            parts = (not _is_between(opened(raw)) for raw in self._messages)
            self._parting = [0, *accumulate(parts)]
        return self._parting[at + 1] == self._parting[result_at]


def _is_between(message: dict[str, Raw]) -> bool:
    role = string(message.get("role"))
    return role not in ("user", "assistant") or (role == "user" and _holds_results_only(message))


def _holds_results_only(message: dict[str, Raw]) -> bool:
    blocks = content_blocks(message)
    return bool(blocks) and all(
        string(opened(block).get("type")) == "tool_result" for block in blocks
    )


def _last_calls(messages: Sequence[Raw]) -> set[str]:
    """Return the ids of the calls that may still wait."""
    for at in range(len(messages) - 1, -1, -1):
        message = opened(messages[at])
        if string(message.get("role")) == "assistant":
            if not all(_is_between(opened(raw)) for raw in messages[at + 1 :]):
                return set()
            ends = all(string(opened(raw).get("role")) != "user" for raw in messages[at + 1 :])
            return _calls_of(message, before_text=ends)
    return set()


def _calls_of(message: dict[str, Raw], *, before_text: bool) -> set[str]:
    """Return a message's calls; where it is to be continued, those that no text follows."""
    names: set[str] = set()
    for block in content_blocks(message):
        table = opened(block)
        if is_call(string(table.get("type"))):
            names.add(string(table.get("id")) or "")
        elif before_text and (text_of(table) or "").strip():
            names.clear()
    return names
