"""The steps of a user turn after its search: the model calls functions, and cites in the end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from desk import PATHS, QUESTION, WIRES, Desk, answers, events, sse, stream, whole
from refdesk.testing.fakes import FakeEngine, item, page

ANSWER = "On 7 October 2025 [1], see https://example.com/ and not [9]."
OTHER = "Which company maintains the package pip?"
REMINDER = "<system-reminder>Keep the list of tasks up to date.</system-reminder>"
FUNCTION = {
    "messages": {"name": "f", "input_schema": {"type": "object"}},
    "chat": {"type": "function", "function": {"name": "f", "parameters": {}}},
    "responses": {"type": "function", "name": "f", "parameters": {}},
}
SEARCH = {
    "messages": {"type": "web_search_20250305", "name": "web_search"},
    "chat": {"type": "web_search"},
    "responses": {"type": "web_search"},
}
FREE = {"messages": {"type": "auto"}, "chat": "auto", "responses": "auto"}
FORCED = {"messages": {"type": "any"}, "chat": "required", "responses": "required"}
NONE = {"messages": {"type": "none"}, "chat": "none", "responses": "none"}


class Talk:
    """A conversation of one user turn on a wire."""

    def __init__(self, desk: Desk, wire: str) -> None:
        self.desk = desk
        self.wire = wire
        self.history: list[Any] = [{"role": "user", "content": QUESTION}]
        self.calls = 0

    async def step(self, answer: dict[str, Any], *, streamed: bool = False, **changes: Any) -> Any:
        """Ask once; the upstream answers so."""
        body: dict[str, Any] = {
            "model": "m",
            ("input" if self.wire == "responses" else "messages"): self.history,
            "tools": [FUNCTION[self.wire], SEARCH[self.wire]],
            "tool_choice": FREE[self.wire],
            "stream": streamed,
        }
        if self.wire == "messages":
            body["max_tokens"] = 100
        if streamed:
            self.desk.upstream.will(sse(b"".join(stream(self.wire, ANSWER)), cut=13))
        else:
            self.desk.upstream.will(whole(answer))
        body = {key: each for key, each in (body | changes).items() if each is not None}
        return await self.desk.post("/v1" + PATHS[self.wire], body)

    async def calls_f(self, **changes: Any) -> None:
        """A step in which the model calls the function, and the client answers."""
        self.calls += 1
        name = f"call_{self.calls}"
        answer = answers(self.wire)
        match self.wire:
            case "messages":
                call = {"type": "tool_use", "id": name, "name": "f", "input": {}}
                answer |= {"content": [call], "stop_reason": "tool_use"}
            case "chat":
                function = {"name": "f", "arguments": "{}"}
                call = {"id": name, "type": "function", "function": function}
                message = {"role": "assistant", "content": None, "tool_calls": [call]}
                answer["choices"][0] |= {"message": message, "finish_reason": "tool_calls"}
            case _:
                call = {"type": "function_call", "call_id": name, "name": "f", "arguments": "{}"}
                answer["output"] = [call | {"id": f"fc_{self.calls}", "status": "completed"}]
        response = await self.step(answer, **changes)
        assert response.status_code == 200
        told = response.json()
        match self.wire:
            case "messages":
                self.history.append({"role": "assistant", "content": told["content"]})
                result = {"type": "tool_result", "tool_use_id": name, "content": "42"}
                self.history.append({"role": "user", "content": [result]})
            case "chat":
                self.history.append(told["choices"][0]["message"])
                self.history.append({"role": "tool", "tool_call_id": name, "content": "42"})
            case _:
                self.history += told["output"]
                output = {"type": "function_call_output", "call_id": name, "output": "42"}
                self.history.append(output)

    def remind(self) -> None:
        """Have the client write something of its own at the end."""
        if self.wire == "messages":
            self.history[-1]["content"].append({"type": "text", "text": REMINDER})
        else:
            self.history.append({"role": "user", "content": REMINDER})

    def cited(self, response: Any, *, streamed: bool) -> list[str]:
        """Check that no block is shown anew; return the URLs that are cited, in order."""
        found: Any = events(response.content) if streamed else response.json()
        if self.wire == "messages":
            if streamed:
                kinds = [e["content_block"]["type"] for e in found if "content_block" in e]
                deltas = [e["delta"] for e in found if e["type"] == "content_block_delta"]
                notes = [each["citation"] for each in deltas if "citation" in each]
            else:
                kinds = [block["type"] for block in found["content"]]
                notes = found["content"][0].get("citations", [])
            assert kinds == ["text"]
            assert "web_search_requests" not in response.text
            return [each["url"] for each in notes]
        if self.wire == "chat":
            choices = [c for e in found for c in e["choices"]] if streamed else found["choices"]
            texts = [choice.get("delta") or choice.get("message") for choice in choices]
            notes = [note for text in texts for note in text.get("annotations", [])]
            return [each["url_citation"]["url"] for each in notes]
        told = found[-1]["response"] if streamed else found
        assert [each["type"] for each in told["output"]] == ["message"]
        if streamed:
            assert [e["sequence_number"] for e in found] == list(range(len(found)))
            added = [e["annotation"]["url"] for e in found if "annotation" in e]
            final = told["output"][0]["content"][0]["annotations"]
            assert added == [each["url"] for each in final]
        return [each["url"] for each in told["output"][0]["content"][0].get("annotations", [])]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("steps", [1, 3])
class TestCitations:
    """What a later answer says of the search is cited, and the search is not shown again."""

    async def test_after_function_calls(
        self, desk: Desk, wire: str, streamed: bool, steps: int
    ) -> None:
        """However many functions were called, the text cites the one search of the turn."""
        talk = Talk(desk, wire)
        for _ in range(steps):
            await talk.calls_f()
        response = await talk.step(answers(wire, ANSWER), streamed=streamed)

        assert talk.cited(response, streamed=streamed) == ["https://example.com/"] * 2
        assert response.headers["x-refdesk-search"] == "pass"
        assert len(desk.engine.queries) == 1
        sent = desk.upstream.seen[-1].json
        assert sent["tools"] == [FUNCTION[wire]]
        assert "https://example.com/" in json.dumps(sent)
        assert not {"srvtoolu_rd", "ws_rd", "rd1."} & set(json.dumps(sent).split('"'))
        assert (await desk.last()).unknown_citations == 1

    async def test_after_a_reminder(
        self, desk: Desk, wire: str, streamed: bool, steps: int
    ) -> None:
        """What only the client wrote after its tool's output is no new question."""
        talk = Talk(desk, wire)
        for _ in range(steps):
            await talk.calls_f()
            talk.remind()
        response = await talk.step(answers(wire, ANSWER), streamed=streamed)

        assert talk.cited(response, streamed=streamed) == ["https://example.com/"] * 2
        assert response.headers["x-refdesk-search"] == "pass"
        assert len(desk.engine.queries) == 1


