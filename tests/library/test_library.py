"""The library as its users open it: async, sync, with and without records."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import refdesk
from refdesk import Config, NoSuchReference, NotYours, Refdesk, RefdeskError, SearchRequest
from refdesk.errors import ConfigError
from refdesk.store import SearchRecord

QUESTION = "When was Python 3.14 released?"
OFFLINE: dict[str, Any] = {"engines": {"pages": {"type": "offline"}}}


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test in an empty folder, without settings from outside."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("REFDESK_")]:
        monkeypatch.delenv(name)


def recorded(folder: Path, **more: Any) -> dict[str, Any]:
    """A configuration with a store in a folder."""
    return {**OFFLINE, "data_dir": str(folder / "data"), **more}


class TestImport:
    """What importing costs."""

    def test_brings_nothing_along(self) -> None:
        """
        Importing the package and its names loads no server, no database, no configuration, and
        takes less than 0.3 s of the processor.
        """
        code = (
            "import sys, time; before = time.process_time()\n"
            "import refdesk\n"
            "from refdesk import Refdesk, SearchRequest\n"
            "took = time.process_time() - before\n"
            "heavy = {'uvicorn', 'sqlalchemy', 'alembic', 'mcp', 'starlette', 'pydantic',\n"
            "         'refdesk.server', 'refdesk.gateway', 'refdesk.application'}\n"
            "print(took < 0.3, sorted(heavy & set(sys.modules)))\n"
        )
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
        )
        assert ran.stdout == "True []\n"

    def test_a_search_needs_no_server(self) -> None:
        """A whole search loads neither a server nor, without records, a database."""
        code = (
            "import asyncio, sys\n"
            "from refdesk import Refdesk\n"
            "async def main():\n"
            "    async with Refdesk.open({'engines': {'pages': {'type': 'offline'}}}) as desk:\n"
            "        return (await desk.search.web('Python 3.14')).total\n"
            "assert asyncio.run(main()) > 0\n"
            "heavy = {'uvicorn', 'sqlalchemy', 'alembic', 'mcp', 'starlette',\n"
            "         'refdesk.server', 'refdesk.gateway', 'refdesk.application'}\n"
            "print(sorted(heavy & set(sys.modules)))\n"
        )
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
        )
        assert ran.stdout == "[]\n"

    def test_public_names(self) -> None:
        """Every public name is there, no other is, and all are listed."""
        for name in refdesk.__all__:
            assert getattr(refdesk, name) is not None
        assert set(refdesk.__all__) <= set(dir(refdesk))
        with pytest.raises(AttributeError, match="no attribute 'Refdsk'"):
            refdesk.Refdsk  # noqa: B018 - looked up for its error


class TestOpening:
    """Where a configuration comes from, and what may be wrong with it."""

    async def test_file(self, tmp_path: Path) -> None:
        """A file is read as the server reads it; its searches are recorded in its data folder."""
        path = tmp_path / "refdesk.yaml"
        path.write_text("engines: {pages: {type: offline}}\n")
        async with Refdesk.open(path) as desk:
            result = await desk.search.web(QUESTION, limit=2)
            assert (result.error, result.engine, result.total) == (None, "pages", 2)
        assert (tmp_path / "refdesk-data/refdesk.db").exists()

    async def test_mapping(self, tmp_path: Path) -> None:
        """A mapping is enough; without a data folder nothing is written anywhere."""
        async with Refdesk(OFFLINE) as desk:
            assert (await desk.search.web(QUESTION)).total > 0
            with pytest.raises(RefdeskError, match="keeps no records"):
                await desk.references("x")
        assert os.listdir(tmp_path) == []  # noqa: PTH208 - a path in a coroutine would be refused

    async def test_config(self) -> None:
        """A configuration that is read already is taken as it is."""
        async with Refdesk(Config.model_validate(OFFLINE)) as desk:
            assert (await desk.search.web(QUESTION)).total > 0

    def test_faults(self) -> None:
        """All that is wrong with a configuration is told at once, when the desk is made."""
        with pytest.raises(ConfigError) as told:
            Refdesk({"engnes": {}, "search": {"web": {"max_results": 0}}})
        assert "engines" in str(told.value)
        assert "search.web.max_results" in str(told.value)
        with pytest.raises(ConfigError, match="there is no such file"):
            Refdesk.open("missing.yaml")

    async def test_references_in_a_mapping(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """`${env:NAME}` is resolved in a mapping too, and `REFDESK_…` wins over it."""
        monkeypatch.setenv("MY_KEY", "k-123")
        monkeypatch.setenv("REFDESK_SEARCH__WEB__MAX_RESULTS", "1")
        desk = Refdesk({"engines": {"main": {"type": "tavily", "api_key": "${env:MY_KEY}"}}})
        assert desk.config.engine_entries["main"].settings["api_key"] == "k-123"
        async with Refdesk(OFFLINE) as other:
            assert (await other.search.web(QUESTION)).total == 1

    async def test_provider_without_an_entry(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """`search.web.provider` is enough; where its key is missing, the message says so."""
        async with Refdesk({"search": {"web": {"provider": "offline"}}}) as desk:
            assert (await desk.search.web(QUESTION)).engine == "offline"
        web = {"provider": "tavily", "api_key_env": "MY_TAVILY_KEY"}
        with pytest.raises(ConfigError, match="api_key_env: 'MY_TAVILY_KEY' is not set"):
            async with Refdesk({"search": {"web": web}}):
                pass
        monkeypatch.setenv("MY_TAVILY_KEY", "tvly-1")
        async with Refdesk({"search": {"web": web}, **OFFLINE}) as desk:
            assert desk.search.config.web.engine == "tavily"

    async def test_not_open(self) -> None:
        """Outside `async with` the message says what to write; open twice it is refused."""
        desk = Refdesk(OFFLINE)
        with pytest.raises(RefdeskError, match="async with"):
            _ = desk.search
        async with desk:
            with pytest.raises(RefdeskError, match="open already"):
                await desk.__aenter__()
        with pytest.raises(RefdeskError, match="async with"):
            _ = desk.search
        async with desk:
            assert (await desk.search.web(QUESTION)).total > 0

    async def test_nothing_is_left(self, tmp_path: Path) -> None:
        """When a desk is closed no task of it is left, whatever happened inside."""
        before = asyncio.all_tasks()

        async def fail() -> None:
            async with Refdesk(recorded(tmp_path)) as desk:
                await desk.search.any([{"query": "Python"}, {"query": "Rust"}])
                _ = 1 // 0

        with pytest.raises(ZeroDivisionError):
            await fail()
        assert asyncio.all_tasks() == before


class TestSearching:
    """What is found, in the shapes that are promised."""

    async def test_all_in_order(self) -> None:
        """Requests may be values or mappings; an error is a field, and its slot stays."""
        async with Refdesk(OFFLINE) as desk:
            found = await desk.search.all(
                [
                    SearchRequest(query=QUESTION, limit=1),
                    {"query": QUESTION, "type": "kb"},
                    {"query": QUESTION, "timeRange": "eon"},
                ]
            )
        assert [result.error is None for result in found] == [True, False, False]
        assert "no search type is called 'kb'" in (found[1].error or "")
        assert "time_range is 'eon'" in (found[2].error or "")

    @pytest.mark.parametrize(
        "text", ["git checkout <branch> in Python 3.14", "<b>Python</b> 3.14, are you sure?"]
    )
    async def test_the_text_is_asked_as_it_is_given(self, text: str) -> None:
        """A program's text is not read as a message: nothing is left out of it."""
        async with Refdesk(OFFLINE) as desk:
            assert (await desk.search.web(text)).query == text

    async def test_context(self) -> None:
        """References are the same items as the results, with their numbers."""
        async with Refdesk(OFFLINE) as desk:
            result = await desk.search.web(QUESTION, limit=3)
            context = desk.search.references([result])
        assert [one.id for one in context.items] == [item.citation_id for item in result.items]
        assert context.xml.startswith("<references>")
        assert "[{id}]" in context.prompt


