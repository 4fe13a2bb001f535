"""What the sections accept, and the names that must exist."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from refdesk.config import Config
from refdesk.config.references import collections_named, find_faults
from refdesk.config.shape import fields

UP = {"base_url": "http://h"}


def config(**sections: Any) -> Config:
    """Return a configuration made from plain values."""
    return Config.model_validate(sections)


@pytest.mark.parametrize(
    ("written", "read"),
    [(True, "on"), (False, "off"), ("on", "on"), ("Off", "off"), ("yes", "on"),
     ("default", "default")],
)  # fmt: skip
def test_switch(written: Any, read: str) -> None:
    """The switch understands words and booleans of both YAML versions."""
    made = config(upstreams={"u": UP}, models={"m": {"upstream": "u", "search": {
        "enabled": written}}})  # fmt: skip
    assert made.models["m"].search is not None
    assert made.models["m"].search.enabled == read


@pytest.mark.parametrize("written", [{}, None, {"engine": None}])
def test_empty_search_is_unset(written: Any) -> None:
    """An empty search object is none at all, so that the upstream's holds."""
    made = config(upstreams={"u": {**UP, "search": written}})
    assert made.upstreams["u"].search is None


@pytest.mark.parametrize(("written", "read"), [("chat", ("chat",)), (["chat", "messages"],
                         ("chat", "messages"))])  # fmt: skip
def test_wire(written: Any, read: tuple[str, ...]) -> None:
    """One wire or a list of them is a tuple."""
    assert config(upstreams={"u": {**UP, "wire": written}}).upstreams["u"].wire == read


@pytest.mark.parametrize(
    ("written", "read"),
    [("auto", "auto"), (True, True), ("false", False), (False, False), ("on", True)],
)
def test_auth(written: Any, read: Any) -> None:
    """Whether a key is needed is true, false or auto."""
    assert config(auth={"required": written}).auth.required == read


@pytest.mark.parametrize(
    "url",
    ["ftp://h", "h/v1", "http://", "http://h:x", "http://u:p@h", "http://h?k=1", "http://h h"],
)
def test_bad_base_url(url: str) -> None:
    """An upstream's address is http or https, with a host, and without a login or query."""
    with pytest.raises(ValidationError):
        config(upstreams={"u": {"base_url": url}})


def test_base_url_loses_its_slash() -> None:
    """Paths can be appended to an address."""
    assert config(upstreams={"u": {"base_url": "http://h/v1/"}}).upstreams["u"].base_url == (
        "http://h/v1"
    )


@pytest.mark.parametrize("headers", [{"a b": "x"}, {"X": "a\r\nEvil: 1"}])
def test_bad_headers(headers: dict[str, str]) -> None:
    """A header that could break a request is refused."""
    with pytest.raises(ValidationError):
        config(upstreams={"u": {**UP, "headers": headers}})


def test_engine_settings_are_open() -> None:
    """All keys of an engine but its type are kept for its plugin, and do not show."""
    made = config(engines={"e": {"type": "x", "enabled": False, "api_key": "SECRET"}})
    assert made.engines is not None
    assert made.engines["e"].settings == {"enabled": False, "api_key": "SECRET"}
    assert "SECRET" not in repr(made)


@pytest.mark.parametrize("value", [True, 1.5, "x", -1, float("nan")])
def test_counts_are_whole(value: Any) -> None:
    """A number of things is a whole number, never true or a half."""
    with pytest.raises(ValidationError):
        config(gateway={"search": {"concurrency": value}})


