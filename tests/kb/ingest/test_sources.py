"""What is to be added, and what is not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.errors import EngineError
from refdesk.fetch.fetcher import Redirected
from refdesk.http import HttpRequest, HttpResponse
from refdesk.kb.ingest.sources import (
    MAX_URL_CHARS,
    Skipped,
    Source,
    fetched,
    sources_of,
    upload_key,
)


def test_folder(tmp_path: Path) -> None:
    """A folder gives its files, sorted, folders in it too; names with a dot, links, pipes not."""
    (tmp_path / "b" / ".git").mkdir(parents=True)
    for name in ("b/z.txt", "a.txt", ".hidden", "b/.git/config"):
        (tmp_path / name).write_text("x")
    (tmp_path / "link").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe")
    found = list(sources_of([tmp_path]))
    taken = [one.key for one in found if isinstance(one, Source)]
    assert taken == [str(tmp_path / "a.txt"), str(tmp_path / "b/z.txt")]
    left = {Path(one.key).name: one.reason for one in found if isinstance(one, Skipped)}
    assert left == {
        ".hidden": "its name starts with a dot",
        ".git": "its name starts with a dot",
        "link": "it is a link, and those are not followed",
        "pipe": "it is no plain file",
    }


def test_given_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is named twice, in two ways, is one source."""
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path)
    assert len(list(sources_of([tmp_path, "a.txt", "./b/../a.txt"]))) == 1


def test_not_there() -> None:
    """What was named and is not there is a failure, not something skipped."""
    (missing,) = sources_of(["/no/such/file"])
    assert isinstance(missing, Skipped)
    assert missing.failed
    (odd,) = sources_of([os.fsdecode(b"/no/such\xff")])
    assert odd.key == "/no/such\ufffd"
    assert list(sources_of(["https://example.org/a"])) == [
        Source(key="https://example.org/a", kind="url")
    ]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("../../etc/cron.d/x", "x"),
        ("C:\\temp\\a.pdf", "a.pdf"),
        ("a\0.pdf", "a.pdf"),
        ("..", "unnamed"),
        ("", "unnamed"),
        ("文件.txt", "文件.txt"),
    ],
)
def test_upload_key(name: str, key: str) -> None:
    """An upload is called by the last part of its name, without what cannot be shown."""
    assert upload_key(name) == key


@given(st.text(max_size=400))
def test_any_upload_key(name: str) -> None:
    """Whatever the name, the key is short, printable, and no path."""
    key = upload_key(name)
    assert 0 < len(key) <= 255
    assert key.isprintable()
    assert "/" not in key
    assert key not in (".", "..")


class Web:
    """A web of redirects; the last address answers."""

    def __init__(self, *locations: str | None, status: int = 200) -> None:
        self.locations = list(locations)
        self.status = status
        self.asked: list[str] = []

    async def send(self, request: HttpRequest, **how: Any) -> HttpResponse:
        """Redirect as long as there is somewhere to go."""
        assert how["public_only"]
        self.asked.append(request.url)
        if self.locations:
            raise Redirected("answered 302", location=self.locations.pop(0))
        return HttpResponse(status=self.status, body=b"page")


async def test_redirects() -> None:
    """Redirects are followed, each through the guard that the first address went through."""
    web = Web("/b", "https://other.example/c")
    answer = await fetched(web, "http://example.org/a")  # type: ignore[arg-type]
    assert answer.body == b"page"
    assert web.asked == [
        "http://example.org/a",
        "http://example.org/b",
        "https://other.example/c",
    ]


@pytest.mark.parametrize(
    ("web", "why"),
    [
        (Web(*["/x"] * 9), "more than 5 times"),
        (Web(None), "answered 302"),
        (Web(status=404), "example.org answered 404"),
    ],
)
async def test_no_page(web: Web, why: str) -> None:
    """Redirects without end or aim, and errors, are no page."""
    with pytest.raises(EngineError, match=why):
        await fetched(web, "http://example.org/a")  # type: ignore[arg-type]


@pytest.mark.parametrize("url", ["https://ann:s3cret@example.org/a@b", "http://token@example.org"])
def test_address_with_a_password(url: str) -> None:
    """It is refused, with the remedy, and what must not be shown is in no message."""
    (found,) = sources_of([url])
    assert isinstance(found, Skipped)
    assert found.failed
    assert found.key in ("https://example.org/a@b", "http://example.org")
    assert "saved and added as a file" in found.reason


def test_a_very_long_address() -> None:
    """An address longer than any page's fails, and is not cut to that of another page."""
    url = "https://example.org/" + "a" * MAX_URL_CHARS
    (found,) = sources_of([url])
    assert isinstance(found, Skipped)
    assert (found.failed, len(found.key)) == (True, MAX_URL_CHARS)
    assert "4116 characters, and 4096 are allowed" in found.reason
    (page,) = sources_of([url[:MAX_URL_CHARS]])
    assert isinstance(page, Source)