class TestRecords:
    """What is kept, and opened again."""

    async def test_filters_are_bounded(self, tmp_path: Path) -> None:
        """A filter beyond its bounds is an error of the search that says the bound."""
        async with Refdesk(recorded(tmp_path, collections={"docs": {}})) as desk:
            for metadata, told in (
                ({"tag": ["x"] * 40_000}, "metadata has 40000 values; give up to 1000"),
                ({"when": {"after": 2020}}, "metadata.when holds a mapping"),
                ({"at": [date(2026, 1, 1)]}, "metadata.at holds a date"),
            ):
                result = await desk.search.kb("x", collections=["docs"], metadata=metadata)
                assert (result.error or "").startswith(told)

    async def test_click_through(self, tmp_path: Path) -> None:
        """What was found is opened again by request and number, also by the next desk."""
        async with Refdesk(recorded(tmp_path)) as desk:
            result = await desk.search.web(QUESTION, limit=2)
            again = await desk.references(result.request_id)
        assert [one.title for one in again] == [item.title for item in result.items]
        async with Refdesk(recorded(tmp_path)) as desk:
            assert await desk.reference(result.request_id, 2) == again[1]
            with pytest.raises(NoSuchReference, match="number 3; it has 2"):
                await desk.reference(result.request_id, 3)
            with pytest.raises(NoSuchReference, match="'nothing' is kept"):
                await desk.references("nothing")

    async def test_one_numbering(self, tmp_path: Path) -> None:
        """Calls of one request share a numbering: every number is one source, for good."""
        async with Refdesk(recorded(tmp_path)) as desk:
            first = await desk.search.web(QUESTION, limit=2, request_id="r1")
            second = await desk.search.web("Python versions", limit=6, request_id="r1")
            kept = await desk.references("r1")
        shown = {item.index: item.url for item in (*first.items, *second.items)}
        assert {one.index: one.url for one in kept} == shown
        assert [one.index for one in kept] == list(range(1, len(shown) + 1))

    async def test_owner(self, tmp_path: Path) -> None:
        """What was searched in the name of a key is opened in its name."""
        async with Refdesk(recorded(tmp_path)) as desk:
            await desk.search.web(QUESTION, request_id="r1", owner="k1")
            assert await desk.references("r1", owner="k1")
            with pytest.raises(NotYours):
                await desk.references("r1")

    async def test_incognito(self, tmp_path: Path) -> None:
        """A search that is incognito is kept nowhere."""
        async with Refdesk(recorded(tmp_path)) as desk:
            result = await desk.search.web(QUESTION, incognito=True)
            assert result.total > 0
            with pytest.raises(NoSuchReference):
                await desk.references(result.request_id)

    async def test_whole_record(self, tmp_path: Path) -> None:
        """A record has what the search worked out, and the texts that were put before a model."""
        (record,) = await self._records(tmp_path, keywords=True)
        assert (record.type, record.source, record.engine) == ("web", "hook", "pages")
        assert record.query == QUESTION
        assert record.keywords
        assert record.config is not None
        assert record.config["uses"]["web"] == "builtin"
        assert (record.xml or "").startswith("<references>")
        assert record.prompt
        assert record.duration_ms is not None
        assert record.error is None

    async def test_private_record(self, tmp_path: Path) -> None:
        """With `store_queries: false` it has what was found, and nothing of what was asked."""
        private = {"privacy": {"store_queries": False}}
        (record,) = await self._records(tmp_path, keywords=True, more=private)
        assert record.references
        assert (record.query, record.keywords, record.dsl) == (None, (), None)

    async def test_failed_record(self, tmp_path: Path) -> None:
        """A search that failed is kept with its error; its references are none."""
        (record,) = await self._records(tmp_path, more={"engines": {}})
        assert "no engine is configured" in (record.error or "")
        assert record.references == ()

    async def _records(
        self, folder: Path, *, more: dict[str, Any] | None = None, **options: Any
    ) -> list[SearchRecord]:
        from refdesk.store.opening import open_store

        config = recorded(folder, **(more or {}))
        async with Refdesk(config) as desk:
            result = await desk.search.web(QUESTION, **options)
            opened = desk.config
        with open_store(opened) as store:
            return store.searches.by_request(result.request_id)


