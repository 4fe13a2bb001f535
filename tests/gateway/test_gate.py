"""The gate: which requests pass, from where, and as whom."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from desk import WIRES, Desk, OpenDesk, answers, asks, whole
from refdesk.api import v1
from refdesk.errors import WireError
from refdesk.gateway.gate import ANONYMOUS, Access, Gate, Right
from refdesk.gateway.root import Mount
from refdesk.store.quota import RequestRates

OWN = (b"host", b"127.0.0.1:8484")
KEY = (b"authorization", b"Bearer good")
JSON = (b"content-type", b"application/json")


@dataclass(frozen=True)
class Key:
    """A valid key."""

    id: str = "k1"
    claims: Mapping[str, Any] = field(default_factory=dict)
    requests_per_minute: int | None = None


class Keys:
    """Knows one key."""

    def __init__(self, **claims: Any) -> None:
        self._claims = claims

    def check(self, presented: str) -> Key | None:
        """Return the key whose text is ``good``."""
        return Key(claims=self._claims) if presented == "good" else None


def status(
    *headers: tuple[bytes, bytes],
    right: Right = Right.CLIENT,
    posts: bool = False,
    files: bool = False,
    keys: Keys | None = None,
    **access: Any,
) -> int:
    """Return 200 where a request passes, else the status of its refusal."""
    gate = Gate(keys or Keys(), Access(**access), RequestRates())
    try:
        gate.admit(list(headers), right, posts=posts, files=files)
    except WireError as exc:
        return exc.status
    return 200


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", 200),
        ("LocalHost:8484", 200),
        ("localhost.:8484", 200),
        ("127.0.0.1:8484", 200),
        ("[::1]:8484", 200),
        ("192.168.1.7", 200),
        ("[fd00::7]:1", 200),
        ("refdesk.lan:80", 200),
        ("REFDESK.LAN", 200),
        ("evil.example", 403),
        ("evil.example:8484", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("evil.example#localhost", 403),
        ("localhost@evil.example", 403),
        ("localhost/x", 403),
        ("localhost:x", 403),
        ("127.1", 403),
        ("2130706433", 403),
        ("", 403),
        ("x" * 300, 403),
    ],
)
def test_only_own_names_need_no_key(host: str, expected: int) -> None:
    """Without a key the Host is a loopback name, an IP literal or a configured name."""
    hosts = frozenset({"refdesk.lan"})
    assert status((b"host", host.encode()), hosts=hosts) == expected
    assert status((b"host", host.encode()), KEY, hosts=hosts) == 200
    assert status(OWN, (b"host", host.encode()), hosts=hosts) == expected


def test_a_request_without_a_host_is_refused() -> None:
    """HTTP/1.0 knows requests without a Host; they need a key."""
    assert (status(), status(KEY)) == (403, 200)


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://127.0.0.1:8484", 200),
        ("https://127.0.0.1:8484", 200),
        ("https://chat.example", 200),
        ("HTTPS://Chat.Example", 200),
        ("http://127.0.0.1:3000", 403),
        ("http://localhost:8484", 403),
        ("https://evil.example", 403),
        ("https://chat.example.evil.example", 403),
        ("https://chat.example:444", 403),
        ("null", 403),
        ("file://", 403),
        ("127.0.0.1:8484", 403),
        ("http://" + "a" * 300, 403),
    ],
)
def test_only_own_pages_need_no_key(origin: str, expected: int) -> None:
    """Without a key the Origin is this server or a configured one."""
    sent = (OWN, (b"origin", origin.encode()))
    origins = frozenset({"https://chat.example"})
    assert status(*sent, origins=origins) == expected
    assert status(*sent, KEY, origins=origins) == 200
    assert status(*sent, (b"origin", b"https://evil.example"), origins=origins) == 403


@pytest.mark.parametrize(
    ("site", "expected"),
    [
        ("none", 200),
        ("same-origin", 200),
        ("Same-Origin", 200),
        ("same-site", 403),
        ("cross-site", 403),
        ("something new", 403),
    ],
)
def test_requests_that_other_sites_start_need_a_key(site: str, expected: int) -> None:
    """A browser's own word on who started the request counts, also without an Origin."""
    assert status(OWN, (b"sec-fetch-site", site.encode())) == expected
    listed = (b"origin", b"https://chat.example")
    sent = (OWN, listed, (b"sec-fetch-site", site.encode()))
    assert status(*sent, origins=frozenset({"https://chat.example"})) == 200


