"""``refdesk doctor``: all that the configuration names, for real, and never a key."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from commands import Command, Peer, Ran
from commands import found as results
from refdesk.cli._checkup import look_at_clock
from refdesk.cli._reach import model_ids
from refdesk.cli._verify import search_item
from refdesk.config import load
from refdesk.store import RequestRecord
from refdesk.store.opening import open_store

KEY = "sk-SECRET-0123456789-tail"
OFFLINE = "engines: {pages: {type: offline}}\n"


@pytest.fixture
def free() -> Iterator[int]:
    """A port that nobody listens on; it is bound, so that nobody else gets it."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", 0))
        yield sock.getsockname()[1]


def yaml(peer: Peer, port: int, *, more: str = "", engines: str = OFFLINE) -> str:
    """A configuration whose upstream is the peer."""
    return (
        f"server: {{port: {port}}}\n{engines}"
        f'upstreams:\n  up: {{base_url: "{peer.url}/v1", api_key: {KEY}{more}}}\n'
        "models: {m: {upstream: up, model: llama}}\n"
    )


def lines(ran: Ran, area: str) -> list[tuple[str, str]]:
    """Level and text with remedy of each finding about an area."""
    return [
        (each["level"], f"{each['text']} | {each['remedy']}")
        for each in ran.json["findings"]
        if each["area"] == area
    ]


def test_all_is_well(refdesk: Command, folder: Path, peer: Peer, free: int) -> None:
    """A line for each thing looked at, and exit status 0; nothing is made."""
    peer.answers["/v1/models"] = (200, {"data": [{"id": "llama"}]})
    ran = refdesk("doctor", yaml=yaml(peer, free))
    assert ran.code == 0, ran.out
    told = ran.out.splitlines()
    assert told[0] == "✓ config: refdesk.yaml"
    assert told[1].startswith("✓ store: there is none at ")
    assert told[2] == f"✓ data_dir: {folder}/refdesk-data is made on first start"
    assert told[3].startswith("✓ clock: ")
    assert told[4] == f"✓ port 127.0.0.1:{free}: it is free"
    assert told[5].startswith("✓ engine pages: well: ")
    assert told[6] == f"✓ upstream up: 127.0.0.1:{peer.port} answers, 1 models listed"
    assert len(told) == 7
    assert not (folder / "refdesk-data").exists()
    assert refdesk("doctor", "--json").json["ok"] is True


def test_request_to_upstream(refdesk: Command, peer: Peer, free: int) -> None:
    """The upstream is asked as the gateway would ask it: key, headers, path."""
    refdesk("doctor", yaml=yaml(peer, free, more=", headers: {x-team: blue}"))
    ((method, path, headers, _),) = peer.seen
    assert (method, path) == ("GET", "/v1/models")
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["x-team"] == "blue"
    peer.seen.clear()
    refdesk("doctor", yaml=yaml(peer, free, more=", wire: messages").replace("/v1", ""))
    ((_, path, headers, _),) = peer.seen
    assert path == "/v1/models"
    assert headers["x-api-key"] == KEY
    assert "authorization" not in headers
    assert "anthropic-version" in headers


@pytest.mark.parametrize(
    ("status", "level", "told"),
    [
        (401, "problem", "the key is refused"),
        (403, "problem", "check upstreams.up.api_key"),
        (404, "ok", "lists no models (404), so the key was not tried"),
        (302, "problem", "a redirect, which is not followed"),
        (429, "warning", "limits the rate (429)"),
        (418, "warning", "check upstreams.up.base_url"),
        (503, "problem", "answered 503"),
    ],
)
def test_upstream_status(
    refdesk: Command, peer: Peer, free: int, status: int, level: str, told: str
) -> None:
    """What an upstream answers is told with a remedy; a key it quotes is not shown."""
    peer.answers["/v1/models"] = (status, {"error": {"message": f"no, {KEY}"}})
    ran = refdesk("doctor", "--json", yaml=yaml(peer, free))
    ((found_level, text),) = lines(ran, "upstream")
    assert found_level == level
    assert told in text
    assert ran.code == (3 if level == "problem" else 0)
    assert KEY not in ran.out + ran.err


