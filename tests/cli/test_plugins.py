"""Plugins of other distributions, as commands see them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from distributions import install

SHELF = """\
from refdesk.web.engines import LocalEngine
from refdesk.types import ResultItem, WebPage

class Shelf(LocalEngine):
    async def search(self, query, *, timeout_s):
        return WebPage(items=(ResultItem(title="A", url="https://a.example/", content="b"),))
"""
YAML = """\
engines:
  whole: {type: shelf}
  torn: {type: torn}
upstreams:
  up: {base_url: "http://127.0.0.1:1", provider: torn}
models:
  m: {upstream: up}
collections:
  notes: {embedder: torn}
vectors: {type: torn}
"""


def refdesk(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command where the distributions of a folder are installed."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("REFDESK_")}
    return subprocess.run(
        [sys.executable, "-c", "from refdesk.cli import main; main()", *arguments],
        env=env | {"PYTHONPATH": str(folder / "installed"), "COLUMNS": "200"},
        cwd=folder,
        capture_output=True,
        text=True,
    )


def test_a_broken_plugin_is_named_and_others_go_on(tmp_path: Path) -> None:
    """Commands name its distribution where it is used, and work with what is whole."""
    (tmp_path / "installed").mkdir()
    install(
        tmp_path / "installed", "good-shelf", SHELF, "[refdesk.engines]\nshelf = good_shelf:Shelf\n"
    )
    kinds = ("engines", "providers", "embedders", "vector_stores")
    points = "".join(f"[refdesk.{kind}]\ntorn = torn_shelf:Torn\n" for kind in kinds)
    install(tmp_path / "installed", "torn-shelf", "import nothing_here\n", points, version="0.3")

    # Installed, and not used: nothing is wrong with the configuration.
    assert refdesk(tmp_path, "check").returncode == 0

    (tmp_path / "refdesk.yaml").write_text(YAML)
    checked = refdesk(tmp_path, "check")
    assert checked.returncode == 3
    problems = checked.stdout.splitlines()
    assert [line.split(": ")[1] for line in problems] == [
        *("engines.torn.type", "upstreams.up.provider", "collections.notes.embedder"),
        "vectors.type",
    ]
    assert all("of torn-shelf 0.3 cannot be imported" in line for line in problems)

    listed = json.loads(refdesk(tmp_path, "engines", "list", "--json").stdout)
    assert [bool(row["fault"]) for row in listed] == [False, True]
    tested = refdesk(tmp_path, "engines", "test", "whole")
    assert (tested.returncode, tested.stdout[:22]) == (0, "whole: well: 1 result ")
    failed = refdesk(tmp_path, "engines", "test", "torn")
    assert (failed.returncode, "torn-shelf 0.3" in failed.stderr) == (1, True)


def test_the_doctor_looks_at_every_installed_plugin(tmp_path: Path) -> None:
    """Used or not: which distribution has it, and whether it can be imported."""
    (tmp_path / "installed").mkdir()
    points = "[refdesk.engines]\nshelf = good_shelf:Shelf\nserper = good_shelf:Shelf\n"
    points += "[refdesk.providers]\ntorn = good_shelf:Nothing\n"
    install(tmp_path / "installed", "good-shelf", SHELF, points)
    (tmp_path / "refdesk.yaml").write_text("engines: {whole: {type: shelf}}\n")
    ran = refdesk(tmp_path, "doctor", "--json")
    found = [each for each in json.loads(ran.stdout)["findings"] if each["area"] == "plugin"]
    assert [(each["name"], each["level"]) for each in found] == [
        ("shelf", "ok"),
        ("serper", "warning"),
        ("torn", "warning"),
    ]
    assert found[0]["text"] == "engine of good-shelf 1.0"
    assert "the built-in one is used" in found[1]["text"]
    assert "good-shelf 1.0 cannot be imported (AttributeError" in found[2]["text"]
