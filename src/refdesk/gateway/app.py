"""
The hot routes, as raw ASGI: a request is looked at, and passed on or carried through an exchange.

A request that declares no search and carries nothing of ours goes out as the bytes that came in,
and its answer comes back as the bytes that the upstream sent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, TypeVarTuple

import structlog

from refdesk.errors import UpstreamError, WireError
from refdesk.gateway import exchange as x
from refdesk.gateway import forms
from refdesk.gateway.client import (
    STREAM_HEADERS,
    Client,
    HeaderList,
    Receive,
    Scope,
    Send,
    header,
)
from refdesk.gateway.decoding import MAX_DECODED_BYTES, decoded, decoded_pieces, is_encoded
from refdesk.gateway.driver import Driver
from refdesk.gateway.headers import refusal_headers, to_client, to_upstream
from refdesk.gateway.log import Entry, RequestLog
from refdesk.gateway.offloading import LARGE_READ, off_loop
from refdesk.gateway.refusals import Refusals, Sender
from refdesk.gateway.route import Route
from refdesk.gateway.stored import StoredIds, id_in_stream, id_of, is_background, is_stored
from refdesk.gateway.targets import MAX_NAME_CHARS, Target, Targets, Way
from refdesk.ids import new_request_id
from refdesk.types import ANONYMOUS, Caller
from refdesk.upstream import Origin, Reply, UpstreamClient
from refdesk.wires import chat, messages, responses
from refdesk.wires.base import Head, History, StreamRewriter, Wire
from refdesk.wires.document import Document, dump
from refdesk.wires.told import error_in_body, error_in_stream

WIRES: Final[Mapping[str, Wire]] = {"messages": messages, "chat": chat, "responses": responses}
MAX_ANSWER_BYTES: Final = 128 * 1024 * 1024
"""A whole answer is held in memory; a longer one is no answer of a model."""
_MARKS: Final[Mapping[str, tuple[bytes, ...]]] = {
    # A call that a provider runs, and its result; what else is ours names web_search.
    "messages": (b"_tool_",),
    "chat": (),
    "responses": (b'"ws_',),
}
"""What a client may send back of our searches and of providers', by wire."""
_KEPT_BYTES: Final = 64 * 1024
"""Of a stream's two ends, to end it properly if it breaks off."""
_NO_SEARCH: Final = header("x-refdesk-search", "none")
_NOT_COMPLETE: Final = "the upstream ended its stream before the answer was complete"
_FAULT_STATUS: Final = {"unreachable": 502, "timeout": 504, "cut": 502, "bad_response": 502}
_FAULT_END: Final = {
    "unreachable": "upstream_unreachable",
    "timeout": "upstream_timeout",
    "cut": "upstream_cut",
    "bad_response": "upstream_cut",
}

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_log: structlog.stdlib.BoundLogger = structlog.get_logger("refdesk")


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What the configuration says to the gateway itself."""

    head_after_s: float = 8.0
    max_body_bytes: int = 32 * 1024 * 1024
    """The largest body of a request."""
    longest_answer_s: float = 3600.0
    """No model writes on one answer for longer; an upstream that does is cut off."""


@dataclass(kw_only=True, slots=True)
class Gateway:
    """The three model routes.  A reload puts new targets and settings in place."""

    targets: Targets
    upstream: UpstreamClient
    driver: Driver
    log: RequestLog
    settings: Settings = field(default_factory=Settings)
    refusals: Refusals = field(default_factory=Refusals)
    """Upstreams that refuse a declared search tool."""
    stored: StoredIds = field(default_factory=StoredIds)
    """What upstreams keep for clients."""
    closing: bool = False
    """Answers under way go on; nothing new is begun."""

    def handle(
        self, wire: Wire, scope: Scope, receive: Receive, send: Send, caller: Caller
    ) -> Coroutine[Any, Any, None]:
        """Answer a model request; whatever goes wrong is an answer too."""
        return Request(self, wire, scope, receive, send, caller).run(self._answer)

    def count_tokens(
        self, wire: Wire, scope: Scope, receive: Receive, send: Send, caller: Caller
    ) -> Coroutine[Any, Any, None]:
        """Answer a request to count tokens: what would go to the model is counted."""
        return Request(self, wire, scope, receive, send, caller).run(self._count)

    def serve(
        self,
        wire: Wire,
        scope: Scope,
        receive: Receive,
        send: Send,
        caller: Caller,
        answer: Callable[[Request, bytes], Awaitable[None]],
    ) -> Coroutine[Any, Any, None]:
        """
        Have any other request answered, in a wire's form where something goes wrong, and log it.

        Args:
            wire, scope, receive, send, caller: Of the request.
            answer: Is given the request and its body.
        """
        return Request(self, wire, scope, receive, send, caller).run(answer, for_model=False)

    def refuse(
        self, wire: Wire, scope: Scope, receive: Receive, send: Send, fault: WireError
    ) -> Coroutine[Any, Any, None]:
        """Answer a request that the gate refused, and log it."""
        return Request(self, wire, scope, receive, send, ANONYMOUS).run_refused(fault)

    # What a request is answered with

    async def _answer(self, request: Request, document: Document, body: bytes, head: Head) -> None:
        if not request.way.terms.keeps_threads and request.wire.needs_thread(document):
            raise x.thread_refusal()
        if request.wire is not messages:
            request.keeps = self._is_kept(request, document)
        # Asked here, not by `off_loop`: most bodies are small, and a coroutine costs as much.
        small = request.size <= LARGE_READ
        if request.way.terms.always or (
            concerns_search(body, request.wire)
            if small
            else await request.off_loop(concerns_search, body, request.wire)
        ):
            await self._exchange(request, document)
            return
        outgoing = bytes(document) if small else await request.off_loop(bytes, document)
        if head.stream:
            await self._pass_stream(request, outgoing)
        else:
            reply = await request.call(outgoing, whole=True)
            await request.answer(reply.status, reply.headers, reply.body)

    async def _count(self, request: Request, document: Document, body: bytes, head: Head) -> None:
        document = await self.without_marks(request, document, body)
        outgoing = await request.off_loop(bytes, document)
        reply = await request.call(outgoing, whole=True, path=b"/count_tokens")
        await request.answer(reply.status, reply.headers, reply.body)

    async def without_marks(self, request: Request, document: Document, body: bytes) -> Document:
        """Return a request of which the model is only to see the words: our marks become text."""
        wire, terms = request.wire, request.way.terms
        if await request.off_loop(concerns_search, body, wire):
            marks = await request.off_loop(wire.find_marks, document)
            recalled = await self.driver.recall(x.Recall(marks, b""), request.entry)
            document = await request.off_loop(_restored, document, wire, terms, recalled.history)
        return document

    def _is_kept(self, request: Request, document: Document) -> bool:
        """Return whether the upstream keeps the answer; WireError where it could not be fetched."""
        if request.wire is not responses:
            return is_stored(request.wire.NAME, document)
        target = request.target
        if is_background(document) and (missing := self.targets.unfetchable(target)):
            raise WireError(
                f"background is true, and the answer could not be fetched: {missing}; send the "
                "request without it",
                param="background",
            )
        named = self.stored.named(document, request.caller.key_id)
        if named is not None and named[1].upstream != target.upstream:
            raise WireError(
                f"{named[0]} is kept by the upstream {named[1].upstream!r}, and the model "
                f"{target.name!r} is served by {target.upstream!r}; send the conversation whole, "
                "or name a model of that upstream",
                param=named[0],
            )
        return is_stored(request.wire.NAME, document)

    async def _pass_stream(self, request: Request, body: bytes) -> None:
        request.ping_after(self.settings.head_after_s)
        reply = await request.call(body, whole=False)
        await request.relay(reply, None)

    async def _exchange(self, request: Request, document: Document) -> None:
        terms = request.way.terms
        entry, decision = request.entry, terms.decision
        entry.route, entry.route_why, entry.route_layer = (
            decision.route.value,
            decision.why,
            decision.layer,
        )
        sender = Sender(
            upstream=request.target.upstream,
            wire=request.wire.NAME,
            model=request.target.model,
            key_id=entry.key_id,
        )
        if terms.accepts_tool and await request.off_loop(self.refusals.known, sender, document):
            terms = x.refusing(terms)
        sealer = self.driver.sealer_for(entry.key_id)
        course = x.exchange(document, wire=request.wire, terms=terms, sealer=sealer)
        if request.head.stream:
            request.ping_after(self.settings.head_after_s)
        reply: Reply | None = None
        step = await off_loop(request.size, _step, course, None)
        try:
            while not isinstance(step, x.Answer | x.Relay):
                size = request.size
                match step:
                    case x.Recall():
                        answered: x.Reply = await self.driver.recall(step, request.entry)
                    case x.Complete():
                        answered = await self.driver.complete(step)
                    case x.Search():
                        request.entry.outcome.kind = "gateway"
                        answered = await self.driver.search(step, request.entry, request.caller)
                    case x.CallUpstream(outgoing, outcome):
                        entry.outcome = outcome
                        if outcome.in_stead:
                            entry.route, entry.route_why = "gateway", outcome.in_stead
                        sent = await request.off_loop(bytes, outgoing)
                        reply = await request.call(sent, whole=not request.head.stream)
                        answered = await self._answered(request, reply)
                        status, body = answered.status, answered.body or b""
                        size = max(size, len(body))
                        if notice := await off_loop(
                            size, self.refusals.take, sender, outgoing, status, body
                        ):
                            outcome.notices.append(notice)
                step = await off_loop(size, _step, course, answered)
        except BaseException:
            if reply is not None:
                reply.close()
            raise
        assert reply is not None
        if isinstance(step, x.Answer):
            entry.unknown_citations = step.outcome.unknown_citations
            headers = forms.as_json(reply.headers) if step.gathered else reply.headers
            await request.answer(reply.status, headers, step.body)
        else:
            await request.relay(reply, step.rewriter)

    async def _answered(self, request: Request, reply: Reply) -> x.UpstreamAnswered:
        if not request.head.stream:
            room = MAX_DECODED_BYTES if is_encoded(reply) else 0
            body = await off_loop(room, decoded, reply)
            is_stream = bool(forms.is_stream(body, whole=True))
            return x.UpstreamAnswered(reply.status, body, is_stream=is_stream)
        # Whatever the form of a good answer is, it is seen when it is sent on.
        return x.UpstreamAnswered(reply.status, await _read(reply) if reply.status >= 400 else None)


class Request:
    """One request: what is known of it, and its client."""

    __slots__ = (
        "asked",
        "caller",
        "client",
        "entry",
        "gateway",
        "head",
        "keeps",
        "scope",
        "size",
        "started",
        "target",
        "way",
        "wire",
    )

    def __init__(
        self,
        gateway: Gateway,
        wire: Wire,
        scope: Scope,
        receive: Receive,
        send: Send,
        caller: Caller,
    ) -> None:
        self.gateway = gateway
        self.wire = wire
        self.scope = scope
        self.caller = caller
        self.client = Client(receive, send, scope)
        self.started = time.perf_counter()
        self.entry = Entry(
            request_id=new_request_id(),
            started=time.time(),
            wire=wire.NAME,
            key_id=caller.key_id,
        )
        self.size = 0
        """Bytes of the body."""
        self.asked: Document
        self.keeps = False
        """The upstream keeps the answer, and its id was not seen yet."""
        self.head: Head
        self.target: Target
        self.way: Way

    async def run(self, answer: Callable[..., object], *, for_model: bool = True) -> None:
        """
        Read the request, have it answered, and log it.

        Args:
            answer: Is given the request, its document, body and head; only the request and its body
                where it is not ``for_model``.
            for_model: Whether the body is a request to a model.
        """
        client, entry = self.client, self.entry
        try:
            headers: HeaderList = self.scope["headers"]
            if self.gateway.closing:
                raise WireError("this server is shutting down; try again", status=503)
            limit = self.gateway.settings.max_body_bytes
            body = await client.read_body(headers, max_bytes=limit)
            entry.client_request_id = client.request_id
            entry.incognito = client.incognito
            self.size = len(body)
            if not for_model:
                client.watch(asyncio.current_task())  # type: ignore[arg-type]
                await answer(self, body)  # type: ignore[misc]
                return
            if self.size <= LARGE_READ:
                document, head = self._read(body)
            else:
                document, head = await self.off_loop(self._read, body)
            self.head = head
            entry.model, entry.stream = head.model[:MAX_NAME_CHARS], head.stream
            self.target = target = self.gateway.targets.find(head.model)
            entry.upstream, entry.upstream_model = target.upstream, target.model
            self.way = target.way(self.wire.NAME)
            if head.model != target.model:
                model = {"model": dump(target.model)}
                document = await self.off_loop(document.replace, model)
            self.asked = document
            client.watch(asyncio.current_task())  # type: ignore[arg-type]
            await answer(self, document, body, head)  # type: ignore[misc]
        except WireError as exc:
            entry.error = str(exc)
            await self.refuse(exc.status, str(exc), exc.param, exc.retry_after_s, exc.code)
        except UpstreamError as exc:
            entry.error = str(exc)
            entry.end = _FAULT_END[exc.fault]  # type: ignore[assignment]
            await self.refuse(_FAULT_STATUS[exc.fault], str(exc), None)
        except asyncio.CancelledError:
            if not client.gone:
                raise
            entry.end = "client_disconnected"
            entry.status = entry.status or 499
        except Exception as exc:
            # Nothing that a peer sends may lead here; if it does, the client gets its wire's error.
            entry.error = f"{type(exc).__name__}: a fault of Refdesk, please report it"
            _log.exception("a request failed", request_id=entry.request_id)
            if client.head_sent and not client.is_stream:
                raise
            await self.refuse(500, f"{entry.error} with the id {entry.request_id}", None)
        finally:
            client.unwatch()
            try:
                if client.pinging is not None:
                    await client.stop_pings()
            finally:
                entry.total_s = time.perf_counter() - self.started
                self.gateway.log.add(entry)

    def _read(self, body: bytes) -> tuple[Document, Head]:
        document = Document.read(body)
        return document, self.wire.read_head(document)

    async def off_loop(self, work: Callable[[*Ts], T], *args: *Ts) -> T:
        """Read or copy the body as `off_loop` does."""
        return await off_loop(self.size, work, *args, above=LARGE_READ)

    async def run_refused(self, fault: WireError) -> None:
        """Answer with the gate's refusal, and log it."""
        self.entry.error = str(fault)
        try:
            await self.refuse(fault.status, str(fault), fault.param, fault.retry_after_s)
        finally:
            self.entry.total_s = time.perf_counter() - self.started
            self.gateway.log.add(self.entry)

    # The upstream

    def call(self, body: bytes, *, whole: bool, path: bytes = b"") -> Coroutine[Any, Any, Reply]:
        """Send a body to the upstream, once, with the client's headers as far as they go on."""
        way = self.way
        query: bytes = self.scope["query_string"]
        target = way.line + path + (b"?" + query if query else b"")
        head = target + way.head + to_upstream(self.scope["headers"], self.target.set_headers)
        return self.send(way.origin, head, body, whole=whole)

    async def send(self, origin: Origin, head: bytes, body: bytes, *, whole: bool) -> Reply:
        """Send a request to an upstream, once."""
        started = time.perf_counter()
        try:
            reply = await self.gateway.upstream.send(
                origin,
                head,
                body,
                whole=whole,
                max_bytes=MAX_ANSWER_BYTES if whole else None,
                limit_s=self.gateway.settings.longest_answer_s,
            )
        finally:
            self.entry.upstream_s = time.perf_counter() - started
        if reply.status > 599:
            reply.close()
            raise UpstreamError(
                f"the upstream answered with the status {reply.status}, which HTTP does not know",
                fault="bad_response",
            )
        return reply

    # The answer

    def ping_after(self, delay_s: float) -> None:
        """Send the head of a stream early if nothing else was sent by then."""

        def headers() -> HeaderList:
            return self.head_lines(STREAM_HEADERS, pending=True)

        self.client.ping_after(delay_s, headers, self.wire.PING)

    def head_lines(self, headers: HeaderList, *, pending: bool = False) -> HeaderList:
        """Return a response head: the given lines and ours."""
        entry = self.entry
        outcome = entry.outcome
        if outcome.kind == "none":
            said = _NO_SEARCH
        elif pending and outcome.kind == "gateway" and outcome.answer is None:
            said = header("x-refdesk-search", "gateway; pending")
        else:
            said = header("x-refdesk-search", outcome.header())
        return [
            *headers,
            (b"x-request-id", entry.request_id.encode()),
            said,
            (
                b"server-timing",
                b"search;dur=%.1f, queue;dur=%.1f, upstream;dur=%.1f"
                % (entry.search_s * 1000, entry.queue_s * 1000, entry.upstream_s * 1000),
            ),
        ]

    async def answer(self, status: int, headers: HeaderList, body: bytes) -> None:
        """Send a whole answer: the upstream's, as it came or with a search in it."""
        self.entry.status = status
        if status < 400:
            self._look_at(body)
        if self.client.pinging is not None:
            await self.client.stop_pings()
        if self.client.head_sent:
            # The head went out early: the answer, an error by now, can only be told in the stream.
            message = f"the upstream answered {status}: {body[:2000].decode(errors='replace')}"
            await self.client.write(self.wire.broken_stream(b"", b"", message))
            await self.client.end()
            return
        await self.client.answer(status, self.head_lines(to_client(headers)), body)

    def _look_at(self, body: bytes) -> None:
        """Take down what a whole answer tells: an error, and the id that the upstream keeps."""
        self._note(error_in_body(body))
        if self.keeps:
            self._keep(id_of(body))

    def _keep(self, id_: str | None) -> None:
        """Remember the id of an answer that the upstream keeps; None if it was not seen yet."""
        if id_ is not None:
            self.keeps = False
            self.gateway.stored.add(id_, self.entry.upstream, self.entry.key_id)

    async def relay(self, reply: Reply, rewriter: StreamRewriter | None) -> None:
        """Send a stream on as it comes, or through the rewriter."""
        try:
            await self._relay(reply, rewriter)
        finally:
            reply.close()

    async def _relay(self, reply: Reply, rewriter: StreamRewriter | None) -> None:
        if reply.status >= 400:
            await self.answer(reply.status, reply.headers, await _read(reply))
            return
        client = self.client
        self.entry.status = reply.status
        pieces = decoded_pieces(reply)
        await client.stop_pings()
        early, labelled = client.head_sent, _is_stream(reply)
        if labelled and not early:
            await self._start(reply, labelled=True)
        if not labelled or early or rewriter is not None:
            # A label may be wrong; in a stream that has begun and through a rewriter it matters.
            is_stream, pieces = await self._peek(pieces, labelled=labelled)
            if not is_stream:
                await self._relay_whole(reply, pieces, rewriter)
                return
        if not client.head_sent:
            await self._start(reply, labelled=rewriter is not None)
        if rewriter is None:
            await self._relay_bytes(pieces)
        else:
            await self._relay_rewritten(pieces, rewriter)
        await client.end()

    async def _start(self, reply: Reply, *, labelled: bool) -> None:
        """Send the head of a stream, labelled as one or as the upstream did."""
        lines = to_client(reply.headers)
        if labelled:
            ours = {name for name, _ in STREAM_HEADERS}
            lines = [*STREAM_HEADERS, *(line for line in lines if line[0] not in ours)]
        await self.client.start(reply.status, self.head_lines(lines))

    async def _peek(
        self, pieces: AsyncIterator[bytes], *, labelled: bool
    ) -> tuple[bool, AsyncIterator[bytes]]:
        """Return whether these are events; a stream that broke off before is one, and fails."""
        limit = self.gateway.settings.longest_answer_s
        try:
            async with asyncio.timeout(limit):
                return await forms.peek(pieces, labelled=labelled)
        except TimeoutError:
            fault = _too_long(limit)
        except UpstreamError as exc:
            fault = exc
        if not self.client.head_sent:
            raise fault
        return True, forms.failing(fault)

    async def _relay_whole(
        self, reply: Reply, pieces: AsyncIterator[bytes], rewriter: StreamRewriter | None
    ) -> None:
        """Send a body on where a stream was asked for: in that form where that is needed."""
        client, entry = self.client, self.entry
        limit = self.gateway.settings.longest_answer_s
        try:
            async with asyncio.timeout(limit):
                body = await forms.whole(pieces, MAX_ANSWER_BYTES)
        except TimeoutError:
            raise _too_long(limit) from None
        if rewriter is None and not client.head_sent:
            await self.answer(reply.status, reply.headers, body)
            return
        self._look_at(body)
        try:
            stream = await off_loop(len(body), self.wire.streamed, body, self.asked)
        except UpstreamError as exc:
            entry.outcome.notices.append(f"the answer was passed on as it came: {exc}")
            if client.is_stream:
                entry.end, entry.error = "upstream_cut", str(exc)
            await self.answer(reply.status, reply.headers, body)
            return
        if not client.head_sent:
            await self._start(reply, labelled=True)
        if rewriter is not None:
            stream = await off_loop(len(stream), _rewritten, rewriter, stream)
            entry.unknown_citations = rewriter.unknown_citations
        await client.write(stream)
        await client.end()

    async def _relay_bytes(self, pieces: AsyncIterator[bytes]) -> None:
        write = self.client.write
        limit = self.gateway.settings.longest_answer_s
        fault: UpstreamError | None = None
        head = tail = b""
        try:
            async with asyncio.timeout(limit):
                async for chunk in pieces:
                    await write(chunk)
                    if len(head) < _KEPT_BYTES:
                        head += chunk[: _KEPT_BYTES - len(head)]
                        if self.keeps:
                            self._keep(id_in_stream(head))
                    # The last event is to be seen from its beginning.
                    holds = len(chunk) >= 4096 and chunk.find(b"\n\n", 0, -2) >= 0
                    tail = chunk if holds else (tail + chunk)[-_KEPT_BYTES:]
        except TimeoutError:
            fault = _too_long(limit)
        except UpstreamError as exc:
            fault = exc
        self._note(error_in_stream(head, tail))
        # What is no stream, whatever its label says, gets no stream's ending.
        is_stream = not head or forms.is_stream(head, whole=True)
        if fault is None and is_stream and not self.wire.is_complete(tail):
            fault = UpstreamError(_NOT_COMPLETE, fault="cut")
        if fault is not None:
            await self._break(fault, self.wire.broken_stream(head, tail, str(fault)))

    async def _relay_rewritten(
        self, pieces: AsyncIterator[bytes], rewriter: StreamRewriter
    ) -> None:
        write = self.client.write
        limit = self.gateway.settings.longest_answer_s
        fault: UpstreamError | None = None
        head = tail = b""
        held = 0
        try:
            async with asyncio.timeout(limit):
                async for chunk in pieces:
                    # An event comes out when it is whole; till then it only grows.
                    held += len(chunk)
                    if out := await off_loop(held, rewriter.feed, chunk):
                        held = 0
                        await write(out)
                    if len(head) < _KEPT_BYTES:
                        head += chunk[: _KEPT_BYTES - len(head)]
                        if self.keeps:
                            self._keep(id_in_stream(head))
                    # The last event is to be seen from its beginning.
                    holds = len(chunk) >= 4096 and chunk.find(b"\n\n", 0, -2) >= 0
                    tail = chunk if holds else (tail + chunk)[-_KEPT_BYTES:]
                if not self.wire.is_complete(tail):
                    self.entry.end = "upstream_cut"
                    self.entry.error = _NOT_COMPLETE
                await write(rewriter.finish())
        except TimeoutError:
            fault = _too_long(limit)
        except UpstreamError as exc:
            fault = exc
        self._note(error_in_stream(head, tail))
        if fault is not None:
            await self._break(fault, rewriter.fail(str(fault)))
        self.entry.unknown_citations = rewriter.unknown_citations

    def _note(self, told: str) -> None:
        """Take down the type of an error that the upstream told in its answer, if it is one."""
        entry = self.entry
        entry.told = told
        if told and not entry.end:
            entry.end = "upstream_error"
            entry.error = f"the upstream told an error in its answer: {told}"

    async def _break(self, exc: UpstreamError, ending: bytes) -> None:
        if not self.entry.told:
            self.entry.end = "upstream_cut"
            self.entry.error = str(exc)
        await self.client.write(ending)

    async def refuse(
        self,
        status: int,
        message: str,
        param: str | None,
        retry_after_s: int | None = None,
        code: str | None = None,
    ) -> None:
        """Answer with an error of our own, in the client's wire."""
        await self.client.stop_pings()
        entry = self.entry
        entry.status = status
        if self.client.head_sent:
            await self.client.write(self.wire.broken_stream(b"", b"", message))
            await self.client.end()
            return
        body = self.wire.error_body(
            message, status=status, param=param, request_id=entry.request_id, code=code
        )
        headers: HeaderList = [
            (b"content-type", b"application/json"),
            *refusal_headers(status, retry_after_s),
        ]
        await self.client.answer(status, self.head_lines(headers), body)


