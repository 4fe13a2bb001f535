"""The doctor's look at a server that runs where `serve` would listen: what held its loop up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from refdesk.cli._finding import Finding
from refdesk.cli._reach import PATIENCE_S, origin_of
from refdesk.errors import UpstreamError
from refdesk.telemetry.stalls import LOAD, OUTSIDE
from refdesk.upstream import UpstreamClient

if TYPE_CHECKING:
    from refdesk.config import Config

_MAX_BYTES: Final = 4 * 1024 * 1024
_SHOWN: Final = 3
_REMEDIES: Final = {
    OUTSIDE: "give the machine more processor time, or fewer neighbours",
    LOAD: "raise server.workers",
}


async def look_at_loop(config: Config) -> list[Finding]:
    """Ask a running server what held its event loop up; nothing where none answers."""
    origin = origin_of(config)
    if origin is None:
        return []
    client = UpstreamClient(connect_timeout_s=PATIENCE_S, idle_timeout_s=PATIENCE_S)
    head = f"GET /metrics HTTP/1.1\r\nhost: {origin.authority}\r\n".encode()
    try:
        reply = await client.send(origin, head, b"", whole=True, max_bytes=_MAX_BYTES)
    except UpstreamError:
        return []
    finally:
        await client.close()
    if reply.status in (401, 403) and b"refdesk keys create" in reply.body:
        text = "not looked at: /metrics wants a client key with the claim metrics"
        return [Finding(area="loop", level="ok", text=text)]
    if reply.status != 200:
        return []
    return findings(reply.body.decode(errors="replace"))


def findings(page: str) -> list[Finding]:
    """Return what a page of metrics says of the event loop; nothing where it says nothing."""
    from prometheus_client.parser import text_string_to_metric_families

    longest: dict[str, float] = {}
    number: dict[str, float] = {}
    told = False
    try:
        for family in text_string_to_metric_families(page):
            told = told or family.name == "refdesk_loop_stalls"
            for sample in family.samples:
                if sample.name == "refdesk_loop_stalls_total":
                    number[sample.labels["where"]] = sample.value
                elif sample.name == "refdesk_loop_stall_longest_seconds":
                    longest[sample.labels["where"]] = sample.value
    except (ValueError, KeyError):
        return []
    if not told:
        return []
    if not number:
        text = "nothing held up the running server for 50 ms"
        return [Finding(area="loop", level="ok", text=text)]
    worst = sorted(number, key=lambda where: longest.get(where, 0.0), reverse=True)
    return [
        Finding(
            area="loop",
            name=where,
            level="warning",
            text=(
                f"it held up the running server {number[where]:.0f} times, "
                f"for up to {longest.get(where, 0.0):.2g} s"
            ),
            remedy=_REMEDIES.get(where, "report it, with what was asked then (refdesk logs)"),
        )
        for where in worst[:_SHOWN]
    ]
