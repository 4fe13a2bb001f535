"""xAI (https://docs.x.ai/developers/tools/web-search.md)."""

from __future__ import annotations

from refdesk.providers._base import NOT_OPENAI, PROVIDERS, Provider, Rule

PROVIDERS.register("xai")(
    Provider(
        name="xai",
        hosted=(
            Rule(
                wire="responses",
                models=r"grok-4(?:[.-].*)?",
                evidence="recording of November 2025; the vendor's documentation, 2026-11-30",
                tools="web_search",
            ),
        ),
        families=(
            Rule(
                wire="responses",
                models=r"grok-(?:[5-9]|1\d)(?:[.-].*)?",
                evidence="grok-4 searches, 2026-11-30",
            ),
        ),
        kept={"responses": NOT_OPENAI},
        refuses_tool_on={"chat": "xAI searches on Responses only; Live Search on Chat is gone"},
    )
)
