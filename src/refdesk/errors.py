"""
Every error that Refdesk raises on purpose.

* RefdeskError
  - ConfigError            the configuration is wrong; raised at start-up
    . UnknownName          a name that no plugin has registered
    . BrokenPlugin         an installed plugin of another distribution that cannot be used
  - SearchError            a search gave nothing usable; never reaches a gateway client
    . EngineError          the engine refused, or its answer did not parse
    . EngineTimeout        the engine, or the whole search, ran out of time
    . SearchShed           the limiter was full and the queue time ran out, or memory is short
  - EmbedderError          no vectors could be made of a text
  - IngestError            the machines that were to take documents in are away, or failed
  - DelegateError          an assistant or MCP tool that was to do a step did not
  - WireError              a client sent a body that its wire does not allow
  - UpstreamError          the model endpoint could not be reached, or its answer was cut
  - StoreError             the store cannot be opened or used
  - NoSuchReference        an earlier search, or its reference of that number, is not known
  - NotYours               that search was done with another client key

An upstream's own 4xx or 5xx is not one of them: it is an answer, and passes through as it came.
Messages are sentences that name the value and the remedy; they never hold a key.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Final, Literal

_SHOWN_CHARS: Final = 200
"""Of a name that a client made up, in a message."""

Outcome = Literal[
    "bad_key",
    "no_credit",
    "rate_limited",
    "bad_request",
    "unsupported_param",
    "upstream_down",
    "unreachable",
    "timeout",
    "too_large",
    "parse_error",
    "blocked",
]
"""How a call to an engine failed.  An empty result is no failure of the engine."""

Reason = Literal[
    "engine_timeout",
    "engine_unreachable",
    "engine_http_error",
    "engine_bad_response",
    "engine_too_large",
    "engine_quota",
    "engine_rate_limited",
    "engine_bad_key",
    "engine_resting",
    "no_results",
    "no_engine",
    "no_query",
    "queue_timeout",
    "budget_exceeded",
    "memory_pressure",
    "injection_failed",
    "target_blocked",
]
"""Why a gateway search did not happen: in the response header, the request log and the metrics."""

REASON_OF: dict[Outcome, Reason] = {
    "bad_key": "engine_bad_key",
    "no_credit": "engine_quota",
    "rate_limited": "engine_rate_limited",
    "bad_request": "engine_http_error",
    "unsupported_param": "engine_http_error",
    "upstream_down": "engine_http_error",
    "unreachable": "engine_unreachable",
    "timeout": "engine_timeout",
    "too_large": "engine_too_large",
    "parse_error": "engine_bad_response",
    "blocked": "target_blocked",
}


class RefdeskError(Exception):
    """The root of all errors raised on purpose."""


class ConfigError(RefdeskError):
    """The configuration is wrong; the message says where, what was found, what would be right."""


class UnknownName(ConfigError):
    """A name that no plugin of its kind has registered."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        close = get_close_matches(name, names, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        shown = name if len(name) <= _SHOWN_CHARS else f"{name[:_SHOWN_CHARS]}…"
        listed = ", ".join(names) or "none"
        super().__init__(f"no {kind} is called {shown!r}; known: {listed}{hint}")
        self.kind = kind
        self.name = name


class BrokenPlugin(ConfigError):
    """An installed plugin cannot be used; the message names its distribution."""


class SearchError(RefdeskError):
    """A search gave nothing usable.  At the gateway the request goes on without it."""

    attempts: tuple[Any, ...] = ()
    """The engines asked until then, as `refdesk.types.Attempt`; set by whoever ran the search."""
    notices: tuple[str, ...] = ()
    queue_s: float = 0.0

    def __init__(self, message: str, *, reason: Reason) -> None:
        super().__init__(message)
        self.reason: Reason = reason


class EngineError(SearchError):
    """
    An engine refused, could not be reached, or its answer did not parse.

    Args:
        message: What happened, without any key.
        outcome: The class of failure; decides how long the engine rests.
        retry_after_s: How long the engine asked us to wait, in seconds, where it did.
    """

    def __init__(
        self, message: str, *, outcome: Outcome, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message, reason=REASON_OF[outcome])
        self.outcome: Outcome = outcome
        self.retry_after_s = retry_after_s


class EngineTimeout(EngineError):
    """The engine took longer than it was given."""

    def __init__(self, message: str) -> None:
        super().__init__(message, outcome="timeout")


class SearchShed(SearchError):
    """The search was not started, because too much is going on already."""


class EmbedderError(RefdeskError):
    """No vectors could be made of a text.  The message says why, and what to do."""


class IngestError(RefdeskError):
    """The machines that were to read documents cannot be used; it says nothing of a document."""


class DelegateError(RefdeskError):
    """An assistant or MCP tool that was to do a step failed, or gave no usable answer."""


class WireError(RefdeskError):
    """
    A client sent a body that its wire does not allow.

    Args:
        message: What is wrong with which value, and what would be right.
        status: The HTTP status to answer with.
        param: The top-level field at fault, where there is one.
        retry_after_s: After how many seconds the same request may pass, where that is known.
        code: A word that clients act on, where the wire has one for this refusal.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        param: str | None = None,
        retry_after_s: int | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.param = param
        self.retry_after_s = retry_after_s
        self.code = code


UpstreamFault = Literal["unreachable", "timeout", "cut", "bad_response"]


class UpstreamError(RefdeskError):
    """The model endpoint could not be reached, took too long, or its answer broke off."""

    def __init__(self, message: str, *, fault: UpstreamFault) -> None:
        super().__init__(message)
        self.fault: UpstreamFault = fault


class StoreError(RefdeskError):
    """The store cannot be opened or used.  The message says what to do."""


class NoSuchReference(RefdeskError):
    """No search of such a request is kept, or none of its references has this number."""


class NotYours(RefdeskError):
    """The search was done with another client key."""
