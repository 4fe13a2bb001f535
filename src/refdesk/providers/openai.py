"""OpenAI (https://developers.openai.com/api/docs/guides/tools-web-search)."""

from __future__ import annotations

from refdesk.providers._base import PROVIDERS, Provider, Rule
from refdesk.wires.base import Kept

PROVIDERS.register("openai")(
    Provider(
        name="openai",
        hosted=(
            Rule(
                wire="responses",
                models=r"gpt-5(?:[.-].*)?|gpt-4\.1(?:-mini)?|gpt-4o(?:-mini)?|o3(?:-.*)?|o4-mini(?:-.*)?",
                evidence="the vendor's guide to web search, read 2026-11-30",
                # The preview tool has no filters.
                domains=r"web_search(?:_\d.*)?",
            ),
            Rule(
                wire="chat",
                models=r"gpt-5-search-api|gpt-4o(?:-mini)?-search-preview",
                evidence="recordings of the search models; they search on every request, 2025-04",
                always=True,
            ),
        ),
        families=(
            Rule(
                wire="responses",
                models=r"gpt-(?:[6-9]|1\d)(?:\.\d+)?(?:-.*)?|o[5-9]\b(?:-.*)?",
                evidence="gpt-5, o3 and o4-mini search, read 2026-11-30",
            ),
        ),
        kept={"responses": Kept(ids=r"ws_\w+")},
        refuses_tool_on={
            "chat": "OpenAI Chat answers 400 to web_search_options outside its search models",
        },
    )
)
