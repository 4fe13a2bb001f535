"""Which model the demo speaks to."""

from __future__ import annotations

from typing import Any

import pytest

from refdesk.demo.choose import OLLAMA, Model, Network, named, offered
from refdesk.errors import RefdeskError


class Answers(Network):
    """A network of a few addresses; everything else is silent."""

    def __init__(self, statuses: dict[str, int] | None = None, **pages: Any) -> None:
        self.statuses = statuses or {}
        self.pages = pages
        self.keys: list[tuple[str, str | None]] = []

    def status(self, url: str, key: str | None = None, timeout_s: float = 0) -> int | None:
        self.keys.append((url, key))
        return self.statuses.get(url)

    def json(self, url: str, timeout_s: float = 0) -> Any:
        return self.pages.get(url.rsplit("/", 1)[1])


ANTHROPIC = "https://api.anthropic.com/v1/messages"
OPENAI = "https://api.openai.com/v1/responses"
KEYS = {"ANTHROPIC_API_KEY": "sk-ant-canary", "OPENAI_API_KEY": "sk-canary"}
TAGS = {"models": [{"name": "nomic-embed-text:latest"}, {"name": "llama3.2:latest"}]}
OLLAMA_UP = {f"{OLLAMA}/v1/messages": 404, f"{OLLAMA}/v1/responses": 400}


@pytest.mark.parametrize(
    ("model", "env", "statuses", "tags", "expected"),
    [
        (None, {}, {}, None, None),
        (None, KEYS, {ANTHROPIC: 400, OPENAI: 400}, TAGS, ("anthropic", "messages")),
        ("gpt-4.1", KEYS, {ANTHROPIC: 400, OPENAI: 400}, TAGS, ("openai", "responses")),
        (None, {"OPENAI_API_KEY": "sk-canary"}, {OPENAI: 401}, TAGS, ("openai", "responses")),
        (None, KEYS, OLLAMA_UP, TAGS, ("ollama", "responses")),
        ("llama3.2", {}, OLLAMA_UP, TAGS, ("ollama", "responses")),
        ("mistral", {}, OLLAMA_UP, TAGS, None),
        ("claude-haiku-4-5", {"OPENAI_API_KEY": "sk-canary"}, {OPENAI: 400}, None, None),
        (None, {}, {}, {"models": [{"name": "nomic-embed-text"}]}, None),
        (None, {}, {}, {"models": "none"}, None),
    ],
)
def test_what_the_environment_offers(
    model: str | None,
    env: dict[str, str],
    statuses: dict[str, int],
    tags: Any,
    expected: tuple[str, str] | None,
) -> None:
    """Keys come before an Ollama; a name picks its vendor; embedding models answer nothing."""
    found = offered(model, env, Answers(statuses, tags=tags))
    assert (found and (found.provider, found.wire)) == expected


def test_unreachable_vendor_is_told() -> None:
    """A key whose vendor cannot be reached is passed over, and that is said without the key."""
    said: list[str] = []
    assert offered(None, KEYS, Answers(), say=said.append) is None
    assert said == [
        "ANTHROPIC_API_KEY is set, but api.anthropic.com cannot be reached",
        "OPENAI_API_KEY is set, but api.openai.com cannot be reached",
    ]


def test_no_loop() -> None:
    """A base URL on loopback is what an earlier demo had pasted: it is not taken for a vendor."""
    env = {"ANTHROPIC_API_KEY": "x", "ANTHROPIC_BASE_URL": "http://127.0.0.1:8484"}
    assert offered(None, env, Answers({"http://127.0.0.1:8484/v1/messages": 400})) is None


@pytest.mark.parametrize(
    ("statuses", "wire"),
    [
        ({"/messages": 400, "/chat/completions": 400}, "messages"),
        ({"/messages": 404, "/responses": 405, "/chat/completions": 401}, "chat"),
        ({"/messages": 404, "/responses": 422, "/chat/completions": 401}, "responses"),
    ],
)
def test_wire_is_found_out(statuses: dict[str, int], wire: str) -> None:
    """The first wire that an address serves is spoken; a path is added where it has none."""
    base = "http://model.example"
    network = Answers({f"{base}/v1{path}": code for path, code in statuses.items()})
    model = named("m", base, {}, network)
    assert (model.wire, model.base_url, model.name) == (wire, f"{base}/v1", "m")


def test_first_listed_model() -> None:
    """Without a name, the first model that the address lists is taken."""
    network = Answers(
        {"http://model.example/x/messages": 400}, models={"data": [{"id": "one"}, {"id": "two"}]}
    )
    assert named(None, "http://model.example/x/", {}, network).name == "one"


def test_keys_stay_with_their_vendor() -> None:
    """Another address gets no vendor's key, only the one meant for it; no repr shows one."""
    network = Answers({"http://model.example/v1/messages": 400})
    assert named("m", "http://model.example", KEYS, network).api_key is None
    assert {key for _, key in network.keys} == {None}
    own = named("m", "http://model.example", {"REFDESK_DEMO_API_KEY": "canary"}, network)
    assert own.api_key == "canary"
    assert "canary" not in repr(own)
    assert named("claude-x", "https://api.anthropic.com", KEYS, network).api_key == "sk-ant-canary"


@pytest.mark.parametrize(
    ("base_url", "network", "message"),
    [
        ("model.example", Answers(), "is no http:// or https:// address"),
        ("http://model.example", Answers(), "nobody answers at http://model.example/v1"),
        (
            "http://model.example",
            Answers(
                {
                    f"http://model.example/v1{path}": 404
                    for path in ("/messages", "/responses", "/chat/completions")
                }
            ),
            "serves none of /messages, /responses, /chat/completions",
        ),
        (
            "http://model.example",
            Answers({"http://model.example/v1/messages": 400}),
            "lists no model; name one with --model",
        ),
    ],
)
def test_what_cannot_be_used(base_url: str, network: Answers, message: str) -> None:
    """An address that will not do is refused with what to do about it."""
    with pytest.raises(RefdeskError, match=message):
        named(None, base_url, {}, network)


def test_real_questions() -> None:
    """Nobody at an address is None, not an exception."""
    network = Network()
    assert network.status("http://127.0.0.1:1/v1/messages") is None
    assert network.json("http://127.0.0.1:1/api/tags") is None
    assert network.json("http://[bad") is None


def test_model_is_a_value() -> None:
    """A model's key never shows."""
    model = Model(name="m", base_url="http://x", wire="chat", api_key="canary")
    assert "canary" not in str(model)
