"""What makes vectors of texts.  A module is found by its presence; `EMBEDDERS` is the table."""

from refdesk.kb.embedders._base import (
    BATCH,
    EMBEDDERS,
    Embedder,
    check_same,
    local_names,
    make_embedder,
)

__all__ = ["BATCH", "EMBEDDERS", "Embedder", "check_same", "local_names", "make_embedder"]
