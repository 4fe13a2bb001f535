"""Which model a name stands for, and how it is reached."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from refdesk.config import Config
from refdesk.errors import WireError
from refdesk.gateway.app import WIRES
from refdesk.gateway.targets import Targets, build_targets


def targets(default: str | None = None, **upstream: Any) -> Targets:
    """Two models on one upstream."""
    tree = {
        "upstreams": {"up": {"base_url": "https://api.example.com/v1", "wire": "chat"} | upstream},
        "models": {
            "small": {"upstream": "up", "model": "vendor/small-1", "aliases": ["claude-haiku-*"]},
            "big": {"upstream": "up", "aliases": ["claude-*", "big[1m]"]},
        },
        "default_model": default,
        "engines": {},
    }
    return build_targets(Config.model_validate(tree), WIRES)


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("small", "small"),
        ("small[1m]", "small"),
        ("claude-haiku-4-5-20251001", "small"),
        ("claude-haiku-4-5[1m]", "small"),
        ("claude-opus-4-8", "big"),
        ("Small", None),
        ("other", None),
        ("small[1m]x", None),
        ("", None),
    ],
)
def test_names(name: str, entry: str | None) -> None:
    """Entry, then aliases in file order, then both without a variant; else refused by name."""
    if entry is not None:
        assert targets().find(name).name == entry
        return
    assert targets("big").find(name).name == "big"
    with pytest.raises(WireError, match="known: small, big") as refused:
        targets().find(name)
    assert refused.value.status == 404
    assert "default_model" in str(refused.value)


@pytest.mark.parametrize(
    ("name", "entry", "always"),
    [
        ("small:online", "small", True),
        ("claude-haiku-4-5:online", "small", True),
        ("claude-opus-4-8[1m]:online", "big", True),
        ("claude-opus-4-8:online[1m]", "big", True),
        ("big[1m]:online", "big", True),
        ("own:online", "own:online", False),
        ("own:online[1m]", "own:online", False),
        ("own:online:online", "own:online", True),
        ("nick:online", "big", False),
        ("nick:online:online", "big", True),
        ("wild-x:online", "small", False),
        ("wild-x", "big", False),
        ("small:ONLINE", None, False),
        ("small:online ", None, False),
        ("other:online", None, False),
        (":online", None, False),
    ],
)
def test_names_of_models_that_are_always_searched(
    name: str, entry: str | None, always: bool
) -> None:
    """`NAME:online` is that model with a search for each user turn; a configured name wins."""
    up = {"base_url": "https://api.example.com/v1", "wire": ["chat", "messages"]}
    models = {
        "small": {"upstream": "up", "aliases": ["claude-haiku-*", "wild-*:online"]},
        "big": {"upstream": "up", "aliases": ["claude-*", "big[1m]", "nick:online", "wild-*"]},
        "own:online": {"upstream": "up"},
    }
    tree = {"upstreams": {"up": up}, "models": models, "engines": {}}
    found = build_targets(Config.model_validate(tree), WIRES)
    if entry is None:
        with pytest.raises(WireError, match="no model is called"):
            found.find(name)
        default = build_targets(Config.model_validate(tree | {"default_model": "big"}), WIRES)
        stands_in = default.find(name)
        assert stands_in.name == "big"
        assert stands_in.ways["chat"].terms.always is name.endswith(":online")
        return
    target = found.find(name)
    assert target.name == entry
    assert {way.terms.always for way in target.ways.values()} == {always}
    assert {way.terms.always for way in found.find("small").ways.values()} == {False}


def test_a_setting_alone_replaces_nothing() -> None:
    """`declare` says nothing about who searches: the upstream's switch still holds."""
    up = {"base_url": "https://api.example.com/v1", "search": {"enabled": "on", "engine": "ddgs"}}
    models = {"m": {"upstream": "up", "search": {"declare": "always"}}}
    found = build_targets(Config.model_validate({"upstreams": {"up": up}, "models": models}), WIRES)
    terms = found.find("m").ways["chat"].terms
    assert (terms.always, terms.decision.engine, terms.decision.layer) == (True, "ddgs", "upstream")


def test_names_are_not_remembered_without_end() -> None:
    """A client that makes up names fills no memory, and keeps no name out that is in use."""
    for table in (targets("big"), targets()):
        for number in range(5000):
            with contextlib.suppress(WireError):
                table.find(f"name-{number}")
        assert len(table._known) <= 512
        assert table.find("claude-opus-4-8").name == "big"
        assert "claude-opus-4-8" in table._known


@pytest.mark.parametrize("default", ["big", None])
@pytest.mark.parametrize("name", ["m" * 257, "claude-" + "9" * 2_000_000, "big[" + "1" * 300 + "]"])
def test_a_name_that_is_too_long(name: str, default: str | None) -> None:
    """A name of more than 256 characters is refused, neither repeated nor remembered."""
    table = targets(default)
    with pytest.raises(WireError) as refused:
        table.find(name)

    assert refused.value.status == 400
    assert refused.value.param == "model"
    assert len(str(refused.value)) < 200
    assert table._known == {}
    assert targets("big").find("claude-" + "x" * 249).name == "big"


@pytest.mark.parametrize(
    ("base_url", "line"),
    [
        ("https://api.example.com", b"POST /v1/chat/completions"),
        ("https://api.example.com/", b"POST /v1/chat/completions"),
        ("https://api.example.com/v1", b"POST /v1/chat/completions"),
        ("https://api.example.com/openai/v2/", b"POST /openai/v2/chat/completions"),
    ],
)
def test_addresses(base_url: str, line: bytes) -> None:
    """The wire's path is put below the address, which gets `/v1` where it has no path."""
    assert targets(base_url=base_url).find("big").way("chat").line == line


@pytest.mark.parametrize(
    ("wire", "header"),
    [("messages", b"x-api-key: k\r\n"), ("chat", b"authorization: Bearer k\r\n")],
)
def test_login(wire: str, header: bytes) -> None:
    """The key goes in the wire's own header; without a key there is none; ours override."""
    assert header in targets(wire=wire, api_key="k").find("big").way(wire).head
    assert b"Bearer" not in targets(wire=wire).find("big").way(wire).head
    way = targets(wire=wire, api_key="k", headers={"X-Api-Key": "z", "Authorization": "y"})
    head = way.find("big").way(wire).head
    assert b"x-api-key: z\r\n" in head
    assert b"authorization: y\r\n" in head
    assert head.count(b"authorization") == 1


def test_another_wire() -> None:
    """A wire that the upstream does not speak is 400, with its name and what it speaks."""
    with pytest.raises(WireError, match="'up', which speaks chat, not messages") as refused:
        targets().find("big").way("messages")
    assert (refused.value.status, refused.value.param) == (400, "model")
