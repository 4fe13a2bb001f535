"""Clients that cannot declare search: `search.declare: always`, and names with `:online`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clients import claude_of, client_of
from desk import QUESTION, WIRES, Desk, OpenDesk, answers, asks, sse, stream, whole
from recorded import RECORDINGS
from refdesk.errors import EngineError
from refdesk.gateway.undeclared import undeclared
from refdesk.testing.fakes import FakeEngine, page
from refdesk.wires.document import Document

URL = "https://a.example/"
ALWAYS: dict[str, Any] = {"m": {"search": {"declare": "always"}}}
FUNCTION: dict[str, dict[str, Any]] = {
    "messages": {"name": "run", "input_schema": {"type": "object"}},
    "chat": {"type": "function", "function": {"name": "run", "parameters": {"type": "object"}}},
    "responses": {"type": "function", "name": "run", "parameters": {"type": "object"}},
}


def engine() -> FakeEngine:
    """An engine that always finds the same page."""
    return FakeEngine("main", *[page(URL)] * 9)


def queries(desk: Desk) -> list[str]:
    """What the engine was asked."""
    return [each.text for each in desk.engine.queries]


def after_a_tool(wire: str, text: str = QUESTION) -> list[dict[str, Any]]:
    """A conversation in which the model called a function, and the client ran it."""
    user = {"role": "user", "content": text}
    match wire:
        case "messages":
            call = {"type": "tool_use", "id": "t1", "name": "run", "input": {}}
            result = {"type": "tool_result", "tool_use_id": "t1", "content": "done"}
            return [
                user,
                {"role": "assistant", "content": [call]},
                {"role": "user", "content": [result]},
            ]
        case "chat":
            calls = [
                {"id": "t1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
            ]
            return [
                user,
                {"role": "assistant", "content": None, "tool_calls": calls},
                {"role": "tool", "tool_call_id": "t1", "content": "done"},
            ]
    return [
        user,
        {"type": "function_call", "call_id": "t1", "name": "run", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "t1", "output": "done"},
    ]


def plain(wire: str, conversation: list[dict[str, Any]] | None = None, **fields: Any) -> dict:
    """A request with a function of the client's, and no search."""
    body = asks(wire, search=False, tools=[FUNCTION[wire]], **fields)
    if conversation is not None:
        body["input" if wire == "responses" else "messages"] = conversation
    return body


def path(wire: str) -> str:
    """The path of a wire."""
    return {"messages": "/v1/messages", "chat": "/v1/chat/completions"}.get(wire, "/v1/responses")


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", ["m", "m:online", "nick:online", "m:online[1m]", "m[1m]:online"])
@pytest.mark.parametrize("wire", WIRES)
async def test_every_user_turn_is_searched(
    opened: OpenDesk, wire: str, name: str, streamed: bool
) -> None:
    """A turn without a declaration is searched, cited as the wire does, and shows no search."""
    models = {"m": {"aliases": ["nick"]}} | (ALWAYS if name == "m" else {})
    async with opened(engine(), models=models) as desk:
        desk.upstream.will(
            sse(b"".join(stream(wire)), cut=30) if streamed else whole(answers(wire))
        )
        got = await desk.post(path(wire), plain(wire, model=name, stream=streamed))
        (sent,) = desk.upstream.seen
        entry = await desk.last()

        assert got.headers["x-refdesk-search"] == "gateway; engine=main; results=1"
        assert queries(desk) == [QUESTION]
        assert URL.encode() in sent.body
        assert sent.json["model"] == "m"
        assert sent.json["tools"] == [FUNCTION[wire]]
        assert URL in got.text
        assert "web_search_call" not in got.text
        assert "server_tool_use" not in got.text
        assert "web_search_tool_result" not in got.text
        assert (entry.route, entry.model) == ("gateway", name)


@pytest.mark.parametrize("streamed", [False, True])
async def test_the_sdks_read_the_citations(opened: OpenDesk, streamed: bool) -> None:
    """The official clients see text with citations, and no item or block that they do not ask
    for."""
    async with opened(engine(), models=ALWAYS) as desk:
        for wire in WIRES:
            desk.upstream.will(sse(b"".join(stream(wire))) if streamed else whole(answers(wire)))
            reader = Reader(desk)
            try:
                assert await getattr(reader, wire)(streamed) == [URL], wire
            finally:
                await reader.close()


