"""Files and batches of both vendors, through the gateway by the official SDKs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import httpx2
import openai
import pytest
import pytest_asyncio

from clients import claude_of, client_of, two_upstreams
from desk import (
    CLIENT_KEY,
    UPSTREAM_KEY,
    Close,
    Desk,
    OpenDesk,
    answers,
    asks,
    chunk,
    whole,
)

FILE = {
    "id": "file-1",
    "object": "file",
    "bytes": 3,
    "created_at": 1,
    "filename": "a.jsonl",
    "purpose": "batch",
    "status": "processed",
}
BATCH = {
    "id": "batch_1",
    "object": "batch",
    "endpoint": "/v1/chat/completions",
    "input_file_id": "file-1",
    "completion_window": "24h",
    "status": "completed",
    "created_at": 1,
    "output_file_id": "file-out",
}
MESSAGE_BATCH = {
    "id": "msgbatch_1",
    "type": "message_batch",
    "processing_status": "ended",
    "request_counts": {
        "processing": 0,
        "succeeded": 1,
        "errored": 0,
        "canceled": 0,
        "expired": 0,
    },
    "created_at": "2026-01-01T00:00:00Z",
    "expires_at": "2026-01-02T00:00:00Z",
    "ended_at": "2026-01-01T00:00:00Z",
    "archived_at": None,
    "cancel_initiated_at": None,
    "results_url": "https://api.anthropic.com/v1/messages/batches/msgbatch_1/results",
}


@pytest_asyncio.fixture
async def client(desk: Desk) -> AsyncIterator[openai.AsyncOpenAI]:
    """The official OpenAI client."""
    async with client_of(desk) as one:
        yield one


@pytest_asyncio.fixture
async def claude(desk: Desk) -> AsyncIterator[anthropic.AsyncAnthropic]:
    """The official Anthropic client."""
    async with claude_of(desk) as one:
        yield one


class TestFilesAndBatches:
    """Files and batches of the OpenAI wires."""

    async def test_a_batch_from_its_file_to_its_results(
        self, desk: Desk, client: openai.AsyncOpenAI
    ) -> None:
        """A file is sent, a batch made of it and polled, and its output is fetched."""
        lines = b'{"custom_id":"1"}\n' * 5000
        desk.upstream.will(
            whole(FILE), whole(BATCH), whole(BATCH), whole(lines, kind="application/jsonl")
        )
        file = await client.files.create(file=("a.jsonl", lines), purpose="batch")
        batch = await client.batches.create(
            input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
        )
        batch = await client.batches.retrieve(batch.id)
        assert batch.output_file_id is not None
        content = await client.files.content(batch.output_file_id)

        assert content.content == lines
        sent = desk.upstream.seen[0]
        assert (sent.header("content-type") or "").startswith("multipart/form-data; boundary=")
        assert lines in sent.body
        assert [each.line.split()[1] for each in desk.upstream.seen] == [
            b"/v1/files",
            b"/v1/batches",
            b"/v1/batches/batch_1",
            b"/v1/files/file-out/content",
        ]
        assert all(CLIENT_KEY.encode() not in each.raw for each in desk.upstream.seen)

    async def test_files_follow_their_batch_to_its_upstream(self, opened: OpenDesk) -> None:
        """With several upstreams, the file decides for its batch, and the batch for its output."""
        async with two_upstreams(opened) as (desk, other):
            other.will(whole(FILE), whole(BATCH), whole(BATCH), whole(b"x"), whole(BATCH))
            chosen = {"x-refdesk-model": "n", "content-type": "multipart/form-data; boundary=x"}
            statuses = [
                (await desk.client.post("/v1/files", content=b"--x--", headers=chosen)),
                (await desk.post("/v1/batches", {"input_file_id": "file-1"})),
                (await desk.client.get("/v1/batches/batch_1")),
                (await desk.client.get("/v1/files/file-out/content")),
                (await desk.post("/v1/batches/batch_1/cancel", b"")),
            ]

        assert [each.status_code for each in statuses] == [200] * 5
        assert len(other.seen) == 5
        assert desk.upstream.seen == []

    async def test_uploads_are_bounded(self, opened: OpenDesk) -> None:
        """An upload above `server.limits.body_bytes` is refused before anything goes upstream."""
        limits = {"limits": {"body_bytes": 10_000}}
        async with opened(server=limits) as desk, client_of(desk) as client:
            with pytest.raises(openai.APIStatusError) as refused:
                await client.files.create(file=b"x" * 20_000, purpose="batch")

        assert refused.value.status_code == 413
        assert "10000" in str(refused.value)
        assert desk.upstream.seen == []

    async def test_a_download_that_breaks_off_is_seen_to(self, desk: Desk) -> None:
        """A file that breaks off ends the client's connection too, and nothing is made up."""
        head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        desk.upstream.will([head, chunk(b"half of it"), Close()])

        with pytest.raises(httpx2.RemoteProtocolError):
            await desk.client.get("/v1/files/file-1/content")

        entry = await desk.last()
        assert (entry.end, entry.wire, entry.upstream) == ("upstream_cut", "files", "up")

    @pytest.mark.parametrize("wire", ["messages", "chat"])
    async def test_files_are_asked_for_on_the_clients_wire(self, desk: Desk, wire: str) -> None:
        """A client that speaks Messages is logged in as that wire wants it."""
        headers = {"anthropic-version": "2023-06-01"} if wire == "messages" else {}
        desk.upstream.will(whole(FILE))
        await desk.client.get("/v1/files/file-1", headers=headers)

        seen = desk.upstream.seen[0]
        keys = seen.header("x-api-key"), seen.header("authorization")
        assert keys == (
            (UPSTREAM_KEY, None) if wire == "messages" else (None, f"Bearer {UPSTREAM_KEY}")
        )

    async def test_heads_have_no_body(self, desk: Desk) -> None:
        """HEAD is passed on as HEAD."""
        desk.upstream.will(b"HTTP/1.1 200 OK\r\ncontent-length: 700\r\nx-kept: 1\r\n\r\n")
        got = await desk.client.head("/v1/files/file-1/content")

        assert (got.status_code, got.content, got.headers["x-kept"]) == (200, b"", "1")
        assert desk.upstream.seen[0].line.startswith(b"HEAD ")


