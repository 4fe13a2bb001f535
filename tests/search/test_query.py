"""The query of a conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.errors import DelegateError
from refdesk.search.extracting import ExtractedQuery
from refdesk.search.query import QueryResolver, query_from
from refdesk.uses import Uses


def talk(*said: str) -> list[dict[str, Any]]:
    """Return a conversation: the user's words at even places, the assistant's between them."""
    roles = ("user", "assistant")
    return [{"role": roles[place % 2], "content": text} for place, text in enumerate(said)]


def test_last_user_text() -> None:
    """Only the last thing the user said is the query, never what stands before it."""
    messages = [
        {"role": "system", "content": "Be brief."},
        *talk("Tell me about bees", "They buzz.", "Which plants feed butterflies?"),
        {"role": "assistant", "content": "Let me see."},
    ]
    assert query_from(messages) == ExtractedQuery(text="Which plants feed butterflies?")


@pytest.mark.parametrize(
    "content",
    [
        "Which plants feed bees?",
        [{"type": "text", "text": "Which plants"}, {"type": "text", "text": "feed bees?"}],
        [{"type": "input_text", "text": "Which plants feed bees?"}, {"type": "input_image"}],
        ["Which plants feed bees?"],
        "<system-reminder>be nice</system-reminder>Which plants\n feed bees?",
    ],
)
def test_parts(content: Any) -> None:
    """Text parts are joined; images and what clients wrap round the words are left out."""
    assert query_from([{"role": "user", "content": content}]).text == "Which plants feed bees?"


def test_tool_results_are_not_the_user() -> None:
    """A user message that holds tool results only is passed over."""
    result = {"type": "tool_result", "content": "bees", "text": "wasps"}
    messages = [
        *talk("Which plants feed bees?", "One moment."),
        {"role": "user", "content": [result]},
        {"role": "tool", "content": "ants"},
    ]
    assert query_from(messages).text == "Which plants feed bees?"


@pytest.mark.parametrize(
    "messages",
    [
        *[[], [{}], [{"role": "user"}], [{"role": "user", "content": None}]],
        [{"role": "user", "content": [{"type": "text", "text": 5}, 7]}],
        [{"role": "assistant", "content": "hello"}],
        ["no mapping"],
    ],
)
def test_nothing_said(messages: Any) -> None:
    """Without a word of the user the query is empty."""
    assert query_from(messages) == ExtractedQuery(text="")


def test_secrets_are_cut() -> None:
    """Secrets go, from the words themselves and from those a follow-up takes over."""
    key = "sk-abcdefghijklmn0123456789"
    first = f"With key {key}, what is the population of France?"
    found = query_from(talk(first))
    assert key not in found.text
    assert found.removed == ("an API key",)
    assert key not in query_from(talk(first, "68 million", "and of Spain?")).text


def test_follow_up() -> None:
    """A follow-up is completed, also from one that was completed itself, across thanks."""
    messages = talk(
        *("What is the population of France?", "68 million", "and of Spain?", "48 million"),
        *("Thanks!", "You are welcome.", "and in 1990?"),
    )
    assert query_from(messages) == ExtractedQuery(
        text="What is the population of Spain in 1990?", said="and in 1990?"
    )


def test_new_topic_is_its_own_frame() -> None:
    """A follow-up refers to the question right before it, not to an older one."""
    messages = talk("population of France?", "68 million", "Who wrote Dune?", "…", "and of Spain?")
    assert query_from(messages) == ExtractedQuery(text="and of Spain?", unresolved=True)


@pytest.mark.parametrize("reply", ["are you sure?", "check again", "No, check again."])
def test_a_reply_asks_the_question_again(reply: str) -> None:
    """A doubt means the question before it, across other doubts and what the client wrote."""
    messages = talk(
        *("What is the population of France?", "68 million", "and of Spain?", "48 million"),
        *("really?", "Yes.", "<system-reminder>x</system-reminder>", "Well.", reply),
    )
    assert query_from(messages) == ExtractedQuery(
        text="What is the population of Spain?", said=reply
    )


def test_a_reply_to_nothing() -> None:
    """Without a question before it a doubt asks nothing, and the reason is told."""
    found = query_from(talk("are you sure?"))
    assert (found.text, found.said) == ("", "are you sure?")
    assert "reply" in found.why


@pytest.mark.parametrize(
    "last",
    [
        "Generate a short title for this chat",
        "<system-reminder>private</system-reminder>",
        "Validation Error found:\nx\nRecall the function correctly, fix the errors",
    ],
)
def test_a_client_wrote_last(last: str) -> None:
    """What a client writes is no query, and no older question is asked in its stead."""
    found = query_from(talk("Which plants feed bees?", "Clover.", last))
    assert found.text == ""
    assert found.author != "user"
    assert found.why


def test_a_reminder_behind_the_question() -> None:
    """What a client writes right behind its user's words does not hide them."""
    messages = [
        *talk("Which plants feed bees?"),
        {"role": "user", "content": "<skill>\nprivate\n</skill>"},
    ]
    assert query_from(messages).text == "Which plants feed bees?"


