"""``refdesk keys``: made once, listed without the token, revoked for good."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from commands import Command
from refdesk.config import load
from refdesk.store import LedgerEntry, Usage
from refdesk.store.opening import open_store
from refdesk.store.quota import SearchQuota


def test_create(refdesk: Command, folder: Path) -> None:
    """The token alone is on stdout, the talk on stderr; what is kept lets that token in."""
    ran = refdesk("keys", "create", "--name", "ci", "--claims", '{"team": "sales"}')
    token = ran.out.strip()
    assert ran.code == 0
    assert token.startswith("rdk_")
    assert ran.out == f"{token}\n"
    assert token not in ran.err
    assert "its token is not shown again" in ran.err
    with open_store(load(None, env={}).config) as store:
        key = store.key_ring().check(token)
        assert key is not None
        assert (key.name, key.claims, key.daily_limit) == ("ci", {"team": "sales"}, None)
    assert (folder / "refdesk-data").stat().st_mode & 0o777 == 0o700


def test_create_json(refdesk: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """As JSON, the token comes with what was decided; a date is its first moment in our zone."""
    monkeypatch.setenv("REFDESK_NOW", "2026-11-30T12:00:00+02:00")
    made = refdesk(
        "keys",
        "create",
        "--json",
        "--searches-per-day",
        "9",
        "--requests-per-minute",
        "60",
        "--expires",
        "2099-01-01",
    ).json
    assert made["token"].startswith(made["prefix"])
    assert made["name"] == "key of 2026-11-30"
    assert (made["searches_per_day"], made["requests_per_minute"]) == (9, 60)
    assert made["expires"] == "2098-12-31T22:00:00Z"
    assert made["state"] == "valid"


def test_expires_in_days(refdesk: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A span counts from now."""
    monkeypatch.setenv("REFDESK_NOW", "2098-11-01T12:00:00+00:00")
    made = refdesk("keys", "create", "--json", "--expires", "30d").json
    assert made["expires"] == "2098-12-01T12:00:00Z"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--claims", "{team"), "'{team' is no JSON"),
        (("--claims", "[1]"), "'[1]' is no JSON object"),
        (("--expires", "soon"), "'soon' is no point in time"),
        (("--expires", "2001-01-01"), "is over already"),
        (("--expires", "999999w"), "is no point in time"),
        (("--searches-per-day", "-1"), "--searches-per-day"),
        (("--requests-per-minute", "0"), "--requests-per-minute"),
        (("--name", " "), "write a name"),
    ],
)
def test_usage(refdesk: Command, folder: Path, arguments: tuple[str, ...], told: str) -> None:
    """What makes no sense is exit status 2 with value and remedy, and nothing is made."""
    ran = refdesk("keys", "create", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert told in " ".join(ran.err.replace("│", " ").split())
    assert not (folder / "refdesk-data").exists()


def test_list(refdesk: Command) -> None:
    """The list has every key with its state and today's searches, and no token."""
    tokens = [refdesk("keys", "create", "--name", name).out.strip() for name in ("a", "b")]
    a, b = refdesk("keys", "list", "--json").json
    with open_store(load(None, env={}).config) as store:
        usage = Usage(searches=2, cache_hits=1)
        store.writer.offer(LedgerEntry(engine="e", usage=usage, key_id=a["id"]))
        SearchQuota(store.ledger, store.key_ring(), count=store.writer.offer).reserve(a["id"], 3)
        store.keys.create("old", expires=datetime(2001, 1, 1, tzinfo=UTC), daily_limit=4)
    assert refdesk("keys", "revoke", b["id"]).code == 0
    ran = refdesk("keys", "list", "--json")
    assert [(row["name"], row["state"], row["searches_today"]) for row in ran.json] == [
        ("a", "valid", 3),
        ("b", "revoked", 0),
        ("old", "expired", 0),
    ]
    text = refdesk("keys", "list").out
    assert text.splitlines()[0].split()[:3] == ["ID", "NAME", "STATE"]
    assert "0/4" in text
    for token in tokens:
        assert token not in ran.out + text


def test_list_of_none(refdesk: Command, folder: Path) -> None:
    """Without a store there are no keys, and none is made by looking."""
    assert refdesk("keys", "list", "--json").json == []
    assert "refdesk keys create" in refdesk("keys", "list").err
    assert not (folder / "refdesk-data").exists()


def test_revoke(refdesk: Command) -> None:
    """A revoked key lets nobody in; a pasted token is understood, and not shown."""
    token = refdesk("keys", "create").out.strip()
    ran = refdesk("keys", "revoke", token, "--json")
    assert (ran.code, ran.json["state"]) == (0, "revoked")
    assert token not in ran.out + ran.err
    with open_store(load(None, env={}).config) as store:
        assert store.key_ring().check(token) is None


def test_revoke_unknown(refdesk: Command) -> None:
    """An id that no key has is exit status 1, with or without a store."""
    ran = refdesk("keys", "revoke", "abc")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "no client key has the id 'abc': there is no store yet\n"
    refdesk("keys", "create")
    ran = refdesk("keys", "revoke", "rdk_abc_secretsecret")
    assert ran.code == 1
    assert ran.err == "no client key has the id 'abc'; `refdesk keys list` shows them\n"
