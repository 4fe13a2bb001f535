"""
The reference desk for language models.

Everything public is here and is imported when it is first used, so that ``import refdesk`` costs
next to nothing and brings no server along.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from refdesk.config import Config
    from refdesk.desk.library import Refdesk
    from refdesk.desk.waiting import SyncRefdesk
    from refdesk.errors import (
        ConfigError,
        NoSuchReference,
        NotYours,
        RefdeskError,
        SearchError,
        StoreError,
    )
    from refdesk.search import Handler, SearchContext, Searcher, Trace
    from refdesk.search.citations import Citation, CitationParser
    from refdesk.types import (
        Keyword,
        Reference,
        ReferenceContext,
        ResultItem,
        SearchRequest,
        SearchResult,
    )

__all__ = [
    "Citation",
    "CitationParser",
    "Config",
    "ConfigError",
    "Handler",
    "Keyword",
    "NoSuchReference",
    "NotYours",
    "Refdesk",
    "RefdeskError",
    "Reference",
    "ReferenceContext",
    "ResultItem",
    "SearchContext",
    "SearchError",
    "SearchRequest",
    "SearchResult",
    "Searcher",
    "StoreError",
    "SyncRefdesk",
    "Trace",
]

_HOMES: Final = {
    "Citation": "refdesk.search.citations",
    "CitationParser": "refdesk.search.citations",
    "Config": "refdesk.config",
    "ConfigError": "refdesk.errors",
    "Handler": "refdesk.search",
    "Keyword": "refdesk.types",
    "NoSuchReference": "refdesk.errors",
    "NotYours": "refdesk.errors",
    "Refdesk": "refdesk.desk.library",
    "RefdeskError": "refdesk.errors",
    "Reference": "refdesk.types",
    "ReferenceContext": "refdesk.types",
    "ResultItem": "refdesk.types",
    "SearchContext": "refdesk.search",
    "SearchError": "refdesk.errors",
    "SearchRequest": "refdesk.types",
    "SearchResult": "refdesk.types",
    "Searcher": "refdesk.search",
    "StoreError": "refdesk.errors",
    "SyncRefdesk": "refdesk.desk.waiting",
    "Trace": "refdesk.search",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