class Reader:
    """What the official SDKs find in an answer: the URLs of its citations."""

    def __init__(self, desk: Desk) -> None:
        self.openai = client_of(desk)
        self.claude = claude_of(desk)

    async def close(self) -> None:
        """Close the clients."""
        await self.openai.close()
        await self.claude.close()

    async def messages(self, streamed: bool) -> list[str]:
        """Ask on Messages."""
        asked: Any = {"model": "m", "max_tokens": 9, "messages": asks("messages")["messages"]}
        if streamed:
            async with self.claude.messages.stream(**asked) as found:
                message = await found.get_final_message()
        else:
            message = await self.claude.messages.create(**asked)
        assert all(block.type == "text" for block in message.content)
        assert message.usage.server_tool_use is None
        text = "".join(block.text for block in message.content if block.type == "text")
        assert text.startswith("On 7 October 2025")
        return [
            each.url
            for block in message.content
            if block.type == "text"
            for each in block.citations or ()
            if each.type == "web_search_result_location"
        ]

    async def chat(self, streamed: bool) -> list[str]:
        """Ask on Chat Completions."""
        asked: Any = {"model": "m", "messages": asks("chat")["messages"]}
        if streamed:
            async with self.openai.chat.completions.stream(**asked) as found:
                completion: Any = await found.get_final_completion()
        else:
            completion = await self.openai.chat.completions.create(**asked)
        notes = completion.choices[0].message.annotations
        return [_url(each) for each in notes]

    async def responses(self, streamed: bool) -> list[str]:
        """Ask on Responses."""
        if streamed:
            async with self.openai.responses.stream(model="m", input=QUESTION) as found:
                response: Any = await found.get_final_response()
        else:
            response = await self.openai.responses.create(model="m", input=QUESTION)
        assert [item.type for item in response.output] == ["message"]
        assert response.tools == []
        return [each.url for each in response.output[0].content[0].annotations]


def _url(annotation: Any) -> str:
    found = annotation if isinstance(annotation, dict) else annotation.to_dict()
    return str(found["url_citation"]["url"])


@pytest.mark.parametrize("wire", WIRES)
async def test_a_step_with_tool_outputs_uses_the_search_of_its_turn(
    opened: OpenDesk, wire: str
) -> None:
    """The same user text is searched once: a later step has its results, and cites them."""
    async with opened(engine(), models=ALWAYS) as desk:
        desk.upstream.will(whole(answers(wire)))
        await desk.post(path(wire), plain(wire))
        got = await desk.post(path(wire), plain(wire, after_a_tool(wire)))

        assert queries(desk) == [QUESTION]
        assert got.headers["x-refdesk-search"] == "pass"
        assert URL.encode() in desk.upstream.seen[-1].body
        assert URL in got.text
        assert "web_search_call" not in got.text
        assert "server_tool_use" not in got.text


@pytest.mark.parametrize("wire", WIRES)
async def test_a_step_of_a_turn_that_was_not_searched(opened: OpenDesk, wire: str) -> None:
    """Tool outputs alone start no search, and a new question does."""
    async with opened(engine(), models=ALWAYS) as desk:
        desk.upstream.will(whole(answers(wire)))
        got = await desk.post(path(wire), plain(wire, after_a_tool(wire)))
        assert (got.headers["x-refdesk-search"], queries(desk)) == ("pass", [])
        more = [*after_a_tool(wire), {"role": "user", "content": "And Python 3.13?"}]
        await desk.post(path(wire), plain(wire, more))
        assert queries(desk) == ["And Python 3.13?"]


