"""OpenRouter: its server tool has another shape; translating it is not done yet."""

from __future__ import annotations

from refdesk.providers._base import PROVIDERS, Provider

PROVIDERS.register("openrouter")(Provider(name="openrouter"))
