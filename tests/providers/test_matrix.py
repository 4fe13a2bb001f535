"""What models can do by themselves: provider by wire by id, near misses included."""

from __future__ import annotations

import pytest

from refdesk.providers import PROVIDERS, accepts_tool, capability, kept, normal_model
from refdesk.providers._base import WireName
from refdesk.wires.base import SearchTool

MATRIX: list[tuple[str, WireName, str, bool | None, str]] = [
    ("anthropic", "messages", "claude-sonnet-4-5-20250929", None, "hosted"),
    ("anthropic", "messages", "anthropic/Claude-Opus-4-8[1m]", None, "hosted"),
    ("anthropic", "messages", "claude-3-5-haiku-latest", None, "hosted"),
    ("anthropic", "messages", "notclaude-sonnet-4", None, "no"),
    ("anthropic", "messages", "claude-sonnet-4-5", False, "no"),
    ("anthropic", "chat", "claude-sonnet-4-5", None, "elsewhere"),
    ("openai", "responses", "gpt-5.4", None, "hosted"),
    ("openai", "responses", "gpt-4.1-nano", None, "no"),
    ("openai", "responses", "gpt-50", None, "no"),
    ("openai", "chat", "gpt-5.4", None, "elsewhere"),
    ("openai", "chat", "gpt-4o-search-preview-2025-03-11", None, "hosted"),
    ("deepseek", "messages", "deepseek-chat", None, "hosted"),
    ("deepseek", "responses", "deepseek-chat", None, "elsewhere"),
    ("deepseek", "chat", "deepseek-chat", None, "elsewhere"),
    ("qwen", "responses", "qwen3-max", None, "hosted"),
    ("qwen", "chat", "qwen3-max", None, "elsewhere"),
    ("xai", "responses", "grok-4-fast", None, "hosted"),
    ("xai", "responses", "grok-3", None, "no"),
    ("xai", "chat", "grok-4", None, "elsewhere"),
    ("perplexity", "chat", "sonar-pro", None, "hosted"),
    ("perplexity", "chat", "sonarqube", None, "no"),
    ("minimax", "messages", "MiniMax-M2", None, "no"),
    ("minimax", "messages", "MiniMax-M2", True, "no"),
    ("moonshot", "chat", "kimi-k2", None, "no"),
    ("ollama", "chat", "llama3.1:8b", None, "no"),
    ("compatible", "chat", "anything", None, "no"),
    ("compatible", "chat", "anything", True, "hosted"),
    ("nobody-knows", "chat", "gpt-5.4", None, "no"),
    ("openai", "chat", "gpt-99", True, "hosted"),
    # Newer models of a known family follow it.
    ("openai", "responses", "gpt-6-mini", None, "hosted"),
    ("openai", "responses", "gpt-7.1-2027-02-01", None, "hosted"),
    ("openai", "chat", "gpt-6", None, "elsewhere"),
    ("openai", "responses", "o5-mini", None, "hosted"),
    ("openai", "responses", "gpt-3.5-turbo", None, "no"),
    ("openai", "responses", "gpt-600", None, "no"),
    ("openai", "responses", "gpt-6-mini", False, "no"),
    ("anthropic", "messages", "claude-mythos-5", None, "hosted"),
    ("anthropic", "messages", "claude-6-mythos-20270101", None, "hosted"),
    ("anthropic", "responses", "claude-mythos-5", None, "elsewhere"),
    ("anthropic", "messages", "claude-instant-1.2", None, "no"),
    ("anthropic", "messages", "claude-2.1", None, "no"),
    ("deepseek", "messages", "deepseek-v5-pro", None, "hosted"),
    ("deepseek", "messages", "deepseek-v3", None, "no"),
    ("xai", "responses", "grok-5-fast", None, "hosted"),
    ("qwen", "responses", "qwen4-plus", None, "hosted"),
    ("qwen", "responses", "qwen4-coder", None, "no"),
]


@pytest.mark.parametrize(("provider", "wire", "model", "metadata", "expected"), MATRIX)
def test_capability(
    provider: str, wire: WireName, model: str, metadata: bool | None, expected: str
) -> None:
    """The verdict, with who says so and on what evidence."""
    verdict = capability(provider, wire, model, metadata)
    assert verdict.capability == expected, verdict
    assert verdict.source
    assert verdict.evidence


def test_families_say_that_the_model_is_not_known() -> None:
    """A verdict by family names the model, says that it is not known, and dates its evidence."""
    verdict = capability("anthropic", "messages", "claude-mythos-5", None)
    assert verdict.source == "family of anthropic"
    assert "'claude-mythos-5' is not known; by family" in verdict.evidence
    assert "2026" in verdict.evidence


@pytest.mark.parametrize(
    ("model", "normal"),
    [
        ("Anthropic/Claude-Sonnet-4-5-20250929[1m]", "claude-sonnet-4-5"),
        ("openrouter/openai/gpt-5.4:online", "gpt-5.4"),
        ("gpt-4o-search-preview-2025-03-11", "gpt-4o-search-preview"),
        ("claude-3-5-haiku-latest", "claude-3-5-haiku"),
        ("llama3.1:8b", "llama3.1"),
        ("gpt-4o", "gpt-4o"),
    ],
)
def test_normal_model(model: str, normal: str) -> None:
    """Vendor, variant and date are set aside."""
    assert normal_model(model) == normal