def test_default_ports_are_the_same_origin() -> None:
    """http://localhost and http://localhost:80 are one origin."""
    assert status((b"host", b"localhost"), (b"origin", b"http://localhost:80")) == 200
    assert status((b"host", b"localhost:443"), (b"origin", b"https://localhost")) == 200
    assert status((b"host", b"localhost:80"), (b"origin", b"https://localhost")) == 403


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "text/plain;charset=utf-8", "application/x-www-form-urlencoded"]
)
def test_browsers_send_json(kind: str) -> None:
    """What a page may send without a preflight is refused from browsers, and from them only."""
    given = (b"content-type", kind.encode())
    page = (b"origin", b"http://127.0.0.1:8484")
    assert status(OWN, page, given, posts=True) == 415
    assert status(OWN, (b"sec-fetch-site", b"same-origin"), given, posts=True) == 415
    assert status(OWN, page, given, posts=True, files=True) == 415
    assert status(OWN, given, posts=True) == 200
    assert status(OWN, page, JSON, posts=True) == 200
    form = (b"content-type", b"multipart/form-data; boundary=x")
    assert [status(OWN, page, form, posts=True, files=files) for files in (True, False)] == [
        200,
        415,
    ]


@pytest.mark.parametrize(
    "name", ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"]
)
def test_behind_a_proxy_auto_needs_a_key(name: str) -> None:
    """A forwarded request is not local: `auth.required: auto` then asks for a key."""
    sent = (OWN, (name.encode(), b"203.0.113.9"))
    assert status(*sent, automatic=True) == 401
    assert status(*sent, KEY, automatic=True) == 200
    assert status(*sent) == 200


@pytest.mark.parametrize(
    ("claims", "expected"),
    [({}, 403), ({"metrics": True}, 200), ({"admin": True}, 200), ({"admin": ["handbook"]}, 403)],
)
def test_metrics_need_a_claim(claims: dict[str, Any], expected: int) -> None:
    """Where keys are required, /metrics wants one with the claim metrics or admin."""
    keys = Keys(**claims)
    assert status(OWN, KEY, right=Right.METRICS, required=True, keys=keys) == expected
    assert status(OWN, right=Right.METRICS, required=True, keys=keys) == 401
    assert status(OWN, right=Right.METRICS) == 200


def test_callers_are_known_by_their_key() -> None:
    """A valid key gives its id and claims; an unknown one is none where none is needed."""
    gate = Gate(Keys(team="a"), Access(), RequestRates())
    caller = gate.admit([OWN, KEY], Right.CLIENT)
    assert (caller.key_id, caller.claims) == ("k1", {"team": "a"})
    assert gate.admit([OWN, (b"x-api-key", b"refdesk")], Right.CLIENT) is ANONYMOUS
    with pytest.raises(WireError, match="not valid here"):
        Gate(Keys(), Access(required=True), RequestRates()).admit(
            [(b"x-api-key", b"bad")], Right.CLIENT
        )


async def test_requests_a_minute(opened: OpenDesk) -> None:
    """Beyond a key's requests a minute every route answers 429 with `retry-after`, in its shape."""
    async with opened() as desk:
        keys = desk.store.keys
        token, _ = await asyncio.to_thread(keys.create, "slow", requests_per_minute=2)
        other, _ = await asyncio.to_thread(keys.create, "free")
        await asyncio.to_thread(desk.application.keys.reload)
        slow = {"x-api-key": token}
        answers_ = [await desk.client.get("/v1/models", headers=slow) for _ in range(3)]
        posted = await desk.client.post("/v1/messages", json=asks("messages"), headers=slow)
        listed = await desk.client.get("/api/v1/collections", headers=slow)
        free = await desk.client.get("/v1/models", headers={"x-api-key": other})

    assert [each.status_code for each in answers_] == [200, 200, 429]
    assert 0 < int(answers_[2].headers["retry-after"]) <= 30
    assert "x-should-retry" not in answers_[2].headers
    assert posted.json()["error"]["type"] == "rate_limit_error"
    assert (listed.status_code, listed.json()["status"]) == (429, 429)
    assert free.status_code == 200
    assert desk.upstream.seen == []


# Every route, over HTTP

ATTACKS: tuple[dict[str, str], ...] = (
    {"host": "evil.example"},
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
    {"sec-fetch-site": "same-site"},
)


def path_of(mount: Mount) -> str:
    """Return a path that a route answers."""
    return mount.path + "x" if mount.path.endswith("/") and mount.path != "/" else mount.path


