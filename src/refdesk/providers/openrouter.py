"""OpenRouter: its server tool has another shape; translating it is not done yet."""

from __future__ import annotations

from refdesk.providers._base import PROVIDERS, Provider

PROVIDERS.register("openrouter")(
    Provider(
        name="openrouter",
        lacks={
            "stored_responses": "its Responses endpoint is stateless"
            " (https://openrouter.ai/docs/api/reference/responses/overview), read 2026-12-01",
        },
    )
)
