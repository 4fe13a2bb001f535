"""Whether a step searches: the first rule that fires, each alone and before the next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from refdesk.gateway.steps import decide_step
from refdesk.wires.base import Conversation, SearchTool

TEXT = Conversation(user_texts=("When?",))
AFTER_TOOLS = replace(TEXT, ends_with_tool_output=True)
SEARCHED = replace(TEXT, own_search_since=True)
UNASKED = replace(TEXT, unasked=("Generate a title for this chat",))
WAITS = replace(TEXT, awaits_server_tool=True)
UNASKED = replace(TEXT, unasked=True)
FREE = SearchTool()
FORCED = SearchTool(choice="search")
ALONE = SearchTool(alone=True)

TABLE = [
    (None, TEXT, False, "no", "no search is declared"),
    (replace(FORCED, background=True), TEXT, False, "no", "background"),
    (SearchTool(choice="none", alone=True), TEXT, False, "no", "choice is none"),
    (SearchTool(choice="other"), TEXT, False, "no", "another tool"),
    (replace(FORCED, live=False), TEXT, False, "no", "external_web_access"),
    (replace(FORCED, max_uses=0), TEXT, False, "no", "max_uses"),
    (FORCED, WAITS, False, "no", "waits"),
    (FORCED, UNASKED, False, "no", "the client wrote last"),
    (ALONE, UNASKED, True, "reuse", "already"),
    (FORCED, AFTER_TOOLS, True, "search", "forces"),
    (SearchTool(choice="required", alone=True), TEXT, False, "search", "forces"),
    (SearchTool(choice="required"), TEXT, False, "search", "new user text"),
    (ALONE, AFTER_TOOLS, True, "search", "only tool"),
    (FREE, AFTER_TOOLS, True, "reuse", "already"),
    (FREE, SEARCHED, False, "reuse", "already"),
    (FREE, AFTER_TOOLS, False, "no", "tool outputs"),
    (FREE, UNASKED, False, "no", "client wrote last"),
    (ALONE, UNASKED, False, "no", "client wrote last"),
    (FORCED, UNASKED, False, "no", "client wrote last"),
    (ALONE, UNASKED, True, "reuse", "already"),
    (FREE, replace(UNASKED, own_search_since=True), False, "reuse", "already"),
    (replace(FREE, max_uses=1), TEXT, False, "search", "new user text"),
]


@pytest.mark.parametrize(("tool", "conversation", "before", "verdict", "rule"), TABLE)
def test_table(
    tool: SearchTool | None, conversation: Conversation, before: bool, verdict: str, rule: str
) -> None:
    """The rule is told with the verdict."""
    step = decide_step(tool, conversation, searched_before=before)
    assert (step.verdict, rule in step.rule) == (verdict, True), step
    assert step.forced == ("forces" in rule)
