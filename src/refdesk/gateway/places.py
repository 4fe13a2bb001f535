"""Where each upstream answers, for the requests beside the model routes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from refdesk.config.schema import Config, UpstreamEntry, WireName
from refdesk.errors import WireError
from refdesk.gateway.endpoints import STORED, Endpoint
from refdesk.providers import lacks
from refdesk.upstream import Origin

CHOOSER: Final = "x-refdesk-model"
"""The header that names a model, and so an upstream, where path and body name none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """An upstream: its address, and how it is logged in to."""

    upstream: str
    provider: str
    wires: tuple[WireName, ...]
    origin: Origin
    prefix: str
    """The path before that of a wire: ``/v1``."""
    heads: Mapping[str, bytes]
    """By wire: the rest of the request line, host, login and the headers of the configuration."""
    set_headers: frozenset[bytes]
    """Names of headers that the configuration sets, in lower case."""

    def wire_for(self, endpoint: Endpoint) -> str | None:
        """Return the wire on which the upstream has an endpoint; None if it speaks none of them."""
        return next((wire for wire in endpoint.wires if wire in self.wires), None)

    def missing(self, endpoint: Endpoint) -> str:
        """Return why the upstream cannot be asked for an endpoint, or an empty string."""
        if self.wire_for(endpoint) is None:
            return (
                f"the upstream {self.upstream!r} speaks {' and '.join(self.wires)}; "
                f"{endpoint.about} are asked for on {' or '.join(endpoint.wires)}"
            )
        if evidence := lacks(self.provider, endpoint.service):
            return f"the upstream {self.upstream!r} has no {endpoint.about}: {evidence}"
        return ""


def head_of(upstream: UpstreamEntry, wire: WireName) -> bytes:
    """Return what follows the path in each request head for an upstream on a wire."""
    origin, _ = Origin.parse(upstream.base_url)
    headers = {"host": origin.authority, "accept-encoding": "identity"}
    if upstream.api_key is not None:
        key = upstream.api_key.get_secret_value()
        headers |= {"x-api-key": key} if wire == "messages" else {"authorization": f"Bearer {key}"}
    headers |= {
        header.lower(): value.get_secret_value() for header, value in upstream.headers.items()
    }
    lines = "".join(f"{header}: {value}\r\n" for header, value in headers.items())
    return f" HTTP/1.1\r\n{lines}".encode("latin-1")


def headers_set(upstream: UpstreamEntry) -> frozenset[bytes]:
    """Return the names of the headers that the configuration sets for an upstream."""
    return frozenset(header.lower().encode("latin-1") for header in upstream.headers)


def build_places(config: Config) -> dict[str, Place]:
    """Return the place of each upstream, by its name."""
    places: dict[str, Place] = {}
    for name, upstream in config.upstreams.items():
        origin, prefix = Origin.parse(upstream.base_url)
        places[name] = Place(
            upstream=name,
            provider=upstream.provider,
            wires=upstream.wire,
            origin=origin,
            prefix=prefix or "/v1",
            heads={wire: head_of(upstream, wire) for wire in upstream.wire},
            set_headers=headers_set(upstream),
        )
    return places


def only(places: Mapping[str, Place], endpoint: Endpoint) -> Place:
    """
    Return the only upstream that can be asked for an endpoint.

    Raises:
        WireError: There is none, or more than one (400).
    """
    found = [place for place in places.values() if not place.missing(endpoint)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise WireError(
            f"no upstream has {endpoint.about}; add one under `upstreams:` that speaks "
            f"{' or '.join(endpoint.wires)}"
        )
    names = ", ".join(place.upstream for place in found)
    raise WireError(
        f"the request names no model, and several upstreams may have {endpoint.about} ({names}); "
        f"send `{CHOOSER}: NAME` with a model of the one that is meant"
    )


def unfetchable(places: Mapping[str, Place], upstream: str, *, shared: bool) -> str:
    """
    Return why an answer that an upstream keeps cannot be fetched here, or an empty string.

    Args:
        places: All upstreams.
        upstream: The name of the one that keeps it.
        shared: Whether the next request may meet another process, which remembers other ids.
    """
    if missing := places[upstream].missing(STORED):
        return missing
    others = [each for each in places.values() if not each.missing(STORED)]
    if shared and len(others) > 1:
        return (
            "several upstreams keep responses, and with server.workers above 1 the next request "
            "may meet a process that does not remember which of them has it"
        )
    return ""
