"""Origins: read from URLs, compared by what a connection depends on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.errors import ConfigError
from refdesk.upstream import Origin


@pytest.mark.parametrize(
    ("url", "origin", "prefix", "authority"),
    [
        ("https://api.test/v1", Origin("https", "api.test", 443), "/v1", "api.test"),
        ("https://api.test/v1/", Origin("https", "api.test", 443), "/v1", "api.test"),
        ("https://api.test", Origin("https", "api.test", 443), "", "api.test"),
        ("http://API.Test:8080/", Origin("http", "api.test", 8080), "", "api.test:8080"),
        ("http://api.test:443", Origin("http", "api.test", 443), "", "api.test:443"),
        ("http://[::1]:8484/a b", Origin("http", "::1", 8484), "/a%20b", "[::1]:8484"),
        ("https://bücher.example", Origin("https", "xn--bcher-kva.example", 443), "", None),
        ("http://①②⑦.⓪.⓪.①", Origin("http", "127.0.0.1", 80), "", "127.0.0.1"),
    ],
)
def test_a_base_url(url: str, origin: Origin, prefix: str, authority: str | None) -> None:
    """A base URL has an origin and a prefix without a slash at its end."""
    assert Origin.parse(url) == (origin, prefix)
    assert authority is None or origin.authority == authority


@pytest.mark.parametrize(
    "url",
    [
        "api.test/v1",
        "ftp://api.test",
        "file:///etc/passwd",
        "https://",
        "https://user:canary@api.test",
        "https://api.test:canary",
        "https://api.test:99999",
        "https://api.test:0",
        "https://api.test?key=canary",
        "https://api.test/#canary",
        "https://a\tb\nc/",
        "https://a\x00b/",
        "https://[canary",
        "https://[::1]canary/",
        "https://exa mple/",
        "https://a\\b/",
        "",
    ],
)
def test_what_is_no_base_url(url: str) -> None:
    """Anything else is refused in a sentence that does not show what may be a secret."""
    if url == "https://a\tb\nc/":  # browsers and urllib drop these; so the host is abc
        assert Origin.parse(url)[0].host == "abc"
        return
    with pytest.raises(ConfigError) as caught:
        Origin.parse(url)
    assert "canary" not in str(caught.value)


def test_a_target() -> None:
    """A URL splits into its origin and the target: path and query in ASCII, without fragment."""
    assert Origin.split("https://a.test/s?q=a b&r=%20ü#top") == (
        Origin("https", "a.test", 443),
        "/s?q=a%20b&r=%20%C3%BC",
    )
    assert Origin.split("https://a.test?q")[1] == "/?q"


def test_addresses_are_part_of_it() -> None:
    """Two origins with other addresses do not share connections; equal ones do."""
    plain, pinned = Origin("http", "a", 80), Origin("http", "a", 80, addresses=("192.0.2.1",))
    assert plain != pinned
    assert plain == Origin(scheme="http", host="a", port=80)
    assert hash(plain) == hash(Origin("http", "a", 80))
    assert len({plain, pinned, Origin("http", "a", 80)}) == 2


@given(st.text(max_size=40))
def test_any_text(text: str) -> None:
    """Whatever a URL holds, it is refused, or what comes of it cannot end a header line."""
    for url in (text, f"http://{text}", f"http://a/{text}"):
        try:
            origin, target = Origin.split(url)
        except ConfigError:
            continue
        line = f"{origin.authority} {target}"
        assert line.isascii()
        assert line.isprintable()
        assert " " not in target + origin.authority
