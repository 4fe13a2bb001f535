"""Anthropic (https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool)."""

from __future__ import annotations

from refdesk.providers._base import PROVIDERS, Provider, Rule
from refdesk.wires.base import Kept

PROVIDERS.register("anthropic")(
    Provider(
        name="anthropic",
        hosted=(
            Rule(
                wire="messages",
                models=r"claude-(?:[\d.]+-)*(?:opus|sonnet|haiku|fable)(?:-.*)?",
                evidence="the vendor's documentation and recordings, 2026-11-30",
                tools=r"web_search_\d+",
            ),
        ),
        families=(
            Rule(
                wire="messages",
                models=r"claude-(?!instant)[a-z]+(?:-.*)?|claude-(?:[4-9]|1\d)(?:[.-]\d+)*-[a-z]+(?:-.*)?",
                evidence="every Claude since 3.5 searches, read 2026-11-30",
            ),
        ),
        # An empty payload, or one that does not begin as all recorded ones do, is a 400.
        kept={"messages": Kept(ids=r"(?:srvtoolu|mcptoolu)_\w+", payloads=r"E\S+")},
        lacks={
            "embeddings": "it has no such models"
            " (https://platform.claude.com/docs/en/build-with-claude/embeddings), read 2026-12-01",
            "batches": "its batches are at /v1/messages/batches, read 2026-12-01",
        },
    )
)
