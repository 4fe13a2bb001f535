"""Alibaba Qwen (DashScope): the compatible Chat endpoint never searches by a declared tool."""

from __future__ import annotations

from refdesk.providers._base import NOT_OPENAI, PROVIDERS, Provider, Rule

PROVIDERS.register("qwen")(
    Provider(
        name="qwen",
        hosted=(
            Rule(
                wire="responses",
                models=r"qwen3(?:\.\d+)?-(?:max|plus|flash)(?:-.*)?",
                evidence="the vendor's Responses endpoint takes web_search, read 2026-11-30",
                tools="web_search",
                domains="",
            ),
        ),
        families=(
            Rule(
                wire="responses",
                models=r"qwen(?:[4-9]|1\d)(?:\.\d+)?-(?:max|plus|flash)(?:-.*)?",
                evidence="qwen3 searches, read 2026-11-30",
            ),
        ),
        kept={"responses": NOT_OPENAI},
    )
)
