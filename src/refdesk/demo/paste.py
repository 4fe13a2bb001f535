"""What to paste into the clients people use, so that they speak to this gateway."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from refdesk.demo.choose import Model

_KEY = "refdesk"


@dataclass(frozen=True, slots=True)
class Paste:
    """Lines for one client, under its name."""

    client: str
    lines: tuple[str, ...]


def pastes(model: Model, url: str) -> Iterator[Paste]:
    """Yield what fits the wire that the model speaks."""
    name = model.name
    wires = ("messages", "chat", "responses") if model.small else (model.wire,)
    if "messages" in wires:
        yield Paste(
            "Claude Code",
            (
                f"ANTHROPIC_BASE_URL={url} ANTHROPIC_AUTH_TOKEN={_KEY} \\",
                f"  claude --model {shlex.quote(name)}",
            ),
        )
    if "responses" in wires:
        yield Paste(
            "Codex, in ~/.codex/config.toml",
            (
                f'model = "{name}"',
                'model_provider = "refdesk"',
                'web_search = "live"',
                "[model_providers.refdesk]",
                f'name = "Refdesk"\nbase_url = "{url}/v1"\nwire_api = "responses"',
            ),
        )
    if "messages" not in wires or model.small:
        yield Paste(
            "OpenAI SDK, and what is built on it",
            (f"export OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY={_KEY}   # model: {name}",),
        )
    if "messages" in wires:
        yield Paste(
            "Anthropic SDK",
            (f"export ANTHROPIC_BASE_URL={url} ANTHROPIC_API_KEY={_KEY}   # model: {name}",),
        )
