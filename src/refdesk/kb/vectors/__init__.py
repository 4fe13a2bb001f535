"""
Where chunks are kept and found.  A module is found by its presence; `VECTOR_STORES` is the table.
"""

from refdesk.kb.vectors._base import (
    VECTOR_STORES,
    Filters,
    Hit,
    Vector,
    Vectors,
    VectorStore,
    check_dimension,
    fits,
)

__all__ = [
    "VECTOR_STORES",
    "Filters",
    "Hit",
    "Vector",
    "VectorStore",
    "Vectors",
    "check_dimension",
    "fits",
]
