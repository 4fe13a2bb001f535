"""Google Gemini: grounding is not reachable on the wires served here yet."""

from __future__ import annotations

from refdesk.providers._base import PROVIDERS, Provider

PROVIDERS.register("google")(Provider(name="google"))