def test_key_that_is_missing(refdesk: Command, peer: Peer, free: int) -> None:
    """A 401 where no key is set asks for one."""
    peer.answers["/v1/models"] = (401, {})
    ran = refdesk("doctor", "--json", yaml=yaml(peer, free).replace(f", api_key: {KEY}", ""))
    assert lines(ran, "upstream")[0][1].endswith("| set upstreams.up.api_key")


def test_model_that_is_not_listed(refdesk: Command, peer: Peer, free: int) -> None:
    """A model that the upstream does not list is told, with what it lists; `:latest` counts."""
    peer.answers["/v1/models"] = (200, {"data": [{"id": "lama"}, {"id": "b"}]})
    ran = refdesk("doctor", "--json", yaml=yaml(peer, free))
    assert ran.code == 0
    told = "it does not list 'llama'; it lists b, lama | check `model` of these entries"
    assert ("warning", told) in lines(ran, "upstream")
    peer.answers["/v1/models"] = (200, {"data": [{"id": "llama:latest"}]})
    assert len(lines(refdesk("doctor", "--json"), "upstream")) == 1


def test_unreachable(refdesk: Command, peer: Peer, free: int) -> None:
    """Engines and upstreams that are away are problems, all told in one go: exit status 3."""
    text = yaml(peer, free, engines=(
        f'engines: {{own: {{type: searxng, base_url: "http://127.0.0.1:{free}"}},'
        " pages: {type: offline}, off: {type: offline, enabled: false}}\n"
    )).replace(peer.url, f"http://127.0.0.1:{free}")  # fmt: skip
    ran = refdesk("doctor", yaml=text)
    assert ran.code == 3
    told = ran.out.splitlines()
    assert any(line.startswith("✗ engine own: unreachable after ") for line in told)
    assert any(line.startswith(f"✗ upstream up: 127.0.0.1:{free} could not be") for line in told)
    assert any(line.startswith("✓ engine pages: well") for line in told)
    assert "✓ engine off: disabled" in told
    assert ran.err == "2 problems\n"


def test_refused_engine_key(refdesk: Command, peer: Peer, free: int) -> None:
    """An engine's refused key is a problem with the key's place, without the key."""
    peer.answers["/search"] = (403, {"message": f"bad {KEY}"})
    engines = f'engines: {{main: {{type: serper, base_url: "{peer.url}", api_key: {KEY}}}}}\n'
    ran = refdesk("doctor", "--json", yaml=yaml(peer, free, engines=engines))
    ((level, text),) = lines(ran, "engine")
    assert level == "problem"
    assert text.endswith("| check engines.main.api_key")
    assert KEY not in ran.out + ran.err


def test_engine_that_finds_nothing(refdesk: Command, peer: Peer, free: int) -> None:
    """An engine that answers without a result is a warning; no enabled engine is one, too."""
    peer.answers["/search"] = (200, results())
    engines = f'engines: {{own: {{type: searxng, base_url: "{peer.url}"}}}}\n'
    ran = refdesk("doctor", "--json", yaml=yaml(peer, free, engines=engines))
    assert (ran.code, lines(ran, "engine")[0][0]) == (0, "warning")
    ran = refdesk("doctor", "--json", yaml=yaml(peer, free, engines="engines: {}\n"))
    assert "the gateway cannot search" in lines(ran, "engine")[0][1]


def test_configuration(refdesk: Command, peer: Peer, free: int) -> None:
    """What `check` finds is told first; what can be reached all the same is."""
    engines = "engines: {pages: {type: offline}, bad: {type: tavly}}\n"
    ran = refdesk("doctor", "--json", yaml=yaml(peer, free, engines=engines))
    assert ran.code == 3
    assert lines(ran, "config")[0][1].startswith("refdesk.yaml:2:")
    assert [each["name"] for each in ran.json["findings"] if each["area"] == "engine"] == ["pages"]
    ran = refdesk("doctor", "--json", yaml="versin: 1\n")
    assert (ran.code, len(ran.json["findings"])) == (3, 1)


def test_store_and_modes(refdesk: Command, folder: Path, peer: Peer, free: int) -> None:
    """The store is asked; what others may read is a warning with the command that ends it."""
    (folder / "refdesk.yaml").write_text(yaml(peer, free))
    open_store(load(folder / "refdesk.yaml", env={}).config).close()
    ran = refdesk("doctor", "--json")
    assert "answers, schema" in lines(ran, "store")[0][1]
    assert [lines(ran, area)[0][0] for area in ("data_dir", "store.key")] == ["ok", "ok"]
    data = folder / "refdesk-data"
    data.chmod(0o755)
    (data / "store.key").chmod(0o644)
    ran = refdesk("doctor", "--json")
    assert ran.code == 0
    assert lines(ran, "data_dir") == [
        ("warning", f"{data} is open to others (mode 0755) | chmod 700 {data}")
    ]
    assert lines(ran, "store.key")[0][1].endswith(f"| chmod 600 {data}/store.key")


