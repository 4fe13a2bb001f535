"""
One search with the ``ddgs`` library, in a process of its own.

It is run by path, with a JSON object on standard input, writes one to standard output, and imports
nothing of Refdesk: it starts fast, and what the library does (threads, native code, its own
connections) ends when the process is ended.  Fields in: ``query``, ``region``, ``safesearch``,
``timelimit``, ``max_results``, ``page``, ``backend``, ``proxy``, ``timeout``.  Out: ``rows``, or
``outcome`` and ``detail``.
"""

from __future__ import annotations

import json
import sys
from typing import Any
from urllib.parse import parse_qs, urlsplit

_REFUSED = frozenset({202, 403, 418, 429, 503})
"""How the sites behind the library say "not you, not now"; 202 is DuckDuckGo's way."""
_REDIRECTS = ("//duckduckgo.com/l/?", "https://duckduckgo.com/l/?")
_OFFLINE = ("dns", "connect", "unreachable", "error sending request")


def search(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the library's rows, or the outcome that its exception stands for."""
    import ddgs.base
    import ddgs.results
    from ddgs import DDGS
    from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException
    from ddgs.http_client import HttpClient

    statuses: list[int] = []

    class Noting(HttpClient):
        """The library's client; it notes statuses, since the library drops all but 200."""

        def request(self, *args: Any, **options: Any) -> Any:
            response = super().request(*args, **options)
            statuses.append(response.status_code)
            return response

    vars(ddgs.base)["HttpClient"] = Noting
    # The library would unquote addresses and write + for a space, which is another page's, and take
    # whatever stands in angle brackets out of texts.
    ddgs.results.BaseResult._normalizers = {}
    proxy, timeout, query = asked.pop("proxy"), asked.pop("timeout"), asked.pop("query")
    try:
        rows = DDGS(proxy=proxy, timeout=timeout).text(query, **asked)
        return {"rows": [{**row, "href": _target(row.get("href", ""))} for row in rows]}
    # Both derive from DDGSException, whose text alone tells an empty result from a failure.
    except RatelimitException as exc:
        return {"outcome": "rate_limited", "detail": str(exc)}
    except TimeoutException as exc:
        return {"outcome": "timeout", "detail": str(exc)}
    except DDGSException as exc:
        return _told_apart(str(exc), statuses)


def _target(href: str) -> str:
    """Return where DuckDuckGo's redirect leads, and any other address as it is."""
    if href.startswith(_REDIRECTS):
        return next(iter(parse_qs(urlsplit(href).query).get("uddg", ())), href)
    return href


def _told_apart(detail: str, statuses: list[int]) -> dict[str, Any]:
    refused = [status for status in statuses if status in _REFUSED]
    if "No results found" in detail:
        if refused and 200 not in statuses:
            return {"outcome": "rate_limited", "detail": f"answered {refused[0]}"}
        return {"rows": []}
    if any(word in detail.lower() for word in _OFFLINE):
        return {"outcome": "unreachable", "detail": detail}
    return {"outcome": "upstream_down", "detail": detail}


def main() -> None:
    """Answer the one question on standard input."""
    try:
        answer = search(json.load(sys.stdin))
    except Exception as exc:
        answer = {"outcome": "upstream_down", "detail": f"{type(exc).__name__}: {exc}"}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
