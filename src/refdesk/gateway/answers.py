"""
What becomes of a model's answer: a search of ours is put in, and what a provider may not show is
taken out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from refdesk.errors import UpstreamError
from refdesk.web.filters import read_domains
from refdesk.wires.base import GatewaySearch, SearchTool, StreamRewriter, Wire
from refdesk.wires.document import Document
from refdesk.wires.limiting import Limit

_LEFT_OUT = "results outside of the client's domain lists were left out of the upstream's answer"


@dataclass(frozen=True, kw_only=True, slots=True)
class Dressing:
    """
    How one answer is dressed.

    At most one of ``search`` and ``limit`` is there; without both an answer passes as it came.
    """

    wire: Wire
    asked: Document
    """The client's own request."""
    search: GatewaySearch | None
    limit: Limit | None
    notices: list[str]
    """Where what became of it is told."""
    on_unknown: Callable[[int], None]
    """Told how many markers in the model's text named no source."""

    def stream(self) -> StreamRewriter | None:
        """Return what dresses a streamed answer; None where it passes as it comes."""
        try:
            if self.search is not None:
                return self.wire.rewriter(self.search, self.asked)
            if self.limit is not None:
                return self.wire.limiter(self.limit, self._note_limit)
        except Exception as exc:
            self.notices.append(f"the stream was passed on as it came: {fault(exc)}")
        return None

    def whole(self, body: bytes, *, is_stream: bool) -> bytes:
        """
        Return a whole answer, dressed; as it came where it is none.

        Args:
            body: What the upstream sent.
            is_stream: It is a stream, and is put together first.
        """
        if self.search is None and self.limit is None:
            return body
        try:
            answer = self._gathered(body) if is_stream else body
            if self.search is not None:
                return self.wire.attach_search(
                    answer, self.search, self.asked, on_unknown=self.on_unknown
                )
            if self.limit is not None:
                answer = self.wire.limited(answer, self.limit)
                self._note_limit()
        except UpstreamError as exc:
            self.notices.append(f"the answer was passed on as it came: {exc}")
            return body
        except Exception as exc:
            self.notices.append(f"the answer was passed on as it came: {fault(exc)}")
            return body
        return answer

    def _gathered(self, stream: bytes) -> bytes:
        gathered = self.wire.gathered(stream, self.asked)
        if not gathered.complete:
            self.notices.append("the upstream's stream ended before it was complete")
        return gathered.body

    def _note_limit(self) -> None:
        if self.limit is not None and self.limit.dropped:
            self.notices.append(_LEFT_OUT)


def limit_for(tool: SearchTool | None, wire: Wire, document: Document) -> Limit | None:
    """
    Return what keeps an upstream's own search to the client's domain lists; None where none binds.

    Args:
        tool: The client's declaration.
        wire: The dialect.
        document: What goes upstream; without a declaration in it the upstream does not search.
    """
    if tool is None or not (tool.allowed_domains or tool.blocked_domains):
        return None
    if wire.search_tool(document) is None:
        return None
    return Limit(read_domains(tool.allowed_domains, tool.blocked_domains).permit)


def fault(exc: Exception) -> str:
    """Name an exception that nothing outside can cause."""
    return f"{type(exc).__name__}, a fault of Refdesk, please report it"
