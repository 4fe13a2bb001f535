"""What becomes of a model's answer: a search of ours is put in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from refdesk.errors import UpstreamError
from refdesk.wires.base import GatewaySearch, StreamRewriter, Wire
from refdesk.wires.document import Document


@dataclass(frozen=True, kw_only=True, slots=True)
class Dressing:
    """How one answer is dressed; without a search it passes as it came."""

    wire: Wire
    asked: Document
    """The client's own request."""
    search: GatewaySearch | None
    notices: list[str]
    """Where what became of it is told."""
    on_unknown: Callable[[int], None]
    """Told how many markers in the model's text named no source."""

    def stream(self) -> StreamRewriter | None:
        """Return what dresses a streamed answer; None where it passes as it comes."""
        try:
            if self.search is not None:
                return self.wire.rewriter(self.search, self.asked)
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
        if self.search is None:
            return body
        try:
            answer = self._gathered(body) if is_stream else body
            return self.wire.attach_search(
                answer, self.search, self.asked, on_unknown=self.on_unknown
            )
        except UpstreamError as exc:
            self.notices.append(f"the answer was passed on as it came: {exc}")
            return body
        except Exception as exc:
            self.notices.append(f"the answer was passed on as it came: {fault(exc)}")
            return body

    def _gathered(self, stream: bytes) -> bytes:
        gathered = self.wire.gathered(stream, self.asked)
        if not gathered.complete:
            self.notices.append("the upstream's stream ended before it was complete")
        return gathered.body


def fault(exc: Exception) -> str:
    """Name an exception that nothing outside can cause."""
    return f"{type(exc).__name__}, a fault of Refdesk, please report it"