def test_broken_store(refdesk: Command, folder: Path, peer: Peer, free: int) -> None:
    """A damaged store is a problem; the rest is looked at all the same."""
    (folder / "refdesk-data").mkdir(mode=0o700)
    (folder / "refdesk-data/refdesk.db").write_bytes(b"no database" * 100)
    ran = refdesk("doctor", "--json", yaml=yaml(peer, free))
    assert ran.code == 3
    assert lines(ran, "store")[0][0] == "problem"
    assert "refdesk.db" in lines(ran, "store")[0][1]
    assert lines(ran, "engine")[0][0] == "ok"


def test_collections(refdesk: Command, folder: Path, peer: Peer, free: int) -> None:
    """Vectors that are gone, an embedder that is away, and what a graph lacks are told."""
    vector = {"data": [{"embedding": [0.6, 0.8], "index": 0}]}
    peer.answers["/v1/embeddings"] = (200, vector)
    peer.answers["/v1/models"] = (200, {"data": [{"id": "llama"}]})
    embedder = f"{{type: openai, base_url: '{peer.url}/v1', model: e, attempts: 1}}"
    more = f"collections: {{far: {{embedder: {embedder}, graph: true}}, empty: {{}}}}\n"
    (folder / "a.md").write_text("Ann knows Bob.")
    config = yaml(peer, free) + more
    assert refdesk("kb", "add", "--collection", "far", "a.md", yaml=config).code == 0
    asked = len(peer.seen)
    assert lines(refdesk("doctor", "--json"), "collection") == [
        ("ok", "1 documents in 1 passages | ")
    ]
    assert any(path == "/v1/embeddings" for _, path, *_ in peer.seen[asked:])

    store = open_store(load(folder / "refdesk.yaml", env={}).config)
    (document,) = store.graph.revisions("far")
    store.graph.forget_document("far", document)
    store.jobs.put("far", "b.md", kind="path")
    store.close()
    vectors = folder / "refdesk-data/kb/vectors"
    shutil.rmtree(vectors)
    peer.answers["/v1/embeddings"] = (503, {"error": {"message": "overloaded"}})
    ran = refdesk("doctor", "--json")
    assert ran.code == 3
    gone, away, waiting, graph = lines(ran, "collection")
    assert gone == ("problem", "of 1 passages the vector store has 0 | refdesk kb reindex far")
    assert away[0] == "problem"
    assert "answered 503: overloaded" in away[1]
    assert waiting[0] == graph[0] == "warning"
    assert waiting[1].startswith("1 documents wait to be taken in")
    assert graph[1].startswith("1 of 1 documents are not in the graph")
    assert not vectors.exists(), "nothing is made by looking"

    peer.answers["/v1/embeddings"] = (200, {"data": [{"embedding": [1, 0, 0], "index": 0}]})
    assert (
        "vectors of 2 dimensions, and these have 3"
        in lines(refdesk("doctor", "--json"), "collection")[1][1]
    )


def test_folder_that_cannot_be_made(refdesk: Command, peer: Peer, free: int, folder: Path) -> None:
    """A data folder below a file is a problem before the first start."""
    (folder / "file").write_text("")
    text = yaml(peer, free) + "data_dir: file/data\n"
    ran = refdesk("doctor", "--json", yaml=text)
    assert lines(ran, "data_dir")[0][0] == "problem"
    assert "cannot be made" in lines(ran, "data_dir")[0][1]


def test_who_may_come_in(refdesk: Command, peer: Peer, free: int) -> None:
    """Listening for all without keys is a warning; so is needing keys where there is none."""
    text = yaml(peer, free).replace("server: {", 'server: {host: "0.0.0.0", ')
    ran = refdesk("doctor", "--json", yaml=text)
    assert "refdesk keys create" in lines(ran, "auth")[0][1]
    ran = refdesk("doctor", "--json", yaml=text + "auth: {required: false}\n")
    assert lines(ran, "auth")[0][1].endswith("| set auth.required to true")
    refdesk("keys", "create", yaml=text)
    assert lines(refdesk("doctor", "--json"), "auth")[0] == ("ok", "clients need a key; 1 valid | ")


