"""DeepSeek (https://api-docs.deepseek.com/guides/anthropic_api.md)."""

from __future__ import annotations

from refdesk.providers._base import PROVIDERS, Provider, Rule
from refdesk.wires.base import Kept

PROVIDERS.register("deepseek")(
    Provider(
        name="deepseek",
        hosted=(
            # Its Responses endpoint ignores the tool without a word since mid September 2026
            # (https://github.com/rikkahub/rikkahub/issues/1916).
            Rule(
                wire="messages",
                models=r"deepseek-(?:v4-.*|flash|chat|reasoner)|claude-.*",
                evidence="web_search_20250305 gives structured results and citations, 2026-11-30",
                tools="web_search_20250305",
                # Its page on the Anthropic API does not name them, and it shows other pages too.
                domains="",
            ),
        ),
        families=(
            Rule(
                wire="messages",
                models=r"deepseek-v(?:[5-9]|1\d)(?:[.-].*)?",
                evidence="deepseek-v4 searches, 2026-11-30",
            ),
        ),
        # What its own payloads look like is not known; Anthropic's begin like this.
        kept={"messages": Kept(payloads=r"(?!E[\w+/-]{3}).*")},
        lacks={
            "stored_responses": "its Responses endpoint is stateless, read 2026-12-01",
            "embeddings": "it has no such models, read 2026-12-01",
            "files": "it has no such endpoint, read 2026-12-01",
            "batches": "it has no such endpoint, read 2026-12-01",
            "message_batches": "it has no such endpoint, read 2026-12-01",
        },
    )
)
