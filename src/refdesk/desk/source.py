"""Where a desk's configuration comes from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from refdesk.config import Config, load

Source = Config | Mapping[str, Any] | str | os.PathLike[str] | None
"""A configuration: the file, a mapping as the file would have it, or one that is read already."""


def read_source(source: Source) -> tuple[Config, bool]:
    """
    Return the configuration, and whether it says where records are kept.

    A mapping's references (``${env:NAME}``) are resolved, and the environment's ``REFDESK_…`` win
    over it, as they do over a file.

    Raises:
        ConfigError: It does not hold; all faults are told at once.
    """
    if isinstance(source, Config):
        return source, "data_dir" in source.model_fields_set
    if source is None or isinstance(source, Mapping):
        given = dict(source or {})
        said = "data_dir" in given or "store" in given or "REFDESK_DATA_DIR" in os.environ
        return load(env=os.environ, saved=given).config, said
    return load(Path(source), env=os.environ).config, True
