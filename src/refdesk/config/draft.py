"""A configuration while it is being read: what is known of it so far, faults included."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path as FilePath

from refdesk.config.faults import Fault, is_hidden
from refdesk.config.layers import Merged, Path
from refdesk.config.schema import Config


@dataclass(kw_only=True, slots=True)
class Draft:
    """A configuration as far as it could be read; ``config`` is None where there are faults."""

    path: FilePath | None
    base: FilePath
    merged: Merged
    faults: list[Fault]
    config: Config | None = None
    secrets: set[Path] = field(default_factory=set)

    def fault(self, path: Path, text: str) -> Fault:
        """Return a fault with the place where that key was written."""
        return Fault(origin=self.merged.origin(path), path=path, text=text)

    def hides(self, path: Path) -> bool:
        """Whether the value at a path must not be shown."""
        return path in self.secrets or is_hidden(path, Config)
