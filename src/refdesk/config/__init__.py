"""
The configuration: what may be written, the layers it comes from, and where each value was set.

`load` reads it; `Config` is what everything else is handed.
"""

from refdesk.config.draft import Draft
from refdesk.config.load import Loaded, examine, load
from refdesk.config.schema import Config
from refdesk.config.secrets import KeyRef

__all__ = ["Config", "Draft", "KeyRef", "Loaded", "examine", "load"]
