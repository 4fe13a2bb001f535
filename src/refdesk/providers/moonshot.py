"""Moonshot Kimi: its search is a function that the client must run, so we search."""

from __future__ import annotations

from refdesk.providers._base import PROVIDERS, Provider

PROVIDERS.register("moonshot")(Provider(name="moonshot"))