@pytest.mark.parametrize("wire", ["messages", "responses"])
@pytest.mark.parametrize(
    "changes", [{"tools": None, "tool_choice": None}, {"tool_choice": "none"}], ids=str
)
async def test_whatever_the_later_step_declares(
    desk: Desk, wire: str, changes: dict[str, Any]
) -> None:
    """A client that declares no search any more, or no tool at all, gets its citations too."""
    if "tools" not in changes:
        changes = {"tool_choice": NONE[wire]}
    talk = Talk(desk, wire)
    await talk.calls_f()
    response = await talk.step(answers(wire, ANSWER), **changes)
    assert talk.cited(response, streamed=False) == ["https://example.com/"] * 2
    assert len(desk.engine.queries) == 1


@pytest.mark.parametrize("wire", ["messages", "responses"])
async def test_numbers_are_those_of_the_turns_own_search(opened: Any, wire: str) -> None:
    """After a second question ``[1]`` is the first source of the second search."""
    engine = FakeEngine("fake", page("https://one.example/"), page("https://two.example/"))
    async with opened(engine) as desk:
        talk = Talk(desk, wire)
        await talk.calls_f()
        talk.history.append({"role": "user", "content": OTHER})
        await talk.calls_f()
        response = await talk.step(answers(wire, "See [1]."))
        assert talk.cited(response, streamed=False) == ["https://two.example/"]
        assert [query.text for query in desk.engine.queries] == [QUESTION, OTHER]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_reminder_alone_asks_nothing(desk: Desk, wire: str) -> None:
    """After an answer, what only the client wrote is not searched, nor the question before it."""
    talk = Talk(desk, wire)
    await talk.step(answers(wire))
    talk.history.append({"role": "assistant", "content": "On 7 October 2025."})
    talk.history.append({"role": "user", "content": REMINDER})
    response = await talk.step(answers(wire))
    assert response.headers["x-refdesk-search"] == "pass"
    assert len(desk.engine.queries) == 1