@pytest.mark.parametrize(
    ("status", "body", "level", "told"),
    [
        (200, b"ready\n", "ok", "a Refdesk answers there and is ready"),
        (503, b"shutting down\n", "warning", "not ready: shutting down"),
        (200, b"<html>", "problem", "another program listens there"),
    ],
)
def test_port_in_use(
    refdesk: Command, peer: Peer, status: int, body: bytes, level: str, told: str
) -> None:
    """At the port there is our server, ready or not, or another program."""
    peer.answers["/readyz"] = (status, body)
    ran = refdesk("doctor", "--json", yaml=yaml(peer, peer.port))
    assert lines(ran, "port")[0][0] == level
    assert told in lines(ran, "port")[0][1]


STALLS = b"""# TYPE refdesk_loop_stalls_total counter
refdesk_loop_stalls_total{where="refdesk.a:read"} 3.0
# TYPE refdesk_loop_stall_longest_seconds gauge
refdesk_loop_stall_longest_seconds{where="refdesk.a:read"} 1.25
"""


@pytest.mark.parametrize(
    ("status", "body", "level", "told"),
    [
        (200, STALLS, "warning", "up the running server 3 times, for up to 1.2 s | report it"),
        (200, b"# TYPE refdesk_loop_stalls_total counter\n", "ok", "nothing held up"),
        (401, b"a key is required; refdesk keys create makes one", "ok", "wants a client key"),
    ],
)
def test_a_loop_that_was_held_up(
    refdesk: Command, peer: Peer, status: int, body: bytes, level: str, told: str
) -> None:
    """What held up a running server's loop is told from its metrics, with the remedy."""
    peer.answers["/readyz"] = (200, b"ready\n")
    peer.answers["/metrics"] = (status, body)
    ran = refdesk("doctor", "--json", yaml=yaml(peer, peer.port))
    ((found, text),) = lines(ran, "loop")
    assert found == level
    assert told in text


@pytest.mark.parametrize("answer", [(200, b"<html>"), (404, b""), (500, b"\xff"), (403, b"no")])
def test_a_loop_that_tells_nothing(refdesk: Command, peer: Peer, answer: tuple[int, bytes]) -> None:
    """A server that is none of ours, or an older one, is passed over."""
    peer.answers["/readyz"] = (200, b"ready\n")
    peer.answers["/metrics"] = answer
    ran = refdesk("doctor", "--json", yaml=yaml(peer, peer.port))
    assert lines(ran, "loop") == []


def test_port_without_a_server(refdesk: Command, peer: Peer) -> None:
    """Port 0 is always free; a port that is taken and does not answer is a problem."""
    ran = refdesk("doctor", "--json", yaml=yaml(peer, 0))
    assert lines(ran, "port")[0][0] == "ok"
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        ran = refdesk("doctor", "--json", yaml=yaml(peer, sock.getsockname()[1]))
    ((level, text),) = lines(ran, "port")
    assert level == "problem"
    assert text.startswith("it cannot be listened on: address already in use | choose another")


