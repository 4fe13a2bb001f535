"""Whoever speaks a known wire and is not known otherwise: a local server, a relay, a proxy."""

from __future__ import annotations

from refdesk.providers._base import PROVIDERS, Provider

PROVIDERS.register("compatible")(Provider(name="compatible"))
