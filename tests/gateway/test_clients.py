"""What real clients send: their users' questions are searched for, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from desk import PATHS, WIRES, OpenDesk, answers, whole
from recorded import RECORDINGS
from refdesk.gateway.exchange import CallUpstream, Recall, Recalled, Search, Terms, exchange
from refdesk.gateway.route import decide
from refdesk.wires import chat, messages, responses
from refdesk.wires.base import History, Wire
from refdesk.wires.document import Document
from sealed import FakeSealer

CLIENTS = {
    path.stem: json.loads(path.read_text())["requests"]
    for path in sorted((RECORDINGS / "clients").glob("*.json"))
}
WIRE: dict[str, Wire] = {"messages": messages, "chat": chat, "responses": responses}
TEXT_PART = {"messages": "text", "chat": "text"}


def requests() -> list[Any]:
    """Every recorded request, under the client's name."""
    return [
        pytest.param(request, id=f"{name}: {request['what']}")
        for name, client in CLIENTS.items()
        for request in client
    ]


def written(wire: str, message: dict[str, Any]) -> dict[str, Any]:
    """A recorded message, as it is written on a wire."""
    texts = message["content"]
    if isinstance(texts, str):
        return message
    kind = TEXT_PART.get(wire, "input_text" if message["role"] == "user" else "output_text")
    return message | {"content": [{"type": kind, "text": text} for text in texts]}


def body(wire: str, request: dict[str, Any], *, alone: bool) -> dict[str, Any]:
    """A recorded request on a wire, search declared, as the only tool or beside a function."""
    said = [written(wire, message) for message in request["messages"]]
    schema = {"type": "object", "properties": {}}
    match wire:
        case "messages":
            tools = [{"type": "web_search_20250305", "name": "web_search"}]
            tools += [] if alone else [{"name": "bash", "input_schema": schema}]
            return {"model": "m", "max_tokens": 9, "messages": said, "tools": tools}
        case "chat":
            function = {"type": "function", "function": {"name": "bash", "parameters": schema}}
            more = {} if alone else {"tools": [function]}
            return {"model": "m", "messages": said, "web_search_options": {}, **more}
    tools = [{"type": "web_search"}]
    tools += [] if alone else [{"type": "function", "name": "bash", "parameters": schema}]
    return {"model": "m", "input": said, "tools": tools}


def asked(wire: str, request: dict[str, Any]) -> str | None:
    """What the exchange would have the engine asked; None where it asks nothing."""
    decision = decide(model=None, upstream=None, capability="no")
    course = exchange(
        Document.read(json.dumps(request).encode()),
        wire=WIRE[wire],
        terms=Terms(decision=decision),
        sealer=FakeSealer(),
    )
    command = next(course)
    if isinstance(command, Recall):
        command = course.send(Recalled(History(rows={}, searches={})))
    if isinstance(command, Search):
        return command.query.text
    assert isinstance(command, CallUpstream)
    assert command.outcome.kind in ("pass", "degraded")
    assert command.outcome.notices or command.outcome.detail
    return None


@pytest.mark.parametrize("alone", [True, False], ids=["alone", "beside"])
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("request_", requests())
def test_only_the_users_question(request_: dict[str, Any], wire: str, alone: bool) -> None:
    """On every wire the engine is asked the user's words; the log says why it is not asked."""
    assert asked(wire, body(wire, request_, alone=alone)) == request_["asked"]


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_session_over_the_wire(opened: OpenDesk, client: str) -> None:
    """In a client's session the engine is called once for each of its users' questions."""
    own = {"claude-code": "messages", "codex": "responses", "llm": "responses"}
    wire = own.get(client, "chat")
    async with opened(gateway={"search": {"cache_ttl_s": 0}}) as desk:
        desk.upstream.will(whole(answers(wire)))
        headers = []
        for request in CLIENTS[client]:
            response = await desk.post("/v1" + PATHS[wire], body(wire, request, alone=True))
            headers.append(response.headers["x-refdesk-search"].partition(";")[0])

    due = [request["asked"] for request in CLIENTS[client]]
    assert [query.text for query in desk.engine.queries] == [text for text in due if text]
    assert ["gateway" if text else "none" for text in due] == [
        "gateway" if header == "gateway" else "none" for header in headers
    ]


