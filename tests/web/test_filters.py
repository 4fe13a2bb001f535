"""What happens to results between the engine and whoever asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.http import is_web_url, normal_url
from refdesk.testing.fakes import item
from refdesk.types import ResultItem
from refdesk.web.filters import Domains, clean, read_domains, tidy


@pytest.mark.parametrize(
    ("entry", "url", "covered"),
    [
        ("nih.gov", "https://nih.gov/", True),
        ("nih.gov", "https://sub.nih.gov/x", True),
        ("nih.gov", "https://notnih.gov/", False),
        ("nih.gov", "https://nih.gov.evil.com/", False),
        ("nih.gov", "https://webmd.com/?ref=nih.gov", False),
        ("NIH.gov", "HTTPS://WWW.NIH.GOV./", True),
        ("sub.nih.gov", "https://nih.gov/", False),
        ("gov", "https://nih.gov/", True),
        ("example.com/", "https://example.com/any", True),
        ("example.com/blog", "https://example.com/blog", True),
        ("example.com/blog", "https://docs.example.com/blog/post?x=1", True),
        ("example.com/blog", "https://example.com/Blog/Post", True),
        ("example.com/blog", "https://example.com/blogging", False),
        ("example.com/blog", "https://example.com/", False),
        ("example.com/a%20b", "https://example.com/a%20b/c", True),
        ("example.com/*/news", "https://example.com/de/news/1", True),
        ("example.com/*/news", "https://example.com/de/at/news", True),
        ("example.com/*/news", "https://example.com/de/newsroom", False),
        ("example.com/*/news", "https://example.com/news", False),
        ("example.com/*/news", "https://example.com/x/newsroom/news", True),
        ("example.com/*", "https://example.com/any", True),
        ("example.com/a*b*c", "https://example.com/a1b2c/d", True),
        ("example.com/a*b*c", "https://example.com/a1c2b", False),
        ("bücher.example", "https://xn--bcher-kva.example/", True),
        ("xn--bcher-kva.example", "https://BÜCHER.example/x", True),
        ("例え.テスト", "https://xn--r8jz45g.xn--zckzah/", True),
        ("127.0.0.1", "http://127.0.0.1:8080/", True),
        ("https://example.com", "https://example.com/", True),
        ("*.example.com", "https://www.example.com/", True),
    ],
)
def test_domains(entry: str, url: str, covered: bool) -> None:
    """An entry takes in subdomains and what lies below its path, allowed and blocked alike."""
    assert read_domains([entry], []).permit(url) is covered
    assert read_domains([], [entry]).permit(url) is not covered


def test_blocked_wins() -> None:
    """What is blocked stays out, also below what is allowed."""
    domains = read_domains(["example.com"], ["bad.example.com", "example.com/ads"])
    assert domains.permit("https://good.example.com/")
    assert not domains.permit("https://bad.example.com/")
    assert not domains.permit("https://example.com/ads/1")


@pytest.mark.parametrize(
    "entry",
    ["", "*", "ex*.com", "a b.com", "user@example.com", "example.com:80", "-x.com", "example..com",
     "/path", "ftp://example.com", "example.com/a?b", "a" * 300 + ".com", "ü" * 70 + ".com"],
)  # fmt: skip
def test_bad_entries(entry: str) -> None:
    """What is no domain is left out and told; a limit made only of such lets nothing through."""
    domains = read_domains([entry], [])
    assert domains.allowed == ()
    assert "was left out" in domains.notices[0]
    assert not domains.permit("https://example.com/")
    assert read_domains([entry, "example.com"], []).permit("https://example.com/")
    blocked = read_domains([], [entry])
    assert (blocked.blocked, len(blocked.notices)) == ((), 1)
    assert blocked.permit("https://example.com/")


def test_what_is_understood_is_told() -> None:
    """A scheme or a leading star is read as it was meant, and the right form is told."""
    notices = read_domains(["https://example.com/", "*.example.org"], []).notices
    assert "was read as 'example.com'" in notices[0]
    assert "was read as 'example.org'" in notices[1]


def test_as_engines_understand_it() -> None:
    """An engine is told the part of an entry before the star."""
    sites = read_domains(["Bücher.example/a/*/c", "example.com/"], []).allowed
    assert sites is not None
    assert [str(site) for site in sites] == ["xn--bcher-kva.example/a", "example.com"]


def test_no_limit() -> None:
    """Without entries everything may be shown."""
    assert read_domains([], []) == Domains()
    assert Domains().permit("https://example.com/")


def test_each_page_once_in_order() -> None:
    """Two spellings of one page are one; the first stays, and the order with it."""
    items = [
        item("https://b.com/x?utm_source=n"),
        item("https://A.com/"),
        item("https://b.com/x#part"),
        item("https://a.com"),
        item("https://c.com"),
    ]
    kept = tidy(items, Domains(), 10)
    assert [row.url for row in kept] == [
        "https://b.com/x?utm_source=n",
        "https://A.com/",
        "https://c.com",
    ]
    assert len(tidy(items, Domains(), 2)) == 2


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "/relative", "https://",
     "https://a@b.com/", "https://a .com/", "https://a.com/\ud800", "http://[::1", ""],
)  # fmt: skip
def test_only_web_urls(url: str) -> None:
    """What is no link for a reader is dropped, and the rest kept."""
    kept = tidy([item(url), item("https://ok.com/")], Domains(), 10)
    assert [row.url for row in kept] == ["https://ok.com/"]


def test_a_url_is_made_fit_for_a_link() -> None:
    """A row of any engine whose URL has a space, a quote or a bracket is kept, once."""
    rows = [
        item('https://a.com/a "b"'),
        item("https://a.com/a%20%22b%22"),
        item("https://a.com/<c>"),
    ]
    kept = tidy(rows, Domains(), 10)
    assert [row.url for row in kept] == ["https://a.com/a%20%22b%22", "https://a.com/%3Cc%3E"]


def test_text_is_clean() -> None:
    """NULs, byte order marks and lone surrogates are gone; an emptied title is the host."""
    dirty = ResultItem(
        title="\x00\ufeff",
        url="https://a.com/x",
        content="a\x00b\ud800\tc\n",
        published="\x00 2026",
    )
    (row,) = tidy([dirty], Domains(), 1)
    assert (row.title, row.content, row.published) == ("a.com", "ab\ufffd\tc\n", " 2026")
    fine = item("https://a.com/", "Title", "text")
    assert tidy([fine], Domains(), 1)[0] is fine


@given(st.lists(st.text(max_size=30), max_size=5), st.lists(st.text(max_size=30), max_size=5))
def test_any_entries(allowed: list[str], blocked: list[str]) -> None:
    """No entry raises; each is read or told."""
    domains = read_domains(allowed, blocked)
    domains.permit("https://example.com/a/b?c=d")
    if allowed:
        assert domains.allowed is not None
    if domains.allowed is not None:
        assert len(domains.allowed) + len(domains.notices) >= min(1, len(set(allowed)))


@given(
    st.lists(
        st.builds(
            ResultItem,
            title=st.text(max_size=10),
            url=st.one_of(
                st.text(max_size=20),
                st.sampled_from(["a", "b", "c"]).map(lambda host: f"https://{host}.com/"),
            ),
            content=st.text(max_size=10),
        ),
        max_size=20,
    ),
    st.integers(0, 5),
)
def test_any_rows(items: list[ResultItem], limit: int) -> None:
    """Whatever an engine sends, what is left is bounded, distinct, valid and encodable."""
    kept = tidy(items, Domains(), limit)
    assert len(kept) <= limit
    assert len({normal_url(row.url) for row in kept}) == len(kept)
    for row in kept:
        assert is_web_url(row.url)
        assert row.title
        f"{row.title}{row.url}{row.content}".encode()
        assert "\x00" not in row.title + row.content


@given(st.text())
def test_clean_is_idempotent(text: str) -> None:
    """Clean text stays as it is."""
    assert clean(clean(text)) == clean(text)
