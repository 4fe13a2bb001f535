"""Mistral: hosted search on Conversations only, which is no wire of ours."""

from __future__ import annotations

from refdesk.providers._base import PROVIDERS, Provider

PROVIDERS.register("mistral")(
    Provider(
        name="mistral",
        refuses_tool_on={"chat": "Mistral searches on Conversations only"},
    )
)