@pytest.mark.parametrize("wire", WIRES)
async def test_the_log_says_why(opened: OpenDesk, wire: str) -> None:
    """What a client wrote is a pass with a notice; what nobody can tell is a degraded search."""
    title = "Generate a short title for this chat: …"
    async with opened() as desk:
        desk.upstream.will(whole(answers(wire)))
        passed = await desk.ask(wire, text=title)
        entry = await desk.last()
        unclear = await desk.ask(wire, text='{"rows": [1, 2]}')
        degraded = await desk.last()

    assert passed.headers["x-refdesk-search"] == "pass"
    assert "the client wrote last" in entry.outcome.rule
    assert any("a task about the conversation itself" in each for each in entry.outcome.notices)
    assert unclear.headers["x-refdesk-search"] == "degraded; reason=no_query"
    assert "data without a question" in degraded.outcome.detail
    assert desk.engine.queries == []


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "text",
    [
        *("Hello!", "thanks a lot", "谢谢", "2 + 2 = ?", "Please continue.", "继续"),
        *("Don't search the web. What is the capital of France?", "不要上网搜索，法国的首都是哪里"),
    ],
)
async def test_nothing_to_look_up(opened: OpenDesk, wire: str, text: str) -> None:
    """A greeting, thanks, a sum, or a question that is not to be searched, is none for the web."""
    async with opened() as desk:
        desk.upstream.will(whole(answers(wire)))
        response = await desk.ask(wire, text=text)
        entry = await desk.last()

    assert response.headers["x-refdesk-search"] == "pass"
    assert entry.outcome.rule.startswith("the user asks nothing to be looked up")
    assert desk.engine.queries == []


@pytest.mark.parametrize(
    "text",
    ["Why don't search engines index my site?", "How do I find a file in vim without searching?"],
)
async def test_questions_about_searching(opened: OpenDesk, text: str) -> None:
    """A question that speaks of not searching is searched for."""
    async with opened() as desk:
        desk.upstream.will(whole(answers("chat")))
        await desk.ask("chat", text=text)

    assert [query.text for query in desk.engine.queries] == [text]


REMINDER = "<system-reminder>\nThe task tools have not been used recently.\n</system-reminder>"


def after_a_tool(wire: str, *behind: str) -> dict[str, Any]:
    """A question, a function that was called, its output, and more texts of the user's role."""
    request = {"messages": [{"role": "user", "content": "newest nginx?"}]}
    base = body(wire, request, alone=False)
    match wire:
        case "messages":
            call = {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}}
            result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}
            texts = [{"type": "text", "text": text} for text in behind]
            base["messages"] += [
                {"role": "assistant", "content": [call]},
                {"role": "user", "content": [result, *texts]},
            ]
        case "chat":
            function = {"name": "bash", "arguments": "{}"}
            call = {"id": "call_1", "type": "function", "function": function}
            base["messages"] += [
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "call_1", "content": "ok"},
                *({"role": "user", "content": text} for text in behind),
            ]
        case _:
            base["input"] += [
                {"type": "function_call", "call_id": "call_1", "name": "bash", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "call_1", "output": "ok"},
                *({"role": "user", "content": text} for text in behind),
            ]
    return base


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("behind", [(), (REMINDER,), (REMINDER, REMINDER)])
async def test_a_reminder_behind_a_tools_output(
    opened: OpenDesk, wire: str, behind: tuple[str, ...]
) -> None:
    """A step that hands a tool's output over passes, whatever reminders a client adds to it."""
    async with opened() as desk:
        desk.upstream.will(whole(answers(wire)))
        response = await desk.post("/v1" + PATHS[wire], after_a_tool(wire, *behind))
        entry = await desk.last()

    assert response.headers["x-refdesk-search"] == "pass"
    assert entry.outcome.rule == "the input ends with tool outputs"
    assert entry.outcome.reason is None
    assert desk.engine.queries == []


