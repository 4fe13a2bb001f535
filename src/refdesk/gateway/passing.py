"""
Requests to what upstreams have beside the model routes, passed on to the upstream that is meant.

That is the one of the model that the body names; else the one that made what the path or the body
names; else the only one that has the endpoint.  Bodies go on as they came, but for the names of
models and for what of ours stands in a history.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Final

from refdesk.errors import UpstreamError, WireError
from refdesk.gateway import endpoints
from refdesk.gateway.app import WIRES, Gateway, Request
from refdesk.gateway.batch import read_batch
from refdesk.gateway.client import Receive, Scope, Send
from refdesk.gateway.decoding import MAX_DECODED_BYTES, decoded, is_encoded
from refdesk.gateway.endpoints import Endpoint, Trait
from refdesk.gateway.exchange import Recall
from refdesk.gateway.headers import to_client, to_upstream
from refdesk.gateway.offloading import off_loop
from refdesk.gateway.places import CHOOSER, Place, only
from refdesk.gateway.stored import Stored, ids_of
from refdesk.gateway.targets import MAX_NAME_CHARS
from refdesk.types import Caller
from refdesk.upstream import Reply
from refdesk.wires.base import Wire
from refdesk.wires.document import Document, dump, string

_RESULTS: Final = re.compile(rb'("results_url"\s*+:\s*+")(https?://[^"]*+)"')
_BATCHES: Final = b"/messages/batches/"
_OPENAI_PATHS: Final = ("/responses", "/conversations")


class Passing:
    """
    Answers what upstreams have beside the model routes.

    Args:
        gateway: The model routes, with the upstreams.
        keys_required: Whether clients need a key now.
    """

    def __init__(self, gateway: Gateway, *, keys_required: Callable[[], bool]) -> None:
        self._gateway = gateway
        self._keys_required = keys_required

    async def handle(self, scope: Scope, receive: Receive, send: Send, caller: Caller) -> None:
        """Answer a request; what goes wrong is an answer too."""
        wire = wire_of(scope)
        path = scope["path"].removeprefix("/v1")
        found = endpoints.find(scope["method"], path, messages=wire.NAME == "messages")
        if found is None:
            await self._gateway.refuse(wire, scope, receive, send, _unknown(scope))
            return
        endpoint, id_ = found
        answer = partial(self._answer, endpoint, id_)
        await self._gateway.serve(wire, scope, receive, send, caller, answer)

    async def refuse(self, scope: Scope, receive: Receive, send: Send, fault: WireError) -> None:
        """Answer what the gate refused."""
        await self._gateway.refuse(wire_of(scope), scope, receive, send, fault)

    async def _answer(self, endpoint: Endpoint, id_: str, request: Request, body: bytes) -> None:
        request.entry.wire = endpoint.service
        if Trait.LISTS in endpoint.traits:
            self._check_list(request.caller)
        key_id, memory = request.caller.key_id, self._gateway.stored
        stored = memory.find(id_, key_id) if id_ else None
        if Trait.REQUESTS in endpoint.traits:
            place, body = await self._of_batch(request, body)
        else:
            document = await request.off_loop(_document, endpoint, body)
            if document is not None and (named := memory.named(document, key_id)):
                stored = stored or named[1]
            if model := _model(endpoint, document):
                assert document is not None
                place, body = await self._of_model(endpoint, request, document, model)
            else:
                place = self._place(endpoint, request, stored)
        if missing := place.missing(endpoint):
            raise WireError(missing)
        request.entry.upstream = place.upstream
        whole = request.scope["method"] != "HEAD" and _is_whole(endpoint)
        reply = await self._send(endpoint, place, request, body, whole=whole)
        if not whole:
            await _relay(request, reply)
            return
        room = MAX_DECODED_BYTES if is_encoded(reply) else 0
        answer = await off_loop(room, decoded, reply)
        if reply.status < 300:
            self._remember(endpoint, place, request, answer, owned=stored is not None)
            if endpoint.service == "message_batches":
                answer = _RESULTS.sub(_here, answer)
        await request.answer(reply.status, reply.headers, answer)

    def _check_list(self, caller: Caller) -> None:
        if self._keys_required() and caller.claims.get("admin") is not True:
            raise WireError(
                "this list tells of what all client keys made; it needs a key whose claims have "
                "admin: true.  What this key made is answered by its id",
                status=403,
            )

    # The upstream that is meant, and the body for it

    def _place(self, endpoint: Endpoint, request: Request, stored: Stored | None) -> Place:
        targets = self._gateway.targets
        if stored is not None and stored.upstream in targets.places:
            return targets.places[stored.upstream]
        if chosen := _chosen(request):
            return targets.places[targets.find(chosen).upstream]
        return only(targets.places, endpoint)

    async def _of_model(
        self, endpoint: Endpoint, request: Request, document: Document, model: str
    ) -> tuple[Place, bytes]:
        targets = self._gateway.targets
        target = targets.find(model)
        entry = request.entry
        entry.model, entry.upstream_model = model[:MAX_NAME_CHARS], target.model
        # What `default_model` stands in for is a model that talks, and no model of another kind.
        talks = Trait.HISTORY in endpoint.traits
        if model != target.model and (talks or targets.names(model)):
            document = document.replace({"model": dump(target.model)})
        if talks:
            request.target, request.way = target, target.way(request.wire.NAME)
            document = await self._gateway.without_marks(request, document, bytes(document))
        return targets.places[target.upstream], bytes(document)

    async def _of_batch(self, request: Request, body: bytes) -> tuple[Place, bytes]:
        targets = self._gateway.targets
        batch = await off_loop(len(body), read_batch, body, targets.find)
        terms = batch.target.way(request.wire.NAME).terms
        request.entry.model = batch.target.name
        recalled = await self._gateway.driver.recall(Recall(batch.marks, b""), request.entry)
        restore = partial(batch.restored, recalled.history, kept=terms.kept)
        return targets.places[batch.target.upstream], await off_loop(len(body), restore)

    # The call

    async def _send(
        self, endpoint: Endpoint, place: Place, request: Request, body: bytes, *, whole: bool
    ) -> Reply:
        scope = request.scope
        query: bytes = scope["query_string"]
        path = place.prefix + scope["path"].removeprefix("/v1")
        target = f"{scope['method']} {path}".encode("ascii") + (b"?" + query if query else b"")
        wire = place.wire_for(endpoint)
        assert wire is not None
        head = target + place.heads[wire] + to_upstream(scope["headers"], place.set_headers)
        return await request.send(place.origin, head, body, whole=whole)

    def _remember(
        self, endpoint: Endpoint, place: Place, request: Request, answer: bytes, *, owned: bool
    ) -> None:
        creates = Trait.CREATES in endpoint.traits
        if not (creates or (owned and Trait.NAMES in endpoint.traits)):
            return
        id_, files = ids_of(answer)
        for each in (id_, *files) if creates else files:
            self._gateway.stored.add(each, place.upstream, request.caller.key_id)


def wire_of(scope: Scope) -> Wire:
    """Return the wire in whose form a request is answered."""
    path = scope["path"].removeprefix("/v1")
    if path.startswith("/messages") or any(
        name == b"anthropic-version" for name, _ in scope["headers"]
    ):
        return WIRES["messages"]
    return WIRES["responses" if path.startswith(_OPENAI_PATHS) else "chat"]


def _document(endpoint: Endpoint, body: bytes) -> Document | None:
    """Return a JSON body; None for none, and for a form."""
    if endpoint.method != "POST" or Trait.FORM in endpoint.traits or not body:
        return None
    return Document.read(body)


def _model(endpoint: Endpoint, document: Document | None) -> str | None:
    """Return the model that decides, where the endpoint's body names one."""
    if not endpoint.traits & (Trait.MODEL | Trait.ANY_MODEL):
        return None
    model = string(document.get("model")) if document is not None else None
    if not model and Trait.MODEL in endpoint.traits:
        raise WireError("model must be the name of a model", param="model")
    return model


