"""
One file per search vendor: its request written, its answer read.  The call is someone else's.

A module is found by its presence; `ENGINES` is the table.  What an engine needs is exported here,
for those of other distributions, too.
"""

from refdesk.web.engines._answer import EMPTY, collect, first_date, first_text, item, part
from refdesk.web.engines._base import (
    ENGINES,
    BaseEngine,
    Engine,
    LocalEngine,
    Option,
    failure,
    plain,
)
from refdesk.web.engines._options import ApiKey, BaseUrl, HeaderValue, SafeSearch, WebAddress
from refdesk.web.engines._query import Scoped, clean, cut, domains, scoped

__all__ = [
    "EMPTY",
    "ENGINES",
    "ApiKey",
    "BaseEngine",
    "BaseUrl",
    "Engine",
    "HeaderValue",
    "LocalEngine",
    "Option",
    "SafeSearch",
    "Scoped",
    "WebAddress",
    "clean",
    "collect",
    "cut",
    "domains",
    "failure",
    "first_date",
    "first_text",
    "item",
    "part",
    "plain",
    "scoped",
]