def _step(
    course: Generator[x.Command, x.Reply, x.Answer | x.Relay], answered: x.Reply | None
) -> x.Command | x.Answer | x.Relay:
    """Carry an exchange on to its next command, or to its end."""
    try:
        return next(course) if answered is None else course.send(answered)
    except StopIteration as end:
        result: x.Answer | x.Relay = end.value
        return result


def _rewritten(rewriter: StreamRewriter, stream: bytes) -> bytes:
    return rewriter.feed(stream) + rewriter.finish()


def _restored(document: Document, wire: Wire, terms: x.Terms, history: History) -> Document:
    document = wire.restore(document, history, kept=terms.kept)
    tool = wire.search_tool(document)
    route, _ = x.route_for(terms, tool)
    if tool is not None and (route is Route.GATEWAY or not terms.accepts_tool):
        document = wire.strip_search_tool(document)
    return document


def concerns_search(body: bytes, wire: Wire) -> bool:
    """Whether a body may declare search, or hold marks of one."""
    # Substrings first: most requests have nothing to do with search.  Each costs as much as reading
    # the body once, so a wire is looked through for its own marks only.
    return b"web_search" in body or any(mark in body for mark in _MARKS[wire.NAME])


def _too_long(limit: float) -> UpstreamError:
    return UpstreamError(
        f"the upstream's answer was not complete after {limit:g} s", fault="timeout"
    )


def _content_type(reply: Reply) -> str:
    for name, value in reply.headers:
        if name == b"content-type":
            return value.decode("latin-1")
    return ""


def _is_stream(reply: Reply) -> bool:
    return _content_type(reply).lower().startswith("text/event-stream")


async def _read(reply: Reply) -> bytes:
    parts: list[bytes] = []
    size = 0
    try:
        async for chunk in reply:
            size += len(chunk)
            if size > MAX_ANSWER_BYTES:
                raise UpstreamError("the upstream's answer is too large", fault="bad_response")
            parts.append(chunk)
    finally:
        reply.close()
    return b"".join(parts)
