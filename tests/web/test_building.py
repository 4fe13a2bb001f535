"""The engines of a configuration, and the one that the library may have without an entry."""

from __future__ import annotations

from typing import Any

import pytest

from refdesk.config import Config
from refdesk.errors import ConfigError
from refdesk.web.building import build_engines, library_section


def config(engines: dict[str, Any] | None = None, **web: Any) -> Config:
    """A configuration with these engines, and this section ``search.web``."""
    tree: dict[str, Any] = {"search": {"web": web}}
    return Config.model_validate(tree if engines is None else {**tree, "engines": engines})


@pytest.mark.parametrize(
    ("given", "names", "asked"),
    [
        (config(), ["ddgs"], None),
        (config({}), [], None),
        (config({"a": {"type": "offline"}}), ["a"], None),
        (config(provider="offline"), ["offline"], "offline"),
        (config({}, provider="offline"), ["offline"], "offline"),
        (config({"a": {"type": "ddgs"}}, provider="offline"), ["a", "offline"], "offline"),
        (config({"offline": {"type": "offline"}}, provider="offline"), ["offline"], "offline"),
        (config({"a": {"type": "ddgs"}}, provider="offline", engine="a"), ["a", "offline"], "a"),
    ],
)
def test_engines(given: Config, names: list[str], asked: str | None) -> None:
    """A provider is an engine by its own name, asked first unless another is named."""
    assert list(build_engines(given, {})) == names
    assert library_section(given).web.engine == asked
    assert given.search.web.engine in (None, "a")


def test_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its key comes from the variable that is named; where that is not set, it is named."""
    given = config(provider="tavily", api_key_env="T_KEY")
    engine = build_engines(given, {"T_KEY": "tvly-secret"})["tavily"]
    assert engine.options.model_dump()["api_key"].get_secret_value() == "tvly-secret"
    with pytest.raises(ConfigError, match=r"^search\.web\.api_key_env: 'T_KEY' is not set"):
        build_engines(given, {})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (config(provider="tavly"), "did you mean 'tavily'?"),
        (config(provider="tavily"), "set search.web.api_key_env"),
        (config(provider="searxng"), "or add an entry"),
    ],
)
def test_what_is_missing(given: Config, told: str) -> None:
    """What cannot be used as it is says what is missing."""
    with pytest.raises(ConfigError) as raised:
        build_engines(given, {})
    assert str(raised.value).startswith("search.web.provider: ")
    assert told in str(raised.value)
