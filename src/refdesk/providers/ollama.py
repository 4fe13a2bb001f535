"""Ollama: local models, which cannot search."""

from __future__ import annotations

from refdesk.providers._base import PROVIDERS, Provider

PROVIDERS.register("ollama")(Provider(name="ollama"))