@pytest.mark.parametrize(
    "text",
    [
        "<system-reminder>The date has changed.</system-reminder>",
        "<environment_details>\n# VSCode Open Tabs\nsrc/secret_plan.py\n</environment_details>",
    ],
)
@pytest.mark.parametrize("wire", WIRES)
async def test_what_no_user_said_is_not_searched(opened: OpenDesk, wire: str, text: str) -> None:
    """What a client wrote in the user's role is asked of no engine."""
    async with opened(engine(), models=ALWAYS) as desk:
        desk.upstream.will(whole(answers(wire)))
        await desk.post(path(wire), plain(wire, text=text))
        assert queries(desk) == []
        assert desk.upstream.seen[0].json == plain(wire, text=text)


@pytest.mark.parametrize("wire", WIRES)
async def test_tools_that_are_written_as_text(opened: OpenDesk, wire: str) -> None:
    """Clients that write their tools' outputs in the user's role have the turn's search again."""
    async with opened(engine(), models=ALWAYS) as desk:
        desk.upstream.will(whole(answers(wire)))
        said = [{"role": "user", "content": f"<task>\n{QUESTION}\n</task>"}]
        await desk.post(path(wire), plain(wire, said))
        said += [
            {"role": "assistant", "content": "<read_file><path>private.py</path></read_file>"},
            {"role": "user", "content": "[read_file for 'private.py'] Result:\nprivate = 1"},
        ]
        got = await desk.post(path(wire), plain(wire, said))

        assert queries(desk) == [QUESTION]
        assert URL.encode() in desk.upstream.seen[-1].body
        assert URL in got.text


RECORDED = {
    path.stem: json.loads(path.read_text())["requests"]
    for path in sorted((RECORDINGS / "clients").glob("*.json"))
}


@pytest.mark.parametrize("client", RECORDED)
async def test_recorded_clients(opened: OpenDesk, client: str) -> None:
    """Of what real clients send without a declaration, the users' questions are searched."""
    settings = {"search": {"cache_ttl_s": 0}}
    async with opened(FakeEngine("main"), models=ALWAYS, gateway=settings) as desk:
        desk.upstream.will(whole(answers("chat")))
        for request in RECORDED[client]:
            said = [
                each | {"content": [{"type": "text", "text": text} for text in each["content"]]}
                if isinstance(each["content"], list)
                else each
                for each in request["messages"]
            ]
            await desk.post("/v1/chat/completions", plain("chat", said))

        assert queries(desk) == [each["asked"] for each in RECORDED[client] if each["asked"]]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_declaration_is_the_clients_own(opened: OpenDesk, wire: str) -> None:
    """A client that declares search is answered as it would be without the setting."""
    async with opened(engine(), models=ALWAYS) as desk:
        desk.upstream.will(whole(answers(wire)))
        declared = await desk.ask(wire)
        assert declared.headers["x-refdesk-search"].startswith("gateway")
        if wire != "chat":
            assert "ws_rd" in declared.text or "srvtoolu_rd" in declared.text


@pytest.mark.parametrize("wire", WIRES)
async def test_a_failed_search_blocks_nothing(opened: OpenDesk, wire: str) -> None:
    """The request goes on as it came, its tools and choices untouched."""
    failing = FakeEngine("main", EngineError("it was down", outcome="upstream_down"))
    upstreams = {"up": {"accepts_search_tool": False}}
    async with opened(failing, models=ALWAYS, upstreams=upstreams) as desk:
        desk.upstream.will(whole(answers(wire)))
        choice: Any = {"type": "any"} if wire == "messages" else "required"
        body = json.dumps(plain(wire, tool_choice=choice), indent=1).encode()
        got = await desk.post(path(wire), body)
        entry = await desk.last()

        assert got.headers["x-refdesk-search"].startswith("degraded; reason=")
        assert desk.upstream.seen[0].body == body
        assert not any("taken out" in each for each in entry.outcome.notices)


@pytest.mark.parametrize("wire", WIRES)
async def test_the_clients_choice_of_its_own_tools_stays(opened: OpenDesk, wire: str) -> None:
    """A demand for some tool means the client's own, and is not met by the search."""
    async with opened(engine(), models=ALWAYS) as desk:
        desk.upstream.will(whole(answers(wire)))
        choice: Any = {"type": "any"} if wire == "messages" else "required"
        await desk.post(path(wire), plain(wire, tool_choice=choice))
        assert desk.upstream.seen[0].json["tool_choice"] == choice
        assert URL.encode() in desk.upstream.seen[0].body


