"""Guarded, bounded calls to engines and other places that the operator or a stranger chose."""

from refdesk.fetch.fetcher import Fetcher

__all__ = ["Fetcher"]