class TestMessageBatches:
    """Batches of Messages."""

    async def test_from_its_making_to_its_results(
        self, desk: Desk, claude: anthropic.AsyncAnthropic
    ) -> None:
        """A batch is made and polled, and its results come through the gateway, not past it."""
        result = {
            "custom_id": "1",
            "result": {"type": "succeeded", "message": answers("messages")},
        }
        lines = json.dumps(result).encode() + b"\n"
        desk.upstream.will(
            whole(MESSAGE_BATCH), whole(MESSAGE_BATCH), whole(lines, kind="application/x-jsonl")
        )
        params: Any = asks("messages", search=False)
        made = await claude.messages.batches.create(requests=[{"custom_id": "1", "params": params}])
        results = [each async for each in await claude.messages.batches.results(made.id)]

        assert results[0].result.type == "succeeded"
        assert [each.line.split()[1] for each in desk.upstream.seen] == [
            b"/v1/messages/batches",
            b"/v1/messages/batches/msgbatch_1",
            b"/v1/messages/batches/msgbatch_1/results",
        ]
        assert all(each.header("x-api-key") == UPSTREAM_KEY for each in desk.upstream.seen)

    async def test_models_have_the_upstreams_names(self, opened: OpenDesk) -> None:
        """The names of a batch's models become the upstream's; the rest stays as it came."""
        async with opened(models={"m": {"model": "real", "aliases": ["claude-*"]}}) as desk:
            desk.upstream.will(whole(MESSAGE_BATCH))
            requests = [
                {"custom_id": str(at), "params": asks("messages", model=name, temperature=0.10)}
                for at, name in enumerate(("m", "claude-9", "m[1m]"))
            ]
            await desk.post("/v1/messages/batches", {"requests": requests, "extra": 1})

        sent = desk.upstream.seen[0].json
        assert sent["extra"] == 1
        assert [each["params"].pop("model") for each in sent["requests"]] == ["real"] * 3
        for each in requests:
            each["params"].pop("model")  # type: ignore[attr-defined]
        assert sent["requests"] == requests

    async def test_the_body_is_untouched_where_names_are_the_same(self, desk: Desk) -> None:
        """Byte for byte, large or small."""
        desk.upstream.will(whole(MESSAGE_BATCH))
        for text in ("?", "long " * 80_000):
            request = {"custom_id": "1", "params": asks("messages", text, search=False)}
            body = json.dumps({"requests": [request, request]}, indent=1).encode()
            await desk.post("/v1/messages/batches", body)
            assert desk.upstream.seen[-1].body == body

    async def test_marks_of_ours_do_not_go_upstream(self, desk: Desk) -> None:
        """A history with a search of ours is text for the model in a batch, too."""
        desk.upstream.will(whole(answers("messages")), whole(MESSAGE_BATCH))
        answer = (await desk.ask("messages")).json()
        turn = [
            *asks("messages")["messages"],
            {"role": "assistant", "content": answer["content"]},
            {"role": "user", "content": "And 3.13?"},
        ]
        params = asks("messages", search=False, messages=turn)
        await desk.post(
            "/v1/messages/batches", {"requests": [{"custom_id": "1", "params": params}]}
        )

        assert "srvtoolu_rd" in json.dumps(answer)
        sent = desk.upstream.seen[-1].body
        assert b"srvtoolu_rd" not in sent
        assert b"rd1." not in sent

    @pytest.mark.parametrize(
        ("requests", "status", "said"),
        [
            (None, 400, "requests must be"),
            ([], 400, "requests must be"),
            ({}, 400, "requests must be"),
            ([7], 400, "requests[0].params"),
            ([{"params": {"model": "m"}}, {"params": []}], 400, "requests[1].params"),
            ([{"params": {}}], 400, "requests[0].params.model"),
            ([{"params": {"model": "x" * 300}}], 400, "300 characters"),
            ([{"params": {"model": "m"}}, {"params": {"model": "n"}}], 400, "for each upstream"),
        ],
    )
    async def test_batches_that_cannot_be_sent(
        self, opened: OpenDesk, requests: Any, status: int, said: str
    ) -> None:
        """A batch without requests, or for two upstreams, is refused in the wire's form."""
        async with two_upstreams(opened) as (desk, other):
            got = await desk.post("/v1/messages/batches", {"requests": requests})

        assert got.status_code == status
        assert got.json()["type"] == "error"
        assert said in got.json()["error"]["message"]
        assert desk.upstream.seen == other.seen == []
