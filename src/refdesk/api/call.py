"""
One request below ``/api/v1``: who sent it, what its body says, and its answer.

Whatever goes wrong is a problem in JSON (RFC 9457); see `refdesk.api.problem`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import parse_qsl, unquote

import msgspec
import structlog
from pydantic import BaseModel, ValidationError

from refdesk.api.problem import problem, read_json, reply_headers
from refdesk.api.rights import check_may_change
from refdesk.api.routes import PREFIX, Route, find
from refdesk.api.uploads import header_of
from refdesk.config.faults import schema_faults
from refdesk.config.secrets import is_secret_name
from refdesk.errors import (
    ConfigError,
    EmbedderError,
    IngestError,
    RefdeskError,
    StoreError,
    UnknownName,
    WireError,
)
from refdesk.gateway.client import Client, HeaderList, Receive, Scope, Send
from refdesk.gateway.headers import refusal_headers
from refdesk.gateway.host import Host
from refdesk.ids import new_request_id
from refdesk.types import Caller

if TYPE_CHECKING:
    pass

_JSON: Final = b"application/json"
_PROBLEM: Final = b"application/problem+json"
MAX_JSON_BYTES: Final = 4 * 1024 * 1024
"""Bytes of a JSON body below `/api/v1`; a larger one is answered with 413."""
_MAX_FAULTS: Final = 5
"""Faults of a body that one answer names; the others are named when these are mended."""
_SHOWN_CHARS: Final = 80

_log: structlog.stdlib.BoundLogger = structlog.get_logger("refdesk")

M = TypeVar("M", bound=BaseModel)


class Call:
    """One request."""

    def __init__(
        self, host: Host, scope: Scope, receive: Receive, send: Send, caller: Caller
    ) -> None:
        self.host = host
        self.scope = scope
        self.client = Client(receive, send)
        self.request_id = new_request_id()
        self.key_id = caller.key_id
        self.identity = caller.claims
        """The claims of the client key."""

    async def run(self, routes: Sequence[Route]) -> None:
        """Do what one of the routes does, and answer."""
        try:
            if self.host.closing:
                raise WireError("this server is shutting down; try again", status=503)
            route, values = find(routes, self._method, self._parts())
            if route.changes:
                await check_may_change(self.host, self.identity, **values)
            status, body = await route.handler(self, **values)
            if status >= 400:
                await self._refuse(status, body.pop("detail"), **body)
            else:
                await self._send(status, _JSON, msgspec.json.encode(body, enc_hook=str))
        except WireError as exc:
            await self.refuse(exc)
        except UnknownName as exc:
            await self._refuse(404, str(exc))
        except ConfigError as exc:
            await self._refuse(409, str(exc))
        except StoreError as exc:
            _log.warning("a request could not be answered", error=str(exc))
            await self._refuse(503, str(exc))
        except (EmbedderError, IngestError) as exc:
            await self._refuse(502, str(exc))
        except RefdeskError as exc:
            await self._refuse(400, str(exc))
        except asyncio.CancelledError:
            if not self.client.gone:
                raise
        except Exception as exc:
            # Nothing that a client sends may lead here; if it does, it gets an answer all the same.
            _log.exception("a request could not be answered", request_id=self.request_id)
            kind = type(exc).__name__
            await self._refuse(
                500, f"{kind}: a fault of Refdesk, please report it with the id {self.request_id}"
            )
        finally:
            self.client.unwatch()

    # What handlers read

    def header(self, name: bytes) -> str:
        """Return the last value of a header, or an empty text."""
        return header_of(self.scope["headers"], name)

    @property
    def query(self) -> dict[str, str]:
        """The values in the URL's query, the last of each name."""
        return dict(parse_qsl(self.scope["query_string"].decode("latin-1")))

    async def body(self) -> bytes:
        """Return the body; WireError if it is too large, too slow, or encoded."""
        limit = min(self.host.limits.body_bytes, MAX_JSON_BYTES)
        return await self.client.read_body(self.scope["headers"], max_bytes=limit)

    def end_when_left(self) -> None:
        """End the work when the client leaves; the body must have been read."""
        self.client.watch(asyncio.current_task())  # type: ignore[arg-type]

    # The way in, and out

    @property
    def _method(self) -> str:
        return "GET" if self.scope["method"] == "HEAD" else str(self.scope["method"])

    def _parts(self) -> list[str]:
        raw = self.scope.get("raw_path") or self.scope["path"].encode()
        path = raw.decode("latin-1").partition("?")[0]
        # Parted before it is decoded: the id of a document may be a path or a URL.
        parts = [unquote(part) for part in path[len(PREFIX) :].strip("/").split("/") if part]
        if any("\0" in part for part in parts):
            raise WireError("the path has a NUL in it, and nothing is called that", status=404)
        return parts

    async def refuse(self, fault: WireError) -> None:
        """Answer with a refusal."""
        more = {"param": fault.param} if fault.param else {}
        await self._refuse(fault.status, str(fault), fault.retry_after_s, **more)

    async def _refuse(
        self, status: int, detail: str, retry_after_s: int | None = None, **more: Any
    ) -> None:
        more["request_id"] = self.request_id
        told = refusal_headers(status, retry_after_s)
        await self._send(status, _PROBLEM, problem(status, detail, **more), told)

    async def _send(
        self, status: int, kind: bytes, data: bytes, told: HeaderList | None = None
    ) -> None:
        headers = [*reply_headers(kind, self.request_id), *(told or ())]
        if self.scope["method"] == "HEAD":
            data = b""
        await self.client.answer(status, headers, data)


def read(model: type[M], body: bytes, example: Mapping[str, Any]) -> M:
    """
    Return a body as a model has it.

    Raises:
        WireError: It is no JSON object (400, with an example of one), or a value in it cannot be
            (400, naming each field at fault).
    """
    given = read_json(body, example)
    try:
        return model.model_validate(given)
    except ValidationError as error:
        faults = schema_faults(
            error, model, given, hidden=lambda path: any(map(is_secret_name, path))
        )
        told = [(".".join(path)[:_SHOWN_CHARS], text) for path, text in faults[:_MAX_FAULTS]]
        detail = "; ".join(f"{name} {text}" for name, text in told)
        raise WireError(detail, param=told[0][0]) from None