def test_unresolved() -> None:
    """A follow-up without a rule stays as it was said; a first question is none."""
    assert query_from(talk("Who wrote Dune?", "Herbert", "when did he die?")) == ExtractedQuery(
        text="when did he die?", unresolved=True
    )
    assert not query_from(talk("when did he die?")).unresolved


def test_limit() -> None:
    """The query is cut to the limit, at a word."""
    assert query_from(talk("one two three four"), max_chars=14).text == "one two three"


class Answering:
    """A delegate that answers with what it was given."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.calls: list[Mapping[str, Any]] = []

    async def call(self, target: Uses, payload: Mapping[str, Any], *, timeout_s: float) -> Any:
        self.calls.append(payload)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


DUNE = talk("Who wrote Dune? My key: sk-abcdefghijklmn0123456789", "Herbert", "when did he die?")
DEATH = "When did Frank Herbert die?"


@pytest.mark.parametrize(
    "answer",
    [
        *[DEATH, f"  {DEATH}\n", {"query": DEATH}, {"data": {"query": DEATH}}, [DEATH, "more"]],
        {"queries": [DEATH, "more"]},
        f'<think>He means Herbert.</think>{{"queries": ["{DEATH}"]}}',
        f'```json\n{{"query": "{DEATH}"}}\n```',
        {"content": [{"type": "text", "text": f'{{"query": "{DEATH}"}}'}]},
        {"content": [{"type": "text", "text": DEATH}]},
    ],
)
async def test_delegate_completes(answer: Any) -> None:
    """The delegate's query is taken, in every form that models give it."""
    found = await QueryResolver(Uses.parse("rewriter"), Answering(answer)).query_from(DUNE)
    assert found == ExtractedQuery(text=DEATH, said="when did he die?")


async def test_delegate_sees_little() -> None:
    """It sees the question and a few messages before it, without secrets."""
    delegate = Answering(DEATH)
    await QueryResolver(Uses.parse("rewriter"), delegate).query_from([*DUNE[:2] * 20, DUNE[2]])
    (payload,) = delegate.calls
    assert payload["action"] == "rewrite"
    assert payload["query"] == "when did he die?"
    assert len(payload["context"]) == 5
    assert payload["context"][-1] == {"role": "assistant", "content": "Herbert"}
    assert "sk-abc" not in str(payload)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (DelegateError("it is down"), "it is down"),
        ("<think>hm", "no query"),
        ("First line.\nSecond line.", "no query"),
        ("x" * 500, "no query"),
        ({"isError": True, "content": []}, "reported an error"),
        *[(odd, "no query") for odd in (None, 5, {}, [], {"query": ""}, {"query": 7})],
    ],
)
async def test_failed_delegate(answer: Any, said: str) -> None:
    """Where it fails or says nothing usable, the user's words stand, with a notice."""
    found = await QueryResolver(Uses.parse("mcp:a.b"), Answering(answer)).query_from(DUNE)
    assert found.text == "when did he die?"
    assert said in found.notices[0]


async def test_delegate_is_not_asked_without_need() -> None:
    """Whole questions, and follow-ups that a rule completes, ask nobody; nor does the builtin."""
    delegate = Answering("wrong")
    resolver = QueryResolver(Uses.parse("rewriter"), delegate)
    await resolver.query_from(talk("Who wrote Dune?"))
    await resolver.query_from(talk("population of France", "…", "and of Spain?"))
    assert (await QueryResolver(delegates=delegate).query_from(DUNE)).text == "when did he die?"
    assert delegate.calls == []


@given(st.recursive(st.none() | st.text() | st.integers(), lambda x: st.lists(x, max_size=3)))
def test_any_content(content: Any) -> None:
    """No content of a message raises."""
    assert isinstance(query_from([{"role": "user", "content": content}]).text, str)
