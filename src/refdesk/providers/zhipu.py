"""Zhipu GLM: its own search tool has another shape; translating it is not done yet."""

from __future__ import annotations

from refdesk.providers._base import PROVIDERS, Provider

PROVIDERS.register("zhipu")(Provider(name="zhipu"))