ACCEPTS: list[tuple[str, WireName, str, bool | None, bool | None, bool]] = [
    ("openai", "chat", "gpt-5.4", None, None, False),
    ("openai", "chat", "gpt-5.4", True, None, True),
    ("openai", "chat", "gpt-4o-search-preview", None, None, True),
    ("openai", "responses", "gpt-5.4", None, False, False),
    ("bedrock", "messages", "claude-sonnet-4-5", None, None, False),
    ("xai", "chat", "grok-4", None, None, False),
    ("mistral", "chat", "mistral-large", None, None, False),
    ("compatible", "chat", "x", None, None, True),
    ("compatible", "messages", "x", False, None, False),
]


@pytest.mark.parametrize(
    ("provider", "wire", "model", "configured", "metadata", "expected"), ACCEPTS
)
def test_accepts_tool(
    provider: str,
    wire: WireName,
    model: str,
    configured: bool | None,
    metadata: bool | None,
    expected: bool,
) -> None:
    """The configuration, the model's metadata, the provider's rule; else it is believed."""
    accepts, source = accepts_tool(provider, wire, model, configured=configured, metadata=metadata)
    assert accepts is expected, source
    assert source


def test_every_rule_has_its_evidence() -> None:
    """A rule says where it comes from, with a date that can be seen to be old."""
    for name in PROVIDERS.names():
        provider = PROVIDERS.get(name)
        assert provider.name == name
        for rule in provider.hosted:
            assert any(year in rule.evidence for year in ("2025", "2026", "2027")), rule


LACKS: list[tuple[str, WireName, str, str, bool, str]] = [
    ("anthropic", "messages", "claude-sonnet-4-6", "web_search_20260318", True, ""),
    ("anthropic", "messages", "claude-mythos-6", "web_search_20250305", True, ""),
    ("deepseek", "messages", "deepseek-chat", "web_search_20250305", False, ""),
    ("deepseek", "messages", "deepseek-chat", "web_search_20250305", True, "domain lists"),
    ("deepseek", "messages", "deepseek-chat", "web_search_20260209", False, "nothing shows"),
    ("deepseek", "messages", "deepseek-v6", "web_search_20260209", False, "nothing shows"),
    ("openai", "responses", "gpt-5.4", "web_search_2025_08_26", True, ""),
    ("openai", "responses", "gpt-5.4", "web_search_preview", True, "domain lists"),
    ("openai", "responses", "gpt-7", "web_search_preview_2025_03_11", False, ""),
    ("openai", "chat", "gpt-5-search-api", "web_search_options", True, ""),
    ("qwen", "responses", "qwen3-max", "web_search", True, "domain lists"),
    ("xai", "responses", "grok-4", "web_search", True, ""),
]


@pytest.mark.parametrize(("provider", "wire", "model", "kind", "lists", "reason"), LACKS)
def test_what_the_evidence_covers(
    provider: str, wire: WireName, model: str, kind: str, lists: bool, reason: str
) -> None:
    """A rule names the tool types it covers, and those whose domain lists are kept to."""
    rule = capability(provider, wire, model, None).rule
    assert rule is not None
    tool = SearchTool(type=kind, allowed_domains=("a.example",) if lists else ())
    lacks = rule.lacks(tool)
    assert (reason in lacks) if reason else lacks == ""


ANTHROPIC_ID = "srvtoolu_01EoSNE7k4dUJyGatASCV5qs"
OPENAI_ID = "ws_0cc96ac817fdc57e00693337335db881989d7938ef5e5dcd6b"
KEPT: list[tuple[str, WireName, bool | None, str, str, bool]] = [
    ("anthropic", "messages", None, ANTHROPIC_ID, "EqgfCioIDhgC", True),
    ("anthropic", "messages", None, ANTHROPIC_ID, "", False),
    ("anthropic", "messages", None, "call_1", "EqgfCioIDhgC", False),
    ("anthropic", "messages", False, ANTHROPIC_ID, "EqgfCioIDhgC", False),
    ("deepseek", "messages", None, "call_1", "", True),
    ("deepseek", "messages", None, ANTHROPIC_ID, "EqgfCioIDhgC", False),
    ("compatible", "messages", None, ANTHROPIC_ID, "EqgfCioIDhgC", False),
    ("compatible", "messages", True, ANTHROPIC_ID, "EqgfCioIDhgC", True),
    ("bedrock", "messages", None, ANTHROPIC_ID, "EqgfCioIDhgC", False),
    ("openai", "responses", None, OPENAI_ID, "", True),
    ("openai", "responses", None, "fc_98a8d4aa_0", "", False),
    ("xai", "responses", None, OPENAI_ID, "", False),
    ("xai", "responses", None, "fc_98a8d4aa_0", "", True),
    ("qwen", "responses", None, OPENAI_ID, "", False),
    ("deepseek", "responses", None, OPENAI_ID, "", False),
    ("nobody-knows", "messages", True, ANTHROPIC_ID, "EqgfCioIDhgC", False),
]


@pytest.mark.parametrize(("provider", "wire", "metadata", "name", "payload", "stays"), KEPT)
def test_whose_marks_stay(
    provider: str, wire: WireName, metadata: bool | None, name: str, payload: str, stays: bool
) -> None:
    """An upstream is sent the marks that it made, as far as that can be told, and no others."""
    own = kept(provider, wire, metadata=metadata)
    assert (own is not None and own.has_id(name) and own.has_payload(payload)) == stays