async def test_every_route_declares_a_right_and_keeps_foreign_pages_out(desk: Desk) -> None:
    """Every route of the application has a right; all but health checks pass the gate first."""
    desk.upstream.will(whole(answers("chat")))
    mounts = desk.application.root.mounts
    tried = 0
    for mount in mounts:
        assert isinstance(mount.right, Right), mount.path
        if mount.right is Right.OPEN:
            assert mount.path in ("/livez", "/readyz")
            continue
        for attack in ATTACKS:
            answer = await desk.client.request(
                mount.method, path_of(mount), content=b"{}", headers=attack
            )
            assert answer.status_code == 403, (mount.path, attack)
            assert answer.headers["x-should-retry"] == "false"
            tried += 1
    assert tried >= len(ATTACKS) * 20
    for route in v1.ROUTES:
        path = "/api/v1" + route.path.replace("{", "").replace("}", "")
        for attack in ATTACKS:
            answer = await desk.client.request(route.method, path, content=b"{}", headers=attack)
            assert answer.status_code == 403, (path, attack)
    assert desk.upstream.seen == []
    assert desk.engine.queries == []


async def test_every_route_wants_a_key_where_keys_are_required(opened: OpenDesk) -> None:
    """With `auth.required`, only health checks and the start page answer without a key."""
    async with opened(auth={"required": True}) as desk:
        for mount in desk.application.root.mounts:
            answer = await desk.client.request(mount.method, path_of(mount), content=b"{}")
            free = mount.right in (Right.OPEN, Right.PAGE)
            assert (answer.status_code != 401) == free, mount.path
            assert free or answer.headers["x-should-retry"] == "false"
        assert (await desk.client.head("/")).status_code == 200


@pytest.mark.parametrize("wire", WIRES)
async def test_refusals_wear_the_wire_and_are_logged(desk: Desk, wire: str) -> None:
    """A refused model request is answered in its wire's form, and is in the log."""
    path = {"messages": "/v1/messages", "chat": "/v1/chat/completions"}.get(wire, "/v1/responses")
    answer = await desk.post(path, asks(wire), origin="https://evil.example")
    entry = await desk.last()

    error = answer.json()["error"]
    assert "https://evil.example" in error["message"]
    assert "server.origins" in error["message"]
    assert error["type"] == "permission_error"
    assert (entry.status, entry.wire) == (403, wire)
    assert "evil.example" in entry.error


async def test_a_cross_site_text_post_spends_nothing(desk: Desk) -> None:
    """A form's or fetch's text/plain body never reaches an upstream or an engine."""
    for headers in (
        {"content-type": "text/plain", "origin": "https://evil.example"},
        {"content-type": "text/plain", "sec-fetch-site": "cross-site"},
        {"content-type": "text/plain", "origin": f"http://{desk.host}:{desk.port}"},
    ):
        answer = await desk.client.post(
            "/v1/chat/completions", content=json.dumps(asks("chat")), headers=headers
        )
        assert answer.status_code in (403, 415)
    assert desk.upstream.seen == []
    assert desk.engine.queries == []


async def test_configured_names_and_origins_may_call(opened: OpenDesk) -> None:
    """`server.hosts` and `server.origins` let their names and pages in, and pages may read."""
    server = {"hosts": ["refdesk.lan"], "origins": ["https://chat.example"]}
    async with opened(server=server) as desk:
        desk.upstream.will(whole(answers("chat")))
        origin = {"origin": "https://chat.example", "sec-fetch-site": "cross-site"}
        preflight = await desk.client.request(
            "OPTIONS",
            "/v1/chat/completions",
            headers=origin
            | {
                "access-control-request-method": "POST",
                "access-control-request-headers": "content-type,x-api-key",
            },
        )
        asked = await desk.client.post(
            "/v1/chat/completions", json=asks("chat", search=False), headers=origin
        )
        named = await desk.client.get("/v1/models", headers={"host": "refdesk.lan:1"})
        other = await desk.client.request(
            "OPTIONS", "/v1/chat/completions", headers={"origin": "https://evil.example"}
        )

    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-headers"] == "content-type,x-api-key"
    assert asked.status_code == 200
    assert asked.headers["access-control-allow-origin"] == "https://chat.example"
    assert "x-request-id" in asked.headers["access-control-expose-headers"]
    assert named.status_code == 200
    assert other.status_code == 403
    assert "access-control-allow-origin" not in other.headers


async def test_a_reload_changes_the_gate(opened: OpenDesk) -> None:
    """Who may come in follows the configuration that holds now."""
    async with opened() as desk:
        assert (await desk.client.get("/v1/models")).status_code == 200
        config = desk.application.config
        stricter = config.model_copy(
            update={"auth": config.auth.model_copy(update={"required": True})}
        )
        await asyncio.to_thread(desk.application.reload, stricter)
        assert (await desk.client.get("/v1/models")).status_code == 401
