"""Groq: the compound systems search on every request that needs it."""

from __future__ import annotations

from refdesk.providers._base import PROVIDERS, Provider, Rule

PROVIDERS.register("groq")(
    Provider(
        name="groq",
        hosted=(
            Rule(
                wire="chat",
                models=r"compound(?:-mini|-beta(?:-mini)?)?",
                evidence="recordings of compound searches, 2026-11-30",
                always=True,
            ),
        ),
        lacks={
            "stored_responses": "its Responses endpoint is stateless"
            " (https://console.groq.com/docs/responses-api), read 2026-12-01",
        },
    )
)
