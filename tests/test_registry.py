"""Plugins: built-in ones by their presence, those of other distributions by entry point."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import ModuleType

import pytest

from distributions import install
from refdesk.errors import BrokenPlugin, UnknownName
from refdesk.registry import Registry
from refdesk.web.engines import ENGINES, BaseEngine

GROUP = "refdesk.engines"
SHELF = """\
from refdesk.web.engines import LocalEngine

class Shelf(LocalEngine):
    '''An engine.'''
"""

Install = Callable[..., None]


@pytest.fixture
def engines() -> Registry[type[BaseEngine]]:
    """A new table of engines with one of its own, which has not looked for plugins yet."""
    table: Registry[type[BaseEngine]] = Registry(
        "engine", fits=lambda plugin: isinstance(plugin, type) and issubclass(plugin, BaseEngine)
    )
    table.register("serper")(ENGINES.get("serper"))
    return table


@pytest.fixture
def installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Install:
    """Install a distribution whose module has a name of its own in each test."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def put(name: str, source: str | None = SHELF, points: str = "", **options: object) -> None:
        install(tmp_path, name, source, f"[{GROUP}]\n{points}\n", **options)  # type: ignore[arg-type]
        module = name.replace("-", "_")
        request.addfinalizer(lambda: sys.modules.pop(module, None))

    return put


class Counter(DistributionFinder):
    """Counts how often the installed distributions are listed."""

    def __init__(self) -> None:
        self.asked = 0

    def find_spec(self, *_: object) -> None:
        """Find no module."""

    def find_distributions(self, *_: object, **__: object) -> Iterable[Distribution]:
        self.asked += 1
        return ()


def test_an_installed_engine_is_found_by_its_entry_point(
    engines: Registry[type[BaseEngine]], installed: Install
) -> None:
    """It has the entry point's name, and is imported when it is first asked for."""
    installed("lazy-shelf", points="shelf = lazy_shelf:Shelf")
    assert "shelf" in engines.names()
    assert "shelf" not in engines.builtin()
    assert "lazy_shelf" not in sys.modules
    plugin = engines.get("shelf")
    assert plugin.__name__ == "Shelf"
    assert engines.get("shelf") is plugin
    assert engines.name_of(plugin) == "shelf"


def test_an_installed_engine_may_also_be_registered(
    installed: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that could stand inside of the package works outside of it as it is."""
    source = "from test_registry_table import TABLE\n\n" + SHELF.replace(
        "class", "@TABLE.register('both')\nclass"
    )
    table: Registry[object] = Registry("engine", fits=lambda _: True)
    holder = ModuleType("test_registry_table")
    holder.TABLE = table  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, holder.__name__, holder)
    installed("both-shelf", source, "both = both_shelf:Shelf")
    (plugin,) = [each for each in table.installed if each.name == "both"]
    for _ in range(2):
        assert table.fault(plugin) == ""
        assert table.get("both").__module__ == "both_shelf"
    assert table.builtin() == []


def test_builtin_engines_cost_no_look_at_distributions(
    engines: Registry[type[BaseEngine]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Distributions are listed once, and not before a name is asked for that is not built in."""
    counter = Counter()
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, counter])
    engines.get("serper")
    engines.builtin()
    assert counter.asked == 0
    for name in ("nope", "none"):
        with pytest.raises(UnknownName, match=r"known: .*serper"):
            engines.get(name)
    engines.names()
    assert counter.asked == 1


@pytest.mark.parametrize(
    ("source", "point", "says"),
    [
        (None, "bad_shelf:Shelf", "ModuleNotFoundError: No module named 'bad_shelf'"),
        ("import nothing_of_that_name\n", "bad_shelf:Shelf", "nothing_of_that_name"),
        ("class Shelf\n", "bad_shelf:Shelf", "SyntaxError"),
        ("raise SystemExit('no licence')\n", "bad_shelf:Shelf", "SystemExit: no licence"),
        (SHELF, "bad_shelf:Other", "AttributeError"),
        (SHELF, "!", "cannot be imported"),
        (SHELF, "bad_shelf", "is a module, not an engine"),
        ("class Shelf:\n    pass\n", "bad_shelf:Shelf", "is a type, not an engine"),
        (f"{SHELF}\nshelf = Shelf\nShelf = 5\n", "bad_shelf:Shelf", "is a int, not an engine"),
    ],
)
def test_a_broken_plugin_is_named_and_stops_nothing_else(
    engines: Registry[type[BaseEngine]],
    installed: Install,
    source: str | None,
    point: str,
    says: str,
) -> None:
    """Asking for it says which distribution is at fault; other plugins are as before."""
    installed("bad-shelf", source, f"bad = {point}", version="2.1")
    installed("good-shelf", points="good = good_shelf:Shelf")
    for _ in range(2):
        with pytest.raises(BrokenPlugin, match=r"bad-shelf 2\.1") as caught:
            engines.get("bad")
        assert says in str(caught.value)
    assert engines.get("good").__name__ == "Shelf"
    assert engines.get("serper")
    assert {"bad", "good", "serper"} <= set(engines.names())
    faults = {each.name: engines.fault(each) for each in engines.installed}
    assert (says in faults["bad"], faults["good"]) == (True, "")


