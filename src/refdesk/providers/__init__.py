"""
Who serves models, and what their models can do about search: one file per provider.

Capability tables rot in silence, so every rule carries its evidence and date; what no rule knows
counts as unable.
"""

from refdesk.providers._base import (
    PROVIDERS,
    Capability,
    Provider,
    Rule,
    Service,
    Verdict,
    accepts_tool,
    capability,
    kept,
    lacks,
    normal_model,
)

__all__ = [
    "PROVIDERS",
    "Capability",
    "Provider",
    "Rule",
    "Service",
    "Verdict",
    "accepts_tool",
    "capability",
    "kept",
    "lacks",
    "normal_model",
]
