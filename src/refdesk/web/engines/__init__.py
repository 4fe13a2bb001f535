"""
One file per search vendor: its request written, its answer read.  The call is someone else's.

A module is found by its presence; `ENGINES` is the table.
"""

from refdesk.web.engines._base import ENGINES, BaseEngine, Engine, LocalEngine, Option

__all__ = ["ENGINES", "BaseEngine", "Engine", "LocalEngine", "Option"]
