"""
Whether a model searches by itself: one real call to its upstream, no gateway in between.

Tables of what models can do rot in silence, so that only a search item in the answer counts as yes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from refdesk.cli._finding import Finding
from refdesk.cli._reach import secrets_of
from refdesk.config.schema import WireName
from refdesk.errors import UpstreamError, WireError
from refdesk.gateway.app import WIRES
from refdesk.gateway.targets import Target, Way, build_targets, explain
from refdesk.masking import Masker
from refdesk.providers import Verdict
from refdesk.upstream import UpstreamClient
from refdesk.web.engines._failure import excerpt

if TYPE_CHECKING:
    from refdesk.config import Config
    from refdesk.upstream.reply import Reply

PATIENCE_S: Final = 120.0
_MAX_BYTES: Final = 16 * 1024 * 1024
_QUESTION: Final = (
    "Use your web search tool now, once, to find the newest stable release of Python, "
    "and name it in one sentence."
)
_ORDER: Final[tuple[WireName, ...]] = ("responses", "messages", "chat")


async def verify(config: Config, name: str) -> Finding:
    """Send a model one request that declares search, and tell whether a search item came back."""
    try:
        target = build_targets(config, WIRES).find(name)
    except WireError as exc:
        return Finding(area="verify", name=name, level="problem", text=str(exc))
    wires: list[tuple[WireName, Verdict]] = [
        (wire, explain(target.name, config.models[target.name], upstream, wire)[1])
        for upstream in [config.upstreams[target.upstream]]
        for wire in _ORDER
        if wire in target.ways
    ]
    if not wires:
        text = f"its upstream speaks {', '.join(target.wires)}, which this version does not serve"
        return Finding(area="verify", name=name, level="problem", text=text)
    # The wire on which it is said to search, if there is one.
    wire, verdict = next((it for it in wires if it[1].capability == "hosted"), wires[0])
    client = UpstreamClient(idle_timeout_s=PATIENCE_S)
    try:
        async with asyncio.timeout(PATIENCE_S):
            reply = await _ask(client, target, wire)
    except UpstreamError as exc:
        return Finding(area="verify", name=name, level="problem", text=str(exc))
    except TimeoutError:
        text = f"no whole answer within {PATIENCE_S:g} s on {wire}"
        return Finding(area="verify", name=name, level="problem", text=text)
    finally:
        await client.close()
    if reply.status >= 400:
        return _refused(config, target, name, wire, reply)
    return _judged(target, name, wire, verdict, reply.body)


async def _ask(client: UpstreamClient, target: Target, wire: WireName) -> Reply:
    way: Way = target.ways[wire]
    lines = {b"content-type": b"application/json", b"accept": b"application/json"}
    if wire == "messages":
        lines[b"anthropic-version"] = b"2023-06-01"
    extra = b"".join(
        b"%s: %s\r\n" % line for line in lines.items() if line[0] not in target.set_headers
    )
    body = msgspec.json.encode(_request(target.model, wire))
    return await client.send(
        way.origin, way.line + way.head + extra, body, whole=True, max_bytes=_MAX_BYTES
    )


def _request(model: str, wire: WireName) -> dict[str, Any]:
    user = {"role": "user", "content": _QUESTION}
    if wire == "messages":
        tool = {"type": "web_search_20250305", "name": "web_search", "max_uses": 1}
        return {"model": model, "max_tokens": 1024, "messages": [user], "tools": [tool]}
    if wire == "responses":
        return {"model": model, "input": [user], "tools": [{"type": "web_search"}]}
    return {"model": model, "messages": [user], "web_search_options": {}}


def search_item(wire: str, body: bytes) -> str:
    """Return which search item an answer holds, in words; nothing where it holds none."""
    try:
        answer = msgspec.json.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ""
    return next(_search_items(wire, answer), "")


def _search_items(wire: str, answer: Any) -> Iterator[str]:
    if wire == "messages":
        for block in _rows(answer, "content"):
            if block.get("type") == "web_search_tool_result":
                yield "a web_search_tool_result block"
    elif wire == "responses":
        for item in _rows(answer, "output"):
            if item.get("type") == "web_search_call":
                yield "a web_search_call item"
    else:
        for choice in _rows(answer, "choices"):
            for note in _rows(choice.get("message"), "annotations"):
                if note.get("type") == "url_citation":
                    yield "a url_citation"


def _rows(holder: Any, key: str) -> Iterator[dict[str, Any]]:
    rows = holder.get(key) if isinstance(holder, dict) else None
    yield from (row for row in (rows if isinstance(rows, list) else []) if isinstance(row, dict))


def _refused(config: Config, target: Target, name: str, wire: str, reply: Reply) -> Finding:
    said = excerpt(reply.body, Masker(secrets_of(config.upstreams[target.upstream])))
    remedy = f"set upstreams.{target.upstream}.accepts_search_tool to false if it takes none"
    if reply.status in (401, 403):
        remedy = f"check upstreams.{target.upstream}.api_key"
    elif reply.status not in (400, 422):
        remedy = "see what the upstream says, and try again"
    told = f" ({said})" if said else ""
    text = f"the upstream answered {reply.status} on {wire} to a declared search{told}"
    return Finding(area="verify", name=name, level="problem", text=text, remedy=remedy)


def _judged(target: Target, name: str, wire: str, verdict: Verdict, body: bytes) -> Finding:
    hosted = verdict.capability == "hosted"
    found = search_item(wire, body)
    at = f"models.{target.name}.capabilities.web_search"
    if found:
        return Finding(
            area="verify",
            name=name,
            level="ok" if hosted else "warning",
            text=f"it searches by itself on {wire}: {found} came back",
            remedy="" if hosted else f"the rules say it does not: set {at} to true",
        )
    text = f"no search item came back on {wire}"
    if hosted:
        return Finding(
            area="verify",
            name=name,
            level="problem",
            text=f"{text}, although {verdict.source} says it searches ({verdict.evidence})",
            remedy=f"set {at} to false, so that the gateway searches",
        )
    return Finding(area="verify", name=name, level="ok", text=f"{text}: the gateway searches")
