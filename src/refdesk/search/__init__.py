"""Search in the web, in collections and in databases, with references that hold."""

from refdesk.search._call import CallOptions
from refdesk.search.handler import Handler, HandlerTable, SearchContext, WebHandler
from refdesk.search.records import CallRecord, Recorder
from refdesk.search.searcher import Searcher
from refdesk.search.trace import Trace

__all__ = [
    "CallOptions",
    "CallRecord",
    "Handler",
    "HandlerTable",
    "Recorder",
    "SearchContext",
    "Searcher",
    "Trace",
    "WebHandler",
]
