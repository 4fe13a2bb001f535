"""
Which model the demo speaks to: the one named, one that the environment offers, or the small one.

An address is asked which wire it speaks by an empty request, which costs nothing: what is not
served there is a 404 or a 405, everything else an error about the body or the key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import httpx2

from refdesk.errors import RefdeskError

Wire = Literal["messages", "responses", "chat"]

OLLAMA: Final = "http://127.0.0.1:11434"
KEY_VARIABLE: Final = "REFDESK_DEMO_API_KEY"
_PROBE_S: Final = 3.0
_LOCAL_PROBE_S: Final = 0.5
_PATHS: Final[Mapping[Wire, str]] = {
    "messages": "/messages",
    "responses": "/responses",
    "chat": "/chat/completions",
}
_NOT_SERVED: Final = frozenset({404, 405, 501})


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """A model and where it is served."""

    name: str
    base_url: str
    wire: Wire
    provider: str = "compatible"
    api_key: str | None = field(default=None, repr=False)
    where: str = ""
    """For people: ``at api.anthropic.com``."""
    small: bool = False
    """It reads little, and is given little."""


@dataclass(frozen=True, slots=True)
class _Vendor:
    provider: str
    key: str
    base: str
    default_base: str
    wire: Wire
    model: str
    names: re.Pattern[str]


_VENDORS: Final = (
    _Vendor(
        "anthropic",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "https://api.anthropic.com",
        "messages",
        "claude-haiku-4-5",
        re.compile(r"claude-"),
    ),
    _Vendor(
        "openai",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "https://api.openai.com/v1",
        "responses",
        "gpt-5-mini",
        re.compile(r"gpt-|o\d"),
    ),
)


class Network:
    """The questions that choosing asks of the network; each is answered within seconds."""

    def status(self, url: str, key: str | None = None, timeout_s: float = _PROBE_S) -> int | None:
        """Return the status of an empty POST; None if nobody answered."""
        headers = {"authorization": f"Bearer {key}", "x-api-key": key} if key else {}
        try:
            with httpx2.Client(timeout=timeout_s, trust_env=not _is_local(url)) as client:
                return client.post(url, json={}, headers=headers).status_code
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError):
            return None

    def json(self, url: str, timeout_s: float = _LOCAL_PROBE_S) -> Any:
        """Return the JSON at an address; None if there is none."""
        try:
            with httpx2.Client(timeout=timeout_s, trust_env=not _is_local(url)) as client:
                return client.get(url).raise_for_status().json()
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError):
            return None


def named(model: str | None, base_url: str, env: Mapping[str, str], network: Network) -> Model:
    """
    Return the model at an address that the user names.

    A vendor's key from the environment goes to that vendor only; another address gets the key in
    ``REFDESK_DEMO_API_KEY``, or none.

    Raises:
        RefdeskError: Nobody answers there, on no wire, or it has no model by itself.
    """
    url = base_url.rstrip("/")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise RefdeskError(f"--base-url {base_url!r} is no http:// or https:// address")
    if not parts.path:
        url += "/v1"
    vendor = next((v for v in _VENDORS if _host(v.default_base) == parts.hostname), None)
    key = env.get(KEY_VARIABLE) or (env.get(vendor.key) if vendor else None) or None
    wire = vendor.wire if vendor else _probe(url, key, network)
    return Model(
        name=model or (vendor.model if vendor else _first_model(url, network)),
        base_url=url,
        wire=wire,
        provider=vendor.provider if vendor else "compatible",
        api_key=key,
        where=f"at {parts.netloc.rpartition('@')[2]}",
    )


def offered(
    model: str | None,
    env: Mapping[str, str],
    network: Network,
    *,
    say: Callable[[str], None] = lambda _: None,
) -> Model | None:
    """
    Return a model that the environment offers, the vendors' keys before an Ollama; or None.

    Args:
        model: Only this one will do.
        env: The environment.
        network: Whom to ask.
        say: Told why something that was offered is not used.
    """
    for vendor in _VENDORS:
        key = env.get(vendor.key)
        base = (env.get(vendor.base) or vendor.default_base).rstrip("/")
        # An address on loopback is most likely this very gateway, from an earlier paste.
        if not key or _is_local(base) or (model and not vendor.names.match(model)):
            continue
        url = base if urlsplit(base).path else f"{base}/v1"
        if network.status(url + _PATHS[vendor.wire]) is None:
            say(f"{vendor.key} is set, but {_host(base)} cannot be reached")
            continue
        return Model(
            name=model or vendor.model,
            base_url=url,
            wire=vendor.wire,
            provider=vendor.provider,
            api_key=key,
            where=f"at {_host(base)}, with {vendor.key}",
        )
    names = list(_ollama_models(network.json(f"{OLLAMA}/api/tags")))
    name = next((n for n in names if model in (None, n, n.removesuffix(":latest"))), None)
    if name is None:
        return None
    return Model(
        name=name,
        base_url=f"{OLLAMA}/v1",
        wire=_probe(f"{OLLAMA}/v1", None, network),
        provider="ollama",
        where="by Ollama on this machine",
    )


def _ollama_models(tags: Any) -> Iterator[str]:
    for entry in tags.get("models", ()) if isinstance(tags, dict) else ():
        name = entry.get("name") if isinstance(entry, dict) else None
        # An embedding model answers no questions.
        if isinstance(name, str) and not re.search(r"embed|bge-|minilm", name):
            yield name


def _probe(url: str, key: str | None, network: Network) -> Wire:
    """Return the first wire that an address speaks, Messages before the others."""
    nobody = True
    for wire, path in _PATHS.items():
        status = network.status(url + path, key)
        nobody = nobody and status is None
        if status is not None and status not in _NOT_SERVED:
            return wire
        if nobody:
            break
    if nobody:
        raise RefdeskError(f"nobody answers at {url}; is the server up, and the address right?")
    raise RefdeskError(
        f"{url} serves none of {', '.join(_PATHS.values())}; a base URL often ends in /v1"
    )


def _first_model(url: str, network: Network) -> str:
    listed = network.json(f"{url}/models", _PROBE_S)
    data = listed.get("data") if isinstance(listed, dict) else None
    for entry in data if isinstance(data, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("id"), str):
            return str(entry["id"])
    raise RefdeskError(f"{url}/models lists no model; name one with --model")


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _is_local(url: str) -> bool:
    return _host(url) in ("127.0.0.1", "localhost", "::1")
