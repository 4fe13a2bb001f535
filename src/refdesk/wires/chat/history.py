"""
What of ours comes back on this wire: nothing.

Clients replay ``role`` and ``content``; ``annotations`` is no request field, and the markers in the
text are the model's own words.
"""

from __future__ import annotations

from refdesk.wires.base import GatewaySearch, History, Kept, Marks
from refdesk.wires.document import Document


def find_marks(document: Document) -> Marks:
    """Return no marks: a search of ours leaves none in a Chat history."""
    return Marks()


def restore(document: Document, history: History, *, kept: Kept | None) -> Document:
    """Return the document: there is nothing to restore, and no hosted search block to turn."""
    return document


def earlier_search(document: Document, history: History, *, after: int) -> GatewaySearch | None:
    """Return None: no earlier search shows in a Chat history."""
    return None
