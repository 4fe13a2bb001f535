"""MiniMax: its Messages endpoint is reported to refuse the tool; unverified, so we search."""

from __future__ import annotations

from refdesk.providers._base import PROVIDERS, Provider

PROVIDERS.register("minimax")(Provider(name="minimax"))
