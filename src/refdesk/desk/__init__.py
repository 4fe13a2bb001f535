"""Refdesk as a library; `refdesk.desk.waiting` is for code that does not await."""

from refdesk.desk.library import Refdesk

__all__ = ["Refdesk"]
