"""What counts as a refusal of the search tool, who loses the tool for it, and for how long."""

from __future__ import annotations

import json
from typing import Any

import pytest

from desk import Desk, answers, asks, whole
from refdesk.gateway.complaints import Declared, concerns, declared
from refdesk.gateway.refusals import KNOWN_S, Refusals, Sender
from refdesk.wires.document import Document

TYPE = "web_search_20250305"
SENDER = Sender(upstream="up", wire="messages", model="vendor/model-1")


def request(*others: dict[str, Any], place: int = 0, **changes: Any) -> Document:
    """A request on Messages with a search tool, and others after it or before it."""
    tools: list[dict[str, Any]] = list(others)
    tools.insert(place, {"type": changes.pop("type_", TYPE), "name": "web_search"})
    body = asks("messages", search=False, tools=tools, **changes)
    return Document.read(json.dumps(body).encode())


def tool_of(document: Document) -> Declared:
    """The declaration of a request."""
    found = declared(document)
    assert found is not None
    return found


FUNCTION = {"name": "read_file", "input_schema": {"type": "object"}}


def error(message: str, **more: Any) -> bytes:
    """An error in OpenAI's shape."""
    return json.dumps(
        {"error": {"message": message, "type": "invalid_request_error", **more}}
    ).encode()


def shown(**members: Any) -> bytes:
    """An error in a shape of its own."""
    return json.dumps(members).encode()


def pydantic(*place: str | int, given: Any) -> bytes:
    """An error as FastAPI servers write it, with what was given."""
    wrong = {"type": "missing", "loc": ["body", *place], "msg": "Field required", "input": given}
    return shown(detail=[wrong])


class TestComplaints:
    """The words of a refusal."""

    @pytest.mark.parametrize(
        "body",
        [
            error("no such tool"),
            error(
                f"tools.0: Input tag '{TYPE}' found using 'type' does not match any expected tag"
            ),
            error("tools[0].type: unsupported value"),
            error("Invalid value: 'web_search'", param="tools[0].type"),
            error("Hosted tools are not supported", param="tools"),
            error("tools.0.input_schema: Field required"),
            error("tools.0.custom.input_schema: Field required"),
            error("web search is not available for this organization"),
            error("invalid params, invalid tool type: (2013)"),
            error("model: model-1 does not support web_search"),
            b"Unknown tool type web_search_20250305",
            pydantic("tools", 0, "function", given={"type": TYPE}),
            shown(base_resp={"status_msg": "invalid params, invalid tool type: "}),
            shown(
                error={
                    "message": "Provider returned error",
                    "metadata": {"raw": error("Unsupported tool type: web_search").decode()},
                }
            ),
            error("litellm.BadRequestError: - " + error(f"tools.0: unknown {TYPE}").decode()),
            b'[{"error":{"message":"tool type web_search is unknown"}}]',
        ],
        ids=lambda body: body.decode()[:70],
    )
    def test_of_the_tool(self, body: bytes) -> None:
        """A refusal that names the tool, its type or its place is about it."""
        assert concerns(body, tool_of(request()))

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"Bad Request",
            b"\xff\xfe",
            b"{" * 5000,
            b"[" * 200_000,
            error("max_tokens: must be greater than 0"),
            error("max_tokens must be positive", param="max_tokens"),
            error("max_tokens: -5 is too small; tools: web_search is fine"),
            error("tools.0.max_uses: Input should be greater than 0"),
            error(f"tools.0.{TYPE}.user_location.country: should have 2 characters"),
            error("Invalid value", param="tools[0].search_context_size"),
            error("web_search: allowed_domains and blocked_domains cannot both be set"),
            error("tools.1.custom.name: String should match pattern"),
            error("Invalid schema for function 'read_file'", param="tools[1].function.parameters"),
            error("messages.1.content.0: `web_search` tool use without `web_search_tool_result`"),
            error("tool_choice: tool 'websearch' not found in tools"),
            error("prompt is too long: 210000 tokens > 200000 maximum"),
            pydantic("max_tokens", given={"tools": [{"type": TYPE}]}),
            error('Invalid request {"max_tokens": -5, "tools": [{"type": "web_search_20250305"}]}'),
            error("Invalid request {'max_tokens': -5, 'tools': [{'type': 'web_search_20250305'}]}"),
        ],
        ids=lambda body: body.decode("latin-1")[:70],
    )
    def test_of_something_else(self, body: bytes) -> None:
        """One that is about another field, a setting of the tool or another tool is not."""
        assert not concerns(body, tool_of(request(FUNCTION)))

    def test_its_place(self) -> None:
        """A place in `tools` is the search tool's own or another's."""
        behind = tool_of(request(FUNCTION, place=1))

        assert concerns(error("tools.1: unknown type"), behind)
        assert not concerns(error("tools.0.input_schema: Field required"), behind)

    def test_any_tool(self) -> None:
        """That tools are not taken is about search where no other tool is declared."""
        assert concerns(error("this model does not support tools"), tool_of(request()))
        assert not concerns(error("this model does not support tools"), tool_of(request(FUNCTION)))

    @pytest.mark.parametrize(
        ("wire", "changes", "expected"),
        [
            ("messages", {}, TYPE),
            ("responses", {}, "web_search"),
            ("chat", {}, "web_search_options"),
            ("chat", {"search": False, "tools": [{"type": "web_search"}]}, "web_search"),
            ("chat", {"search": False}, None),
            ("messages", {"tools": [{"type": "web_search_" + "9" * 100}]}, None),
            ("messages", {"tools": [5]}, None),
            ("messages", {"tools": {}}, None),
        ],
    )
    def test_declarations(self, wire: str, changes: dict[str, Any], expected: str | None) -> None:
        """What is declared is found on each wire."""
        document = Document.read(json.dumps(asks(wire, **changes)).encode())
        found = declared(document)
        assert (found.type if found else None) == expected


