"""Should this step of the conversation search?  The first rule that fires decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from refdesk.wires.base import Conversation, SearchTool

Verdict = Literal["search", "reuse", "no"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """What this step does about search, and the rule that said so."""

    verdict: Verdict
    rule: str
    forced: bool = False
    """The client insists on a search: an empty result is shown as one."""


def decide_step(
    tool: SearchTool | None, conversation: Conversation, *, searched_before: bool
) -> Step:
    """
    Apply the step rule.

    Args:
        tool: The client's declaration, if any.
        conversation: The facts of its messages.
        searched_before: The last user text was searched already in this conversation, as the
            history or, on a wire whose history says nothing, our own records tell.
    """
    if tool is None:
        return Step(verdict="no", rule="no search is declared")
    if tool.background:
        return Step(verdict="no", rule="a background response is fetched later")
    if tool.choice == "none":
        return Step(verdict="no", rule="the tool choice is none")
    if tool.choice == "other":
        return Step(verdict="no", rule="the tool choice names another tool")
    if not tool.live:
        return Step(verdict="no", rule="external_web_access is false")
    if tool.max_uses is not None and tool.max_uses <= 0:
        return Step(verdict="no", rule="max_uses is 0")
    if conversation.awaits_server_tool:
        return Step(verdict="no", rule="a hosted tool call of the last answer waits for its result")
    searched = searched_before or conversation.own_search_since
    if conversation.unasked:
        # Titles, retries, summaries: what a client writes is never looked up.
        if searched:
            return Step(verdict="reuse", rule="the last user text was searched already")
        return Step(verdict="no", rule="the client wrote last, and no user")
    if tool.choice == "search" or (tool.alone and tool.choice == "required"):
        return Step(verdict="search", rule="the tool choice forces it", forced=True)
    if tool.alone:
        return Step(verdict="search", rule="it is the only tool")
    if searched:
        return Step(verdict="reuse", rule="the last user text was searched already")
    if conversation.ends_with_tool_output:
        return Step(verdict="no", rule="the input ends with tool outputs")
    return Step(verdict="search", rule="a new user text")