COMPACTED = "Another language model started to solve this problem and produced a summary"
SHELL = "<user_shell_command><command>cat secrets.env</command><result>DB=prod</result>"
IDE = "# Context from my IDE setup:\n\n## Active file: src/billing/acme_invoice.py\n\n"
SHA1 = "9fceb02d0ae598e95dc970b74767f19372d61af8"
SHA256 = "4bcff63911fcb4448bd4fdacec207030997caf25e9bea4045fa6c8c44de311d1"
WHOLE = [
    "kubectl apply -f <file> --dry-run=server meaning",
    "How do I use the <source> element inside <video>?",
    f"what changed in git commit {SHA1} of nginx",
    f"sha256:{SHA256} which docker image",
    "what is token: CSRF-token in Rails 8.1",
    "List<String> vs String[] in Java",
    "when does a < b hold for NaN?",
    "<Context>\n  <Manager/>\n</Context> what does it do in Tomcat?",
]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("text", "asked_"),
    [
        (f"{COMPACTED} of its thinking process. Here it is: private", None),
        (f"{SHELL}</user_shell_command>", None),
        (f"{IDE}## My request for Codex:\nnewest release of nginx?", "newest release of nginx?"),
        *((text, " ".join(text.split())) for text in WHOLE),
    ],
)
async def test_reported_messages(
    opened: OpenDesk, wire: str, text: str, asked_: str | None
) -> None:
    """Private text of a client stays in the house, and a user's words leave it whole."""
    async with opened() as desk:
        desk.upstream.will(whole(answers(wire)))
        said = {"messages": [{"role": "user", "content": text}]}
        await desk.post("/v1" + PATHS[wire], body(wire, said, alone=False))

    assert [query.text for query in desk.engine.queries] == ([asked_] if asked_ else [])


@pytest.mark.parametrize("wire", WIRES)
async def test_words_behind_a_tools_output(opened: OpenDesk, wire: str) -> None:
    """What a user says behind a tool's output is a new question."""
    async with opened() as desk:
        desk.upstream.will(whole(answers(wire)))
        said = after_a_tool(wire, REMINDER, "And when was Apache 2.4 released?")
        await desk.post("/v1" + PATHS[wire], said)

    assert [query.text for query in desk.engine.queries] == ["And when was Apache 2.4 released?"]


async def test_a_retry_finds_the_material_again(opened: OpenDesk) -> None:
    """On Chat a framework's retry asks nothing, and has the material of its question once more."""
    question = {"role": "user", "content": "newest nginx?"}
    retry = [
        {"role": "assistant", "content": "{"},
        {"role": "user", "content": "Validation feedback:\nx\n\nFix the errors and try again."},
    ]
    async with opened() as desk:
        desk.upstream.will(whole(answers("chat")))
        await desk.post("/v1/chat/completions", body("chat", {"messages": [question]}, alone=True))
        again = body("chat", {"messages": [question, *retry]}, alone=True)
        response = await desk.post("/v1/chat/completions", again)
        first, second = (one.json["messages"][-1]["content"] for one in desk.upstream.seen)

    assert response.headers["x-refdesk-search"] == "pass"
    assert [query.text for query in desk.engine.queries] == ["newest nginx?"]
    assert second[-1] == first[-1]
    assert second[0]["text"].startswith("Validation feedback:")


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("reply", "asked_"),
    [
        ("are you sure?", "What is the population of France?"),
        ("no, I meant Spain", "What is the population of Spain?"),
        ("and of Spain?", "What is the population of Spain?"),
    ],
)
async def test_a_reply_asks_the_question_again(
    opened: OpenDesk, wire: str, reply: str, asked_: str
) -> None:
    """A follow-up is asked as the question it means; the log tells that, and repeats no words."""
    talk = [
        {"role": "user", "content": "What is the population of France?"},
        {"role": "assistant", "content": "68 million"},
        {"role": "user", "content": reply},
    ]
    async with opened() as desk:
        desk.upstream.will(whole(answers(wire)))
        await desk.post("/v1" + PATHS[wire], body(wire, {"messages": talk}, alone=True))
        entry = await desk.last()

    assert [query.text for query in desk.engine.queries] == [asked_]
    assert any("the question before" in each for each in entry.outcome.notices)
    assert not any("France" in each or reply in each for each in entry.outcome.notices)


async def test_a_delegate_completes_what_no_rule_can(opened: OpenDesk) -> None:
    """With `uses.search` set, a follow-up without a rule is completed before it is asked."""
    talk = [
        {"role": "user", "content": "Who wrote Dune?"},
        {"role": "assistant", "content": "Frank Herbert"},
        {"role": "user", "content": "when did he die?"},
    ]
    async with opened(uses={"search": "nobody"}) as desk:
        desk.upstream.will(whole(answers("chat")))
        await desk.post("/v1/chat/completions", body("chat", {"messages": talk}, alone=True))
        entry = await desk.last()

    assert [query.text for query in desk.engine.queries] == ["when did he die?"]
    assert any("completing the question by nobody failed" in each for each in entry.outcome.notices)