def _chosen(request: Request) -> str:
    """Return the model that the client names in a header."""
    for name, value in request.scope["headers"]:
        if name == CHOOSER.encode():
            return str(value.decode("latin-1").strip())
    return ""


def _unknown(scope: Scope) -> WireError:
    return WireError(
        f"{scope['method']} {scope['path'][:200]} is not served; an id has up to "
        f"{endpoints.MAX_ID_CHARS} letters, digits and - . _ : ~ = +",
        status=404,
    )


def _here(match: re.Match[bytes]) -> bytes:
    """Return where a batch's results are, as an address of this server."""
    # The official SDKs fetch them from this address, with the client's key.
    before, url = match.groups()
    _, mark, path = url.partition(_BATCHES)
    return b'%b/v1%b%b"' % (before, mark, path) if mark else match[0]


def _is_whole(endpoint: Endpoint) -> bool:
    """Whether an answer is read before it is sent on: a small object, in which ids stand."""
    if endpoint.method != "GET" or Trait.NAMES in endpoint.traits:
        return True
    return endpoint.service == "message_batches" and not endpoint.path.endswith("/results")


async def _relay(request: Request, reply: Reply) -> None:
    """Send an answer on as it comes, of any length."""
    kind = (reply.header(b"content-type") or b"").lower()
    if reply.status < 400 and kind.startswith(b"text/event-stream"):
        request.entry.stream = True
        await request.relay(reply, None)
        return
    request.entry.status = reply.status
    try:
        await request.client.start(reply.status, request.head_lines(to_client(reply.headers)))
        async for piece in reply:
            await request.client.write(piece)
        await request.client.end()
    except UpstreamError as exc:
        request.entry.end, request.entry.error = "upstream_cut", str(exc)
        request.client.cut()
    finally:
        reply.close()
