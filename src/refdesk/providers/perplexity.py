"""Perplexity: Sonar searches on every request, so nothing is ever injected."""

from __future__ import annotations

from refdesk.providers._base import PROVIDERS, Provider, Rule

PROVIDERS.register("perplexity")(
    Provider(
        name="perplexity",
        hosted=(
            Rule(
                wire="chat",
                models=r"sonar(?:-.*)?",
                evidence="recordings: every answer carries search results, 2026-11-30",
                always=True,
            ),
        ),
    )
)