@pytest.mark.parametrize("wire", WIRES)
class TestForced:
    """A choice that demands some tool, with search among several."""

    async def test_the_search_meets_it(self, desk: Desk, wire: str) -> None:
        """After our search the model is free to write, and the log says that it is."""
        talk = Talk(desk, wire)
        await talk.step(answers(wire), tool_choice=FORCED[wire])
        sent = desk.upstream.seen[-1].json
        assert (sent["tools"], sent["tool_choice"]) == ([FUNCTION[wire]], FREE[wire])
        notices = (await desk.last()).outcome.notices
        assert any("was lifted" in notice for notice in notices)

    async def test_in_later_steps_too(self, desk: Desk, wire: str) -> None:
        """The search of the turn meets it once and for all."""
        talk = Talk(desk, wire)
        await talk.calls_f(tool_choice=FORCED[wire])
        await talk.step(answers(wire, ANSWER), tool_choice=FORCED[wire])
        assert desk.upstream.seen[-1].json["tool_choice"] == FREE[wire]

    async def test_a_demand_that_search_cannot_meet_stays(self, desk: Desk, wire: str) -> None:
        """A step that does not search keeps the choice as the client sent it."""
        talk = Talk(desk, wire)
        off = {"messages": {"max_uses": 0}, "chat": {"max_uses": 0}}.get(
            wire, {"external_web_access": False}
        )
        tools = [FUNCTION[wire], SEARCH[wire] | off]
        await talk.step(answers(wire), tools=tools, tool_choice=FORCED[wire])
        assert desk.upstream.seen[-1].json["tool_choice"] == FORCED[wire]
        assert desk.engine.queries == []


JSON_ASKED = {
    "messages": {"output_config": {"format": {"type": "json_schema", "schema": {}}}},
    "chat": {"response_format": {"type": "json_schema", "json_schema": {"name": "v"}}},
    "responses": {"text": {"format": {"type": "json_schema", "name": "v", "schema": {}}}},
}
JSON_TOO = {
    "messages": {"output_format": {"type": "json_schema", "schema": {}}},
    "chat": {"response_format": {"type": "json_object"}},
    "responses": {"text": {"format": {"type": "json_object"}}},
}


@pytest.mark.parametrize("wire", WIRES)
class TestStructuredOutput:
    """An answer that is to be JSON."""

    @pytest.mark.parametrize("asked", [JSON_ASKED, JSON_TOO], ids=["schema", "other"])
    async def test_no_citations_are_asked_for(self, desk: Desk, wire: str, asked: Any) -> None:
        """The material is there, and asks for no marks; the format stays; the JSON stays."""
        answer = json.dumps({"ids": [1], "version": "3.14"})
        talk = Talk(desk, wire)
        response = await talk.step(answers(wire, answer), **asked[wire])
        sent = desk.upstream.seen[-1].json
        (name, form), *_ = asked[wire].items()
        assert sent[name] == form
        assert "https://example.com/" in json.dumps(sent)
        assert "cite the URL" not in json.dumps(sent)
        assert answer in json.loads(json.dumps(response.text)).replace('\\"', '"')
        assert b"url_citation" not in response.content
        assert b"web_search_result_location" not in response.content

    @pytest.mark.parametrize(
        "asked",
        [{}, {"messages": {"output_config": {"effort": "low"}},
              "chat": {"response_format": {"type": "text"}},
              "responses": {"text": {"format": {"type": "text"}}}}],
    )  # fmt: skip
    async def test_prose_is_asked_for_citations(self, desk: Desk, wire: str, asked: Any) -> None:
        """Elsewhere the material asks the model to cite."""
        talk = Talk(desk, wire)
        await talk.step(answers(wire), **asked.get(wire, {}))
        assert "cite the URL" in json.dumps(desk.upstream.seen[-1].json)


async def test_a_row_without_its_key_is_not_cited(opened: Any, desk_folder: Any) -> None:
    """Marks that cannot be opened any more go as pairs; nothing is cited, nothing fails."""
    async with opened(FakeEngine("fake", page(item().url))) as desk:
        talk = Talk(desk, "messages")
        await talk.calls_f()
        for message in talk.history:
            if message["role"] == "assistant":
                message["content"] = json.loads(
                    json.dumps(message["content"]).replace("rd1.", "rd1.AAAA")
                )
        response = await talk.step(answers("messages", ANSWER))
        assert response.json()["content"] == answers("messages", ANSWER)["content"]
        assert "srvtoolu_rd" not in json.dumps(desk.upstream.seen[-1].json)
