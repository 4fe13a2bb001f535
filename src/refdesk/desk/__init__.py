"""Refdesk as a library, for code that awaits and, in `refdesk.desk.waiting`, for code that waits."""

from refdesk.desk.library import Refdesk

__all__ = ["Refdesk"]