@pytest.mark.parametrize("server", [{}, {"command": "x", "url": "http://h"}])
def test_mcp_server_has_one_way(server: dict[str, str]) -> None:
    """An MCP server is started or called, one of the two."""
    with pytest.raises(ValidationError, match="either a command or a url"):
        config(mcp_servers={"m": server})


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ({"models": {"m": {"upstream": "x"}}}, "models.m.upstream is 'x', but no upstream"),
        ({"default_model": "m"}, "default_model is 'm', but no model"),
        ({"gateway": {"search": {"default_engine": "e"}}}, "known: ddgs"),
        ({"engines": {}, "search": {"web": {"engine": "ddgs"}}}, "search.web.engine is 'ddgs'"),
        ({"upstreams": {"u": {**UP, "search": {"engine": "e"}}}}, "upstreams.u.search.engine"),
        ({"search": {"web": {"engine": "db:d"}}}, "search.web.engine is 'db:d', but no engine"),
        ({"uses": {"rerank": "disabled"}}, "only uses.search can be"),
        ({"uses": {"web": "mcp:s.tool"}}, "no MCP server is called that"),
        ({"uses": {"web": "mcp:tool"}}, "write mcp:<server>.<tool>"),
        ({"engines": {"kb:x": {"type": "t"}}}, "is no name for an engine"),
        ({"engines": {"a\nb": {"type": "t"}}}, "a control character"),
        (
            {"upstreams": {"u": UP}, "models": {
                "a": {"upstream": "u", "aliases": ["x*"]},
                "b": {"upstream": "u", "aliases": "x*"}}},
            "which models.a has already",
        ),
        (
            {"upstreams": {"u": UP}, "models": {
                "a": {"upstream": "u", "aliases": ["b"]}, "b": {"upstream": "u"}}},
            "which is a model of its own",
        ),
    ],
)  # fmt: skip
def test_names_must_exist(sections: dict[str, Any], told: str) -> None:
    """A name that is used must be given somewhere, and given once."""
    with pytest.raises(ValidationError) as caught:
        config(**sections)
    assert told in str(caught.value)


def test_collections_and_databases_are_engines_too() -> None:
    """``kb:`` and ``db:`` name a collection or a database where an engine can be named."""
    made = {
        "collections": {"c": {}},
        "databases": {"d": {"url": "sqlite:///d"}},
        "search": {"web": {"engine": "kb:c"}},
        "gateway": {"search": {"default_engine": "db:d"}},
    }
    assert find_faults(made) == []


def test_collections_that_the_store_may_have() -> None:
    """A collection that is not configured may have been made by command: it is no fault."""
    made = {
        "collections": {"c": {}},
        "search": {"web": {"engine": "kb:a"}, "kb": {"collections": ["c", "b"]}},
        "gateway": {"search": {"default_engine": "kb:c"}},
        "upstreams": {"u": {**UP, "search": {"engine": "kb:d"}}},
    }
    assert find_faults(made) == []
    assert [(".".join(path), name) for path, name in collections_named(made)] == [
        ("search.web.engine", "a"),
        ("upstreams.u.search.engine", "d"),
        ("search.kb.collections.1", "b"),
    ]


def test_store_follows_the_data_directory() -> None:
    """A configuration made in Python has its store below its own data directory."""
    store = Config(data_dir="/d").store
    assert store.url == "sqlite:////d/refdesk.db"
    assert str(store.key[0].path) == "/d/store.key"
    given = config(data_dir="/d", store={"url": "sqlite:///${data_dir}/x.db", "key": "k"}).store
    assert given.url == "sqlite:////d/x.db"
    assert given.key[0].literal is not None


def test_every_field_is_described() -> None:
    """Each field says what it is: the console's form and the reference are made from that."""
    assert [path for path, info, _ in fields(Config) if not info.description] == []


def test_json_schema() -> None:
    """The schema allows what the file may hold: both forms of a wire, booleans in switches."""
    schema = Config.model_json_schema()
    assert schema["additionalProperties"] is False
    upstream = schema["$defs"]["UpstreamEntry"]["properties"]
    assert {one["type"] for one in upstream["wire"]["anyOf"]} == {"string", "array"}
    assert True in schema["$defs"]["SearchSwitch"]["properties"]["enabled"]["enum"]
    assert schema["$defs"]["EngineEntry"]["additionalProperties"] is True


@pytest.mark.parametrize(
    ("address", "good"),
    [
        *(
            (good, True)
            for good in ("auto", "local", "10.0.0.1:6379", "ray://head-1.example:10001")
        ),
        *((good, True) for good in ("[::1]:6379", "ray://[fe80::1]:10001")),
        *((bad, False) for bad in ("", "head", "http://head:1", "ray://head", "ray://u:p@head:1")),
    ],
)
def test_ray_address(address: str, good: bool) -> None:
    """A Ray cluster is `auto`, `local`, or a host with its port; nobody's password is in it."""
    if good:
        assert config(ingest={"ray": address}).ingest.ray == address
        return
    with pytest.raises(ValidationError, match="ray://host:10001"):
        config(ingest={"ray": address})