class TestMemory:
    """Which upstreams are known."""

    REFUSED = error("Unknown tool type")

    def test_one_request(self) -> None:
        """One client's request takes the tool from nobody, however often it is repeated."""
        refusals = Refusals()
        for _ in range(5):
            told = refusals.take(SENDER, request(max_tokens=-5), 400, self.REFUSED)

        assert "answered 400 to a request with a search tool" in told
        assert not refusals.known(SENDER, request())

    @pytest.mark.parametrize(
        "other",
        [
            request(temperature=0),
            request(FUNCTION),
            request(stream=True),
            request(tool_choice={"type": "none"}),
            request(messages=[{"role": "user", "content": "a"}] * 3),
        ],
        ids=["field", "tool", "stream", "choice", "messages"],
    )
    def test_another_request(self, other: Document) -> None:
        """A second request of another shape confirms it."""
        refusals = Refusals()
        refusals.take(SENDER, request(), 400, self.REFUSED)

        told = refusals.take(SENDER, other, 422, self.REFUSED)

        assert "6 hours" in told
        assert refusals.known(SENDER, request())
        assert refusals.known(SENDER, other)

    def test_another_client(self) -> None:
        """So does the request of another client."""
        refusals = Refusals()
        for key_id in ("a", "b"):
            sender = Sender(upstream="up", wire="messages", model="m-1", key_id=key_id)
            refusals.take(sender, request(), 400, self.REFUSED)

        assert refusals.known(SENDER, request())

    def test_what_it_is_known_for(self) -> None:
        """It holds for that upstream, wire and type of tool."""
        refusals = Refusals()
        refusals.take(SENDER, request(), 400, self.REFUSED)
        refusals.take(SENDER, request(temperature=0), 400, self.REFUSED)

        assert refusals.known(Sender(upstream="up", wire="messages", model="other"), request())
        assert not refusals.known(Sender(upstream="up", wire="chat", model="x"), request())
        assert not refusals.known(Sender(upstream="on", wire="messages", model="x"), request())
        assert not refusals.known(SENDER, request(type_="web_search_20260209"))

    def test_one_model(self) -> None:
        """Where the refusal names the model, it holds for that model."""
        refusals = Refusals()
        refused = error("web_search is not supported by vendor/model-1")
        refusals.take(SENDER, request(), 400, refused)
        refusals.take(SENDER, request(temperature=0), 400, refused)

        assert refusals.known(SENDER, request())
        assert not refusals.known(Sender(upstream="up", wire="messages", model="x"), request())

    @pytest.mark.parametrize("confirmed", [False, True])
    def test_it_ends(self, confirmed: bool) -> None:
        """It is forgotten after its time, on reload, and where the tool was taken."""
        now = 0.0
        refusals = Refusals(clock=lambda: now)

        def learn() -> None:
            refusals.take(SENDER, request(), 400, self.REFUSED)
            if confirmed:
                refusals.take(SENDER, request(temperature=0), 400, self.REFUSED)
                assert refusals.known(SENDER, request())

        learn()
        now = KNOWN_S
        assert not refusals.known(SENDER, request())
        refusals.take(SENDER, request(stream=True), 400, self.REFUSED)
        assert not refusals.known(SENDER, request())

        refusals.clear()
        learn()
        refusals.clear()
        assert not refusals.known(SENDER, request())

        learn()
        assert refusals.take(SENDER, request(), 200, b"") == ""
        refusals.take(SENDER, request(stream=True), 400, self.REFUSED)
        assert not refusals.known(SENDER, request())

    def test_it_is_small(self) -> None:
        """Types that clients make up fill no memory."""
        refusals = Refusals()
        for number in range(1000):
            refusals.take(SENDER, request(type_=f"web_search_{number}"), 400, self.REFUSED)

        assert len(refusals) == 256


class TestDesk:
    """At the gateway."""

    NONE = {"tool_choice": {"type": "none"}}

    async def test_a_mistake_of_one_client(self, desk: Desk) -> None:
        """A negative `max_tokens`, sent again and again, leaves everybody the tool."""
        refused = whole(json.loads(error("max_tokens: must be greater than 0")), 400)
        desk.upstream.will(refused, refused, refused, whole(answers("messages")))
        for _ in range(3):
            await desk.ask("messages", max_tokens=-5, **self.NONE)

        assert (await desk.ask("messages", **self.NONE)).status_code == 200

        assert all("tools" in seen.json for seen in desk.upstream.seen)
        assert not any("search tool" in told for told in (await desk.last()).outcome.notices)

    @pytest.mark.parametrize("stream", [False, True])
    async def test_an_upstream_that_refuses(self, desk: Desk, stream: bool) -> None:
        """After two different requests were refused, the third is sent no tool, until a reload."""
        refused = whole(json.loads(error(f"unknown tool type {TYPE}")), 400)
        desk.upstream.will(refused, refused, whole(answers("messages")))

        assert (await desk.ask("messages", **self.NONE)).status_code == 400
        assert (
            await desk.ask("messages", stream=stream, temperature=0, **self.NONE)
        ).status_code == 400
        assert "tools" in desk.upstream.seen[1].json
        assert "6 hours" in " ".join((await desk.last()).outcome.notices)
        assert (await desk.ask("messages", **self.NONE)).status_code == 200
        assert not {"tools", "tool_choice"} & desk.upstream.seen[2].json.keys()

        desk.application.reload(desk.application.config)
        await desk.ask("messages", **self.NONE)
        assert "tools" in desk.upstream.seen[3].json
        assert len(desk.upstream.seen) == 4
