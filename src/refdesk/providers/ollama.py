"""Ollama: local models, which cannot search."""

from __future__ import annotations

from refdesk.providers._base import PROVIDERS, Provider

PROVIDERS.register("ollama")(
    Provider(
        name="ollama",
        lacks={
            "stored_responses": "its Responses endpoint is stateless"
            " (https://docs.ollama.com/api/openai-compatibility), read 2026-12-01",
            "files": "it has no such endpoint, read 2026-12-01",
            "batches": "it has no such endpoint, read 2026-12-01",
        },
    )
)