def test_clock(refdesk: Command, peer: Peer, free: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that differs from the servers' is a problem; a fixed one is a warning."""
    peer.date = format_datetime(datetime.now(UTC) - timedelta(hours=1), usegmt=True)
    ran = refdesk("doctor", "--json", yaml=yaml(peer, free))
    level, text = lines(ran, "clock")[0]
    assert level == "problem"
    assert "s ahead of the servers asked" in text
    peer.date = format_datetime(datetime.now(UTC), usegmt=True)
    assert "as the servers asked have it" in lines(refdesk("doctor", "--json"), "clock")[0][1]
    monkeypatch.setenv("REFDESK_NOW", "2026-03-15T12:00:00+00:00")
    assert lines(refdesk("doctor", "--json"), "clock")[0][0] == "warning"
    monkeypatch.setenv("REFDESK_NOW", "today")
    assert look_at_clock([]).level == "problem"


def test_refused_tool(refdesk: Command, folder: Path, peer: Peer, free: int) -> None:
    """An upstream that refused a declared search tool of late is told, once, with the setting."""
    (folder / "refdesk.yaml").write_text(yaml(peer, free))
    notice = (
        "the upstream 'up' answered 400 to a request with a search tool; until the next reload it "
        "is not sent one where nobody searches"
    )
    with open_store(load(folder / "refdesk.yaml", env={}).config) as store:
        for number in range(2):
            store.writer.offer(
                RequestRecord(
                    id=f"r{number}", time=datetime.now(UTC), wire="chat", notices=(notice,)
                )
            )
    found = lines(refdesk("doctor", "--json"), "upstream")
    told = [text for level, text in found if level == "warning"]
    assert len(told) == 1
    assert told[0].endswith("set upstreams.up.accepts_search_tool to false")


SEARCHED = {
    "chat": {"choices": [{"message": {"annotations": [{"type": "url_citation"}]}}]},
    "responses": {"output": [{"type": "web_search_call"}, {"type": "message"}]},
    "messages": {"content": [{"type": "server_tool_use"}, {"type": "web_search_tool_result"}]},
}
PATHS = {"chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages"}


@pytest.mark.parametrize("wire", PATHS)
def test_verify(refdesk: Command, peer: Peer, free: int, wire: str) -> None:
    """One request that declares search goes to the model; only a search item counts as yes."""
    peer.answers[PATHS[wire]] = (200, SEARCHED[wire])
    text = yaml(peer, free, more=f", wire: {wire}")
    ran = refdesk("doctor", "--json", "--verify", "m", yaml=text)
    ((level, told),) = lines(ran, "verify")
    assert level == "warning"
    assert f"it searches by itself on {wire}" in told
    assert told.endswith("set models.m.capabilities.web_search to true")
    ((_, _, headers, body),) = [seen for seen in peer.seen if seen[0] == "POST"]
    sent = json.loads(body)
    assert sent["model"] == "llama"
    assert "web_search" in json.dumps(sent)
    assert KEY in (headers.get("x-api-key", ""), headers.get("authorization", "")[7:])
    peer.answers[PATHS[wire]] = (200, {"content": [], "choices": [], "output": []})
    ((level, told),) = lines(refdesk("doctor", "--json", "--verify", "m"), "verify")
    assert (level, told) == ("ok", f"no search item came back on {wire}: the gateway searches | ")


def test_verify_contradicts(refdesk: Command, peer: Peer, free: int) -> None:
    """A model that is said to search and does not is a problem, with the setting that says so."""
    peer.answers["/v1/chat/completions"] = (200, {"choices": []})
    text = yaml(peer, free).replace("llama", "llama, capabilities: {web_search: true}")
    ran = refdesk("doctor", "--json", "--verify", "m", yaml=text)
    ((level, told),) = lines(ran, "verify")
    assert (ran.code, level) == (3, "problem")
    assert "although metadata says it searches" in told
    assert "set models.m.capabilities.web_search to false" in told


@pytest.mark.parametrize(
    ("status", "remedy"),
    [
        (400, "accepts_search_tool to false"),
        (401, "check upstreams.up.api_key"),
        (500, "see what the upstream says"),
    ],
)
def test_verify_refused(refdesk: Command, peer: Peer, free: int, status: int, remedy: str) -> None:
    """An upstream that refuses the request is told with its words, without the key."""
    peer.answers["/v1/chat/completions"] = (status, {"error": {"message": f"no {KEY} please"}})
    ran = refdesk("doctor", "--json", "--verify", "m", yaml=yaml(peer, free))
    ((level, told),) = lines(ran, "verify")
    assert level == "problem"
    assert f"answered {status} on chat" in told
    assert remedy in told
    assert KEY not in ran.out + ran.err


def test_verify_unknown(refdesk: Command, peer: Peer, free: int) -> None:
    """A model that there is not is a problem with the known names."""
    ran = refdesk("doctor", "--json", "--verify", "n", yaml=yaml(peer, free))
    assert "no model is called 'n'; known: m" in lines(ran, "verify")[0][1]


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"data": 1}', b'{"data": [1, {"id": 2}]}'])
def test_any_answer(body: bytes) -> None:
    """Whatever a server answers, reading it never fails."""
    assert model_ids(body) == []
    wires: Any = ("chat", "responses", "messages")
    assert [search_item(wire, body) for wire in wires] == ["", "", ""]
