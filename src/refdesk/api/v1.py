"""All that is served below ``/api/v1``."""

from __future__ import annotations

from importlib.metadata import version
from typing import Final

from refdesk.api import collections, databases, documents, openapi, schemas
from refdesk.api.call import Call
from refdesk.api.routes import Answer, Route
from refdesk.errors import WireError
from refdesk.gateway.client import Receive, Scope, Send
from refdesk.gateway.host import Host
from refdesk.types import ANONYMOUS, Caller


async def show_openapi(call: Call) -> Answer:
    """Answer with the OpenAPI document of all routes."""
    return 200, openapi.document(
        ROUTES, version=version("refdesk"), keys_required=call.host.keys_required
    )


ROUTES: Final[tuple[Route, ...]] = (
    *collections.ROUTES,
    *documents.ROUTES,
    *databases.ROUTES,
    Route(
        method="GET",
        path="/openapi.json",
        handler=show_openapi,
        summary="This document.",
        answer=schemas.OpenApi,
    ),
)


async def answer(host: Host, scope: Scope, receive: Receive, send: Send, caller: Caller) -> None:
    """Answer one request."""
    await Call(host, scope, receive, send, caller).run(ROUTES)


async def refuse(host: Host, scope: Scope, receive: Receive, send: Send, fault: WireError) -> None:
    """Answer a request that the gate refused."""
    await Call(host, scope, receive, send, ANONYMOUS).refuse(fault)