def test_a_broken_module_runs_once(
    engines: Registry[type[BaseEngine]], installed: Install, tmp_path: Path
) -> None:
    """A plugin that cannot be imported is not tried again at every look-up."""
    runs = tmp_path / "runs"
    source = f"import os\nos.mkdir({str(runs)!r})\nraise ValueError('the first time')\n"
    installed("often-shelf", source, "often = often_shelf:Shelf")
    for _ in range(3):
        with pytest.raises(BrokenPlugin, match="the first time"):
            engines.get("often")
    assert runs.exists()


def test_a_name_that_two_distributions_claim(
    engines: Registry[type[BaseEngine]], installed: Install
) -> None:
    """Neither is chosen, and both are named."""
    installed("first-shelf", points="twice = first_shelf:Shelf")
    installed("second-shelf", points="twice = second_shelf:Shelf", version="0.2")
    with pytest.raises(BrokenPlugin, match="uninstall one") as caught:
        engines.get("twice")
    assert "first-shelf 1.0" in str(caught.value)
    assert "second-shelf 0.2" in str(caught.value)


def test_a_builtin_name_stays_builtin(
    engines: Registry[type[BaseEngine]], installed: Install
) -> None:
    """A plugin cannot replace an engine that comes along; it is told that it is not used."""
    installed("thief-shelf", points="serper = thief_shelf:Shelf")
    assert engines.get("serper").__name__ == "Serper"
    (plugin,) = [each for each in engines.installed if each.distribution == "thief-shelf 1.0"]
    assert "the built-in one is used; give it another name" in engines.fault(plugin)
    assert "thief_shelf" not in sys.modules


def test_a_list_of_entry_points_that_cannot_be_read(
    engines: Registry[type[BaseEngine]], installed: Install
) -> None:
    """It hides no other distribution's plugins, and its distribution is named."""
    installed("torn-shelf", points="a line without the sign")
    installed("whole-shelf", points="whole = whole_shelf:Shelf")
    assert engines.get("whole").__name__ == "Shelf"
    (torn,) = [each for each in engines.installed if each.point is None]
    assert "entry_points.txt of torn-shelf 1.0 cannot be read" in engines.fault(torn)
    assert "" not in engines.names()


def test_a_distribution_without_metadata(
    engines: Registry[type[BaseEngine]], installed: Install
) -> None:
    """What an interrupted installation leaves has no name, and is found by its folder."""
    installed("left-shelf", "raise ValueError\n", "left = left_shelf:Shelf", metadata=False)
    with pytest.raises(BrokenPlugin, match=r"left_shelf"):
        engines.get("left")


def test_a_distribution_in_two_folders_counts_once(
    engines: Registry[type[BaseEngine]],
    installed: Install,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The folder that Python imports from is the one that counts."""
    installed("same-shelf", points="same = same_shelf:Shelf", version="2.0")
    later = tmp_path / "later"
    later.mkdir()
    install(later, "same-shelf", SHELF, f"[{GROUP}]\nsame = same_shelf:Shelf\n", version="1.0")
    monkeypatch.setattr(sys, "path", [*sys.path, str(later)])
    (plugin,) = [each for each in engines.installed if each.name == "same"]
    assert plugin.distribution == "same-shelf 2.0"
    assert engines.get("same").__name__ == "Shelf"


KINDS = """\
from refdesk.kb.embedders import Embedder
from refdesk.kb.vectors import VectorStore
from refdesk.providers import Provider
from refdesk.web.engines import LocalEngine

class MyEngine(LocalEngine): pass
class MyEmbedder(Embedder): pass
class MyStore(VectorStore): pass
provider = Provider(name="mine")
"""
POINTS = """\
[refdesk.engines]
mine = all_kinds:MyEngine
[refdesk.providers]
mine = all_kinds:provider
[refdesk.embedders]
mine = all_kinds:MyEmbedder
[refdesk.vector_stores]
mine = all_kinds:MyStore
"""


def test_every_kind_of_plugin_may_be_installed(tmp_path: Path) -> None:
    """Engines, providers, embedders and vector stores are found by the group of their kind."""
    install(tmp_path, "all-kinds", KINDS, POINTS)
    script = (
        "from refdesk.cli._plugins import registries\n"
        "for each in registries(): print(each.group, each.name_of(each.get('mine')))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == [
        *("refdesk.engines", "mine", "refdesk.providers", "mine"),
        *("refdesk.embedders", "mine", "refdesk.vector_stores", "mine"),
    ]