class TestSync:
    """The face for code that does not await."""

    def test_search(self, tmp_path: Path) -> None:
        """Every call waits for its result; progress is told meanwhile."""
        told: list[Any] = []
        with Refdesk.open_sync(recorded(tmp_path)) as desk:
            result = desk.search.web(QUESTION, limit=2, progress=told.append)
            assert result.total == 2
            assert len(desk.search.all([{"query": "Python"}, {"query": "Rust"}])) == 2
            assert desk.search.search(SearchRequest(query=QUESTION)).error is None
            assert desk.search.references(result).items[0].index == 1
            assert desk.reference(result.request_id, 1).title == result.items[0].title
            assert len(desk.references(result.request_id)) == 2
        assert told[-1]["props"]["done"] is True

    def test_any_and_race(self) -> None:
        """`any` and `race` keep the slots."""
        with Refdesk.open_sync(OFFLINE) as desk:
            for call in (desk.search.any, desk.search.race):
                slots = call([{"query": "Python"}, {"query": "Python 3.14"}])
                assert len(slots) == 2
                assert any(slot is not None for slot in slots)
            assert desk.search.kb("x").error is not None
            assert desk.search.db("x").error is not None

    def test_from_many_threads(self) -> None:
        """Calls may come from any thread at once."""
        totals: list[int] = []
        with Refdesk.open_sync(OFFLINE) as desk:
            threads = [
                threading.Thread(target=lambda: totals.append(desk.search.web(QUESTION).total))
                for _ in range(8)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert len(totals) == 8
        assert len(set(totals)) == 1

    def test_ends(self) -> None:
        """Its thread ends with it, also where the desk could not be opened."""
        before = threading.active_count()
        with Refdesk.open_sync(OFFLINE):
            assert threading.active_count() > before
        with (
            pytest.raises(ConfigError),
            Refdesk.open_sync({"search": {"web": {"provider": "tavily"}}}),
        ):
            pass
        names = [thread.name for thread in threading.enumerate()]
        assert "refdesk-desk" not in names

    def test_not_open(self) -> None:
        """Outside `with` the message says what to write."""
        with pytest.raises(RefdeskError, match=r"with Refdesk\.open_sync"):
            Refdesk.open_sync(OFFLINE).search.web(QUESTION)

    def test_in_its_own_thread(self) -> None:
        """A call from a progress receiver would wait for itself for ever; it is refused."""
        raised: list[Exception] = []
        with Refdesk.open_sync(OFFLINE) as desk:

            def again(_: Any) -> None:
                try:
                    desk.search.web("Rust")
                except RefdeskError as exc:
                    raised.append(exc)

            assert desk.search.web(QUESTION, progress=again).total > 0
        assert raised
        assert "would wait for ever" in str(raised[0])
