"""
Results of a hosted search outside of the domain lists that the client gave, left out of the answer.

Vendors document the lists, and leak all the same
(https://community.openai.com/t/web-search-filters-blocked-domains-appears-to-be-ignored-in-some-cases/1381555).
The model's text is not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Raw

from refdesk.errors import UpstreamError
from refdesk.wires.sse import Decoder, Event

Permit = Callable[[str], bool]
"""Whether a result with this URL may be shown."""
_KEPT_BYTES: Final = 64 * 1024
_CUT: Final = "the upstream ended its stream before the answer was complete"


class Limit:
    """
    Leaves results out, and counts them.

    Args:
        permit: Whether a URL may be shown.
    """

    def __init__(self, permit: Permit) -> None:
        self._permit = permit
        self.dropped = 0
        """How often something was left out; a stream tells the same thing several times."""

    def allows(self, url: str | None) -> bool:
        """Return whether a result with this URL stays, and count it where it does not."""
        if not url or self._permit(url):
            return True
        self.dropped += 1
        return False

    def left(self, items: Iterable[Raw], url_of: Callable[[Raw], str | None]) -> list[Raw] | None:
        """Return the items that stay; None where all do."""
        old = list(items)
        new = [item for item in old if self.allows(url_of(item))]
        return None if len(new) == len(old) else new


class LimitedStream:
    """
    A stream without the results that are left out; a `StreamRewriter`.

    Args:
        edit: Returns what is sent in an event's place.
        is_complete: The wire's own.
        broken_stream: The wire's own.
        on_end: Called when the stream has ended, however it did.
    """

    unknown_citations = 0

    def __init__(
        self,
        edit: Callable[[Event], bytes],
        *,
        is_complete: Callable[[bytes], bool],
        broken_stream: Callable[[bytes, bytes, str], bytes],
        on_end: Callable[[], None],
    ) -> None:
        self._edit = edit
        self._is_complete = is_complete
        self._broken_stream = broken_stream
        self._on_end = on_end
        self._decoder = Decoder()
        self._head = self._tail = b""
        self._unsent = b""
        self._closed = False

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes of the upstream; return what can be sent on."""
        if self._closed:
            return b""
        out: list[bytes] = []
        try:
            for event in self._decoder.feed(data):
                out.append(self._edit(event))  # noqa: PERF401 (what came before a fault is kept)
        except UpstreamError:
            self._unsent = b"".join(out)
            raise
        return self._sent(b"".join(out))

    def finish(self) -> bytes:
        """Return the rest, and the wire's ending where the answer is not complete."""
        return self.fail(_CUT)

    def fail(self, message: str) -> bytes:
        """Return the wire's own ending for an answer that broke off; nothing where it had ended."""
        if self._closed:
            return b""
        self._closed = True
        rest = self._decoder.finish()
        out = self._sent(self._unsent + (self._edit(rest) if rest is not None else b""))
        self._on_end()
        if self._is_complete(self._tail):
            return out
        return out + self._broken_stream(self._head, self._tail, message)

    def _sent(self, data: bytes) -> bytes:
        if len(self._head) < _KEPT_BYTES:
            self._head += data[: _KEPT_BYTES - len(self._head)]
        self._tail = data if len(data) >= 4096 else (self._tail + data)[-_KEPT_BYTES:]
        return data
