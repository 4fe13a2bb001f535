"""ddgs: a search in a child process that may hang, talk without end, or die."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from recorded import recording
from refdesk.errors import ConfigError, EngineError, EngineTimeout
from refdesk.types import Location, WebQuery
from refdesk.web.engines import ENGINES
from refdesk.web.local.ddgs import BACKENDS, COMMAND, MAX_OUTPUT_BYTES, Ddgs

QUERY = WebQuery(text="tides")
Child = Callable[..., Ddgs]


@pytest.fixture
def child() -> Child:
    """Make an engine whose child process runs the given Python code."""

    def engine(code: str, **settings: Any) -> Ddgs:
        options = Ddgs.Options.model_validate(settings)
        return Ddgs("main", options, command=(sys.executable, "-S", "-E", "-c", code))

    return engine


def saying(answer: Any) -> str:
    """Return code of a child that takes its question and gives this answer."""
    return f"import sys; sys.stdin.read(); sys.stdout.write({json.dumps(answer)!r})"


async def test_rows(child: Child) -> None:
    """Rows keep their order; one without a web address is counted, one without title named."""
    code = saying(json.loads(recording("engines/ddgs/200-rows.json")))
    page = await child(code).search(QUERY, timeout_s=20)
    assert [(row.title, row.url) for row in page.items] == [
        ("Tide tables", "https://tides.example/tables"),
        ("moon.example", "https://moon.example/why"),
    ]
    assert page.items[0].content == "High and low water."
    assert page.skipped == 1
    one = WebQuery(text="tides", limit=1, time_range="hour")
    cut = await child(code).search(one, timeout_s=20)
    assert (len(cut.items), cut.dropped) == (1, ("time_range",))


async def test_question(child: Child, tmp_path: Path) -> None:
    """The child is asked in the library's words: region, safe search, time limit, operators."""
    asked = tmp_path / "asked"
    code = (
        "import sys, pathlib; "
        f"pathlib.Path({str(asked)!r}).write_text(sys.stdin.read()); print('{{\"rows\": []}}')"
    )
    query = WebQuery(
        text="tides",
        page=2,
        limit=10,
        sites=("a.example/x",),
        time_range="week",
        language="de",
        location=Location(country="gb"),
        safe=True,
    )
    page = await child(code, backend="mojeek, brave", proxy="http://u:p@h:1").search(
        query, timeout_s=20
    )
    assert page.items == ()
    assert page.dropped == ()
    assert json.loads(asked.read_text()) == {
        "query": "site:a.example/x tides",
        "region": "uk-de",
        "safesearch": "on",
        "timelimit": "w",
        "max_results": 10,
        "page": 2,
        "backend": "mojeek,brave",
        "proxy": "http://u:p@h:1",
        "timeout": 19,
    }


async def test_environment(child: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child's environment holds no secret of ours, and no proxy that nobody configured."""
    for name in ("SERPER_API_KEY", "OPENAI_API_KEY", "HTTPS_PROXY", "DDGS_PROXY"):
        monkeypatch.setenv(name, "canary")
    code = (
        "import os, sys, json; sys.stdin.read(); "
        "body = ' '.join([*os.environ, *os.environ.values()]); "
        "print(json.dumps({'rows': [{'href': 'https://a.example/', 'body': body}]}))"
    )
    page = await child(code).search(QUERY, timeout_s=20)
    assert "PATH" in page.items[0].content
    assert "canary" not in page.items[0].content
    assert "PROXY" not in page.items[0].content


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"outcome": "rate_limited", "detail": "answered 202"}, "rate_limited"),
        ({"outcome": "timeout", "detail": "timed out"}, "timeout"),
        ({"outcome": "unreachable", "detail": "DNSError"}, "unreachable"),
        ({"outcome": "no such outcome", "detail": "x"}, "upstream_down"),
        ([], "parse_error"),
        ({"rows": "none"}, "parse_error"),
    ],
)
async def test_outcomes(child: Child, answer: Any, outcome: str) -> None:
    """What the child says went wrong is the outcome; nonsense is a parse error."""
    with pytest.raises(EngineError) as caught:
        await child(saying(answer)).search(QUERY, timeout_s=20)
    assert caught.value.outcome == outcome
    assert isinstance(caught.value, EngineTimeout) is (outcome == "timeout")


async def test_details_hold_no_query_and_no_secret(child: Child) -> None:
    """An error that quotes the URL asked, or the proxy, is said without the words and the proxy."""
    detail = "error for url (https://h.example/?q=private+words) via http://u:canary@h:1 <b>x</b>"
    engine = child(
        saying({"outcome": "unreachable", "detail": detail}), proxy="http://u:canary@h:1"
    )
    with pytest.raises(EngineError) as caught:
        await engine.search(QUERY, timeout_s=20)
    assert str(caught.value) == (
        "main gave no results: error for url (https://h.example/) via •••• x"
    )


async def test_dead_child(child: Child) -> None:
    """A child that dies without a word, before it read the question, is a parse error."""
    with pytest.raises(EngineError, match="ended without an answer") as caught:
        await child("import os; os._exit(3)").search(QUERY, timeout_s=20)
    assert caught.value.outcome == "parse_error"


async def test_no_program() -> None:
    """A child that cannot be started is said so."""
    engine = Ddgs("main", Ddgs.Options.model_validate({}), command=("/nonexistent/python",))
    with pytest.raises(EngineError, match="could not start") as caught:
        await engine.search(QUERY, timeout_s=20)
    assert caught.value.outcome == "unreachable"


async def test_too_much(child: Child) -> None:
    """A child that never stops writing is ended at the cap."""
    code = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
    with pytest.raises(EngineError, match=str(MAX_OUTPUT_BYTES)) as caught:
        await child(code).search(QUERY, timeout_s=20)
    assert caught.value.outcome == "too_large"


