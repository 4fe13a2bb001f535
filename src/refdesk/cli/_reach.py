"""The doctor's calls: every engine, every upstream, and the port that `serve` would listen on."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from refdesk.cli._finding import Finding
from refdesk.errors import SearchError, UpstreamError
from refdesk.masking import Masker
from refdesk.upstream import Origin, UpstreamClient
from refdesk.web.engines import BaseEngine
from refdesk.web.engines._failure import excerpt

if TYPE_CHECKING:
    from refdesk.config import Config
    from refdesk.config.schema import UpstreamEntry
    from refdesk.store import Store
    from refdesk.upstream.reply import Reply

PATIENCE_S: Final = 5.0
"""For a connection, and again for an answer."""
_MAX_BYTES: Final = 4 * 1024 * 1024
_NAMES_SHOWN: Final = 5
_ANY: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what it would be reached by


async def try_engines(
    config: Config, engines: Mapping[str, BaseEngine], store: Store | None
) -> list[Finding]:
    """Ask every enabled engine a real question, all at once."""
    from refdesk.cli._web import web_search
    from refdesk.cli.engines import remedy, results_of, told

    async def one(name: str) -> Finding:
        try:
            attempt = await web.test(name)
        except SearchError as exc:
            return Finding(area="engine", name=name, level="problem", text=str(exc))
        well = attempt.outcome == "ok" and results_of(attempt) > 0
        return Finding(
            area="engine",
            name=name,
            level="ok" if well else "warning" if attempt.outcome in ("ok", "empty") else "problem",
            text=told(attempt),
            remedy=remedy(attempt),
        )

    enabled = [name for name, engine in engines.items() if engine.options.enabled]
    if not enabled:
        text = "none is enabled: the gateway cannot search"
        remedy_ = "enable or add one under engines:"
        return [Finding(area="engine", level="warning", text=text, remedy=remedy_)]
    async with web_search(config, engines, store, at_once=len(enabled)) as web:
        found = await asyncio.gather(*map(one, enabled))
    disabled = (name for name in engines if name not in enabled)
    return [
        *found,
        *(Finding(area="engine", name=name, level="ok", text="disabled") for name in disabled),
    ]


async def try_upstreams(config: Config) -> tuple[list[Finding], list[datetime]]:
    """Ask every upstream for its models; return also what time their servers have."""
    client = UpstreamClient(connect_timeout_s=PATIENCE_S, idle_timeout_s=PATIENCE_S)
    times: list[datetime] = []
    try:
        found = await asyncio.gather(
            *(_upstream(client, config, name, times) for name in config.upstreams)
        )
    finally:
        await client.close()
    return [finding for findings in found for finding in findings], times


async def _upstream(
    client: UpstreamClient, config: Config, name: str, times: list[datetime]
) -> list[Finding]:
    entry = config.upstreams[name]
    origin, prefix = Origin.parse(entry.base_url)
    path = f"{prefix or '/v1'}/models"
    lines = [f"GET {path} HTTP/1.1", *(f"{key}: {value}" for key, value in _headers(entry, origin))]
    try:
        head = "".join(f"{line}\r\n" for line in lines).encode("latin-1")
        async with asyncio.timeout(2 * PATIENCE_S):
            reply = await client.send(origin, head, b"", whole=True, max_bytes=_MAX_BYTES)
    except UpstreamError as exc:
        return [Finding(area="upstream", name=name, level="problem", text=str(exc))]
    except UnicodeEncodeError:
        text = "its key or one of its headers holds a character that no HTTP header can carry"
        remedy = f"write upstreams.{name}.api_key and headers again"
        return [Finding(area="upstream", name=name, level="problem", text=text, remedy=remedy)]
    except TimeoutError:
        text = f"{origin} did not finish its answer within {2 * PATIENCE_S:g} s"
        return [Finding(area="upstream", name=name, level="problem", text=text)]
    with contextlib.suppress(ValueError, TypeError):
        date = parsedate_to_datetime((reply.header(b"date") or b"").decode("latin-1"))
        times.append(date if date.tzinfo else date.replace(tzinfo=UTC))
    return [_judged(name, entry, origin, path, reply), *_unlisted(config, name, reply)]


def _headers(entry: UpstreamEntry, origin: Origin) -> Iterable[tuple[str, str]]:
    headers = {"host": origin.authority, "accept": "application/json"}
    headers["accept-encoding"] = "identity"
    messages = entry.wire[0] == "messages"
    if messages:
        headers["anthropic-version"] = "2023-06-01"
    if entry.api_key is not None:
        key = entry.api_key.get_secret_value()
        headers |= {"x-api-key": key} if messages else {"authorization": f"Bearer {key}"}
    headers |= {key: value.get_secret_value() for key, value in entry.headers.items()}
    return headers.items()


def secrets_of(entry: UpstreamEntry) -> tuple[str, ...]:
    """Return what no message about an upstream may hold."""
    key = (entry.api_key,) if entry.api_key is not None else ()
    return tuple(one.get_secret_value() for one in (*key, *entry.headers.values()))


def _judged(name: str, entry: UpstreamEntry, origin: Origin, path: str, reply: Reply) -> Finding:
    def finding(level: Any, text: str, remedy: str = "") -> Finding:
        return Finding(area="upstream", name=name, level=level, text=text, remedy=remedy)

    status = reply.status
    said = excerpt(reply.body, Masker(secrets_of(entry)))
    told = f" ({said})" if said else ""
    if 200 <= status < 300:
        listed = model_ids(reply.body)
        return finding("ok", f"{origin} answers, {len(listed)} models listed")
    if status in (401, 403):
        if entry.api_key is None:
            return finding(
                "problem",
                f"{origin} answered {status}: it wants a key, and none is set{told}",
                f"set upstreams.{name}.api_key",
            )
        return finding(
            "problem",
            f"the key is refused: {origin} answered {status}{told}",
            f"check upstreams.{name}.api_key",
        )
    if status in (404, 405, 501):
        return finding(
            "ok", f"{origin} answers, but lists no models ({status}), so the key was not tried"
        )
    if 300 <= status < 400:
        return finding(
            "problem",
            f"{origin} answered {status}, a redirect, which is not followed",
            f"set upstreams.{name}.base_url to the address it redirects to",
        )
    if status == 429:
        return finding(
            "warning", f"{origin} limits the rate (429){told}", "wait, or ask for a higher limit"
        )
    if status < 500:
        return finding(
            "warning",
            f"{origin} answered {status} to GET {path}{told}",
            f"check upstreams.{name}.base_url",
        )
    return finding("problem", f"{origin} answered {status}{told}", "see to that server, or wait")


def model_ids(body: bytes) -> list[str]:
    """Return the ids in a list of models, of OpenAI's or Anthropic's shape; none in another."""
    try:
        answer = msgspec.json.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return []
    rows = answer.get("data") if isinstance(answer, dict) else None
    return [
        row["id"]
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, dict) and isinstance(row.get("id"), str)
    ]


def _unlisted(config: Config, name: str, reply: Reply) -> list[Finding]:
    """Name the configured models that the upstream does not list, where it lists any."""
    listed = model_ids(reply.body) if 200 <= reply.status < 300 else []
    if not listed:
        return []
    missing = [
        model.model or own
        for own, model in config.models.items()
        if model.upstream == name and not _is_listed(model.model or own, listed)
    ]
    if not missing:
        return []
    known = ", ".join(sorted(listed)[:_NAMES_SHOWN])
    more = ", …" if len(listed) > _NAMES_SHOWN else ""
    return [
        Finding(
            area="upstream",
            name=name,
            level="warning",
            text=f"it does not list {', '.join(map(repr, missing))}; it lists {known}{more}",
            remedy="check `model` of these entries",
        )
    ]


def _is_listed(model: str, listed: Sequence[str]) -> bool:
    # Ollama lists `llama3:latest` for what may be asked for as `llama3`.
    return model in listed or f"{model}:latest" in listed


def origin_of(config: Config) -> Origin | None:
    """Return where a server of this configuration answers; None where it picks a port itself."""
    host, port = config.server.host, config.server.port
    return Origin("http", _ANY.get(host, host), port) if port else None


async def try_port(config: Config) -> Finding:
    """Look whether our server answers where `serve` would listen, or else the port is free."""
    host, port = config.server.host, config.server.port
    shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def finding(level: Any, text: str, remedy: str = "") -> Finding:
        return Finding(area="port", name=shown, level=level, text=text, remedy=remedy)

    origin = origin_of(config)
    if origin is None:
        return finding("ok", "a free one is picked at start")
    client = UpstreamClient(connect_timeout_s=PATIENCE_S, idle_timeout_s=PATIENCE_S)
    head = f"GET /readyz HTTP/1.1\r\nhost: {origin.authority}\r\n".encode()
    try:
        reply = await client.send(origin, head, b"", whole=True, max_bytes=4096)
    except UpstreamError as exc:
        if exc.fault != "unreachable":
            return _taken(finding)
    else:
        if reply.status == 200 and reply.body.strip() == b"ready":
            return finding("ok", "a Refdesk answers there and is ready")
        if reply.status == 503:
            why = excerpt(reply.body) or "503"
            return finding("warning", f"a server answers there that is not ready: {why}")
        return _taken(finding)
    finally:
        await client.close()
    if why := _cannot_bind(host, port):
        remedy = "choose another server.host or server.port"
        return finding("problem", f"it cannot be listened on: {why}", remedy)
    return finding("ok", "it is free")


def _taken(finding: Any) -> Finding:
    made: Finding = finding(
        "problem", "another program listens there", "end it, or choose another server.port"
    )
    return made


def _cannot_bind(host: str, port: int) -> str:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((host, port))
        except OSError as exc:
            return (exc.strerror or str(exc)).lower()
    return ""