@pytest.mark.parametrize(
    ("upstream", "model"),
    [
        ({"provider": "anthropic", "wire": ["messages"]}, "claude-sonnet-4-5"),
        ({"provider": "openai", "wire": ["responses"]}, "gpt-5.4"),
    ],
)
async def test_a_model_that_searches_by_itself(
    opened: OpenDesk, upstream: dict[str, Any], model: str
) -> None:
    """The search is done here: the provider's blocks would be news to the client."""
    (wire,) = upstream["wire"]
    models = {"m": {"model": model, "search": {"declare": "always"}}}
    async with opened(engine(), upstreams={"up": upstream}, models=models) as desk:
        desk.upstream.will(whole(answers(wire)))
        got = await desk.post(path(wire), plain(wire))
        entry = await desk.last()
        declared = await desk.ask(wire)

        assert got.headers["x-refdesk-search"].startswith("gateway")
        assert entry.route == "gateway"
        assert "did not declare" in entry.route_why
        assert declared.headers["x-refdesk-search"] == "hosted"


@pytest.mark.parametrize("wire", WIRES)
async def test_switched_off_is_off(opened: OpenDesk, wire: str) -> None:
    """`search.enabled: off` wins over the name and the setting: nothing is searched."""
    models = {"m": {"search": {"declare": "always", "enabled": "off"}}}
    async with opened(engine(), models=models) as desk:
        desk.upstream.will(whole(answers(wire)))
        for name in ("m", "m:online"):
            body = json.dumps(plain(wire, model=name)).encode()
            got = await desk.post(path(wire), body)
            assert got.headers["x-refdesk-search"] == "pass"
        assert queries(desk) == []
        assert desk.upstream.seen[0].json == plain(wire)


async def test_background_responses_are_not_searched(opened: OpenDesk) -> None:
    """A response that is fetched later has no citations to get, declared or not."""
    async with opened(engine(), models=ALWAYS) as desk:
        desk.upstream.will(whole(answers("responses")))
        got = await desk.post("/v1/responses", plain("responses", background=True))
        assert got.headers["x-refdesk-search"] == "pass"
        assert queries(desk) == []


async def test_names_in_other_places(desk: Desk) -> None:
    """The name with `:online` opens at `/v1/models/NAME` and counts tokens."""
    desk.upstream.will(whole({"input_tokens": 7}))
    shown = await desk.client.get("/v1/models/m:online")
    counted = await desk.post(
        "/v1/messages/count_tokens", asks("messages", model="m:online", search=False)
    )
    listed = await desk.client.get("/v1/models")

    assert shown.json()["id"] == "m:online"
    assert counted.json() == {"input_tokens": 7}
    assert desk.upstream.seen[0].json["model"] == "m"
    assert [each["id"] for each in listed.json()["data"]] == ["m"]


@pytest.mark.parametrize(
    ("fields", "choice"),
    [
        ({}, "auto"),
        ({"tool_choice": "auto"}, "auto"),
        ({"tool_choice": "required"}, "auto"),
        ({"tool_choice": "none"}, "none"),
        ({"tool_choice": {"type": "any"}}, "auto"),
        ({"tool_choice": {"type": "none"}}, "none"),
        ({"tool_choice": {"type": "tool", "name": "run"}}, "other"),
        ({"tool_choice": {"type": "function", "function": {"name": "run"}}}, "other"),
        ({"tool_choice": {"type": "function", "name": "run"}}, "other"),
        ({"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}}, "auto"),
        ({"function_call": {"name": "run"}}, "other"),
        ({"function_call": "none"}, "none"),
        ({"tool_choice": 7}, "auto"),
        ({"tool_choice": None}, "auto"),
    ],
)
def test_what_the_tool_choice_leaves(fields: dict[str, Any], choice: str) -> None:
    """No search where the client wants no tool, or one of its own."""
    tool = undeclared(Document.read(json.dumps(fields).encode()))
    assert (tool.choice, tool.alone, tool.declared) == (choice, False, False)