@pytest.fixture
async def hanging(child: Child, tmp_path: Path) -> tuple[Ddgs, Callable[[], Any]]:
    """An engine whose child hangs, and a wait for its process id."""
    fifo = tmp_path / "pid"
    os.mkfifo(fifo)
    code = (
        "import os, signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
        f"open({str(fifo)!r}, 'w').write(str(os.getpid())); signal.pause()"
    )

    async def pid() -> int:
        return int(await asyncio.to_thread(fifo.read_text))

    return child(code), pid


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_deadline(hanging: tuple[Ddgs, Callable[[], Any]]) -> None:
    """At the deadline the child is ended, though it ignores being asked to."""
    engine, pid = hanging
    search = asyncio.create_task(engine.search(QUERY, timeout_s=2))
    number = await pid()
    with pytest.raises(EngineTimeout, match="main gave no answer within 2 s"):
        await search
    assert is_gone(number)


async def test_cancellation(hanging: tuple[Ddgs, Callable[[], Any]]) -> None:
    """When the client leaves, the child is gone before the search is."""
    engine, pid = hanging
    search = asyncio.create_task(engine.search(QUERY, timeout_s=50))
    number = await pid()
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    assert is_gone(number)


def test_options() -> None:
    """Backends are those of the library, since it takes auto for a name it does not know."""
    from ddgs.engines import ENGINES as THEIRS

    assert set(THEIRS["text"]) == BACKENDS - {"auto"}
    with pytest.raises(ConfigError, match="no backend of ddgs is called 'google'; known: auto"):
        ENGINES.get("ddgs").configure("main", {"backend": "google"})
    with pytest.raises(ConfigError, match="region"):
        ENGINES.get("ddgs").configure("main", {"region": "en"})


async def run(*code: str, **changes: Any) -> Any:
    """Run a program with a question on its input; its answer."""
    program = await asyncio.create_subprocess_exec(
        *code, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    asked = {
        "query": "tides",
        "region": "us-en",
        "safesearch": "moderate",
        "timelimit": None,
        "max_results": 5,
        "page": 1,
        "backend": "duckduckgo",
        "proxy": None,
        "timeout": 5,
        **changes,
    }
    output, _ = await program.communicate(json.dumps(asked).encode())
    return json.loads(output)


STUB = """
import runpy, ddgs, ddgs.http_client, primp, ddgs.exceptions as e
class Answer:
    status_code, content, text = {status}, b"", {text!r}
def request(self, *args, **options):
    {before}
    return Answer()
ddgs.http_client.HttpClient.request = request
runpy.run_path({path!r}, run_name="__main__")
"""


@pytest.mark.parametrize(
    ("status", "before", "answer"),
    [
        (200, "pass", {"rows": []}),
        (202, "pass", {"outcome": "rate_limited", "detail": "answered 202"}),
        (
            200,
            "raise e.TimeoutException('timed out')",
            {"outcome": "timeout", "detail": "timed out"},
        ),
        (
            200,
            "raise e.DDGSException('DNSError: x')",
            {"outcome": "unreachable", "detail": "DNSError: x"},
        ),
    ],
)
async def test_the_real_child(status: int, before: str, answer: Any) -> None:
    """
    The child tells an empty page from a refusal, which the library drops without a word.

    Its requests are answered in its own process, so that nothing leaves this machine.
    """
    code = STUB.format(status=status, text="<html></html>", before=before, path=COMMAND[-1])
    assert await run(sys.executable, "-P", "-c", code) == answer


DUCK = '<div class="body"><h2>{title}</h2><a href="{href}">A text of {title}.</a></div>'
YAHOO = (
    '<div class="relsrch"><div class="Title"><h3>{title}</h3><a href="{href}"></a></div>'
    '<div class="Text">A text of {title}.</div></div>'
)


@pytest.mark.parametrize(
    ("backend", "shape", "wrap"),
    [
        ("duckduckgo", DUCK, "{}"),
        ("duckduckgo", DUCK, "//duckduckgo.com/l/?uddg={quoted}&amp;rut=1"),
        ("yahoo", YAHOO, "https://r.search.yahoo.com/_ylt=1/RU={quoted}/RK=2/RS=x"),
    ],
)
@pytest.mark.parametrize(
    "address",
    [
        "https://h.example/Annual%20Report.pdf",
        "https://h.example/?q=a%3Fb%26c%22d%22",
        "https://h.example/a+b%2Bc",
        "https://h.example/%E6%97%A5",
    ],
)
async def test_addresses_are_the_backends(
    backend: str, shape: str, wrap: str, address: str
) -> None:
    """A citation leads to the page that was found; types and comparisons stay in the texts."""
    href = wrap.format(address.replace("&", "&amp;"), quoted=quote(address, safe=""))
    body = shape.format(title="Tides of Map&lt;K,V&gt;", href=href)
    text = f"<html><body>{body}</body></html>"
    code = STUB.format(status=200, text=text, before="pass", path=COMMAND[-1])
    (row,) = (await run(sys.executable, "-P", "-c", code, backend=backend))["rows"]
    assert row["href"] == address
    assert row["title"] == "Tides of Map<K,V>"


async def test_unroutable() -> None:
    """With nobody at the proxy the real child says so at once, as an EngineError."""
    engine = ENGINES.get("ddgs").configure(
        "main", {"backend": "duckduckgo", "proxy": "http://127.0.0.1:9"}
    )
    assert isinstance(engine, Ddgs)
    with pytest.raises(EngineError) as caught:
        await engine.search(QUERY, timeout_s=10)
    assert caught.value.outcome == "unreachable"
