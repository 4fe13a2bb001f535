"""The example of CONTRIBUTING works as it stands there: its files are taken from the page."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from distributions import install
from documented import blocks
from recorded import ROOT

FILES = {block.title: block.text for block in blocks(ROOT / "CONTRIBUTING.md") if block.title}
ENGINE = "src/refdesk_shelf/__init__.py"
TEST = "tests/test_shelf.py"
CONFTEST = "tests/web/engines/conftest.py"
RECORDING = "tests/recordings/engines/shelf/200-tides.json"
STAND_IN_PORT = 8765


def run(folder: Path, path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a Python module in a folder, with another folder first on the module path."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("REFDESK_")}
    env |= {"PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True
    )


def refdesk(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of Refdesk where the example's package is installed."""
    return run(folder, folder / "src", "-c", "from refdesk.cli import main; main()", *words)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The example's package in a folder of its own, installed as its pyproject.toml says."""
    for name in (ENGINE, TEST, "pyproject.toml", "stand_in.py", "refdesk.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    project = tomllib.loads(FILES["pyproject.toml"])["project"]
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in project["entry-points"].items()
    )
    install(tmp_path / "src", project["name"], None, points, version=project["version"])
    return tmp_path


@contextmanager
def standing_in(folder: Path) -> Iterator[int]:
    """Run the page's stand-in for the vendor on a free port."""
    script = FILES["stand_in.py"].replace(str(STAND_IN_PORT), "0")
    # It listens on a free port and prints it, so that nothing is waited for by the clock.
    script = script.replace("\nHTTPServer(", "\nserver = HTTPServer(").replace(
        ".serve_forever()", ""
    )
    script += "print(server.server_port, flush=True)\nserver.serve_forever()\n"
    (folder / "stand_in.py").write_text(script, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "stand_in.py"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdout
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def test_an_engine_in_a_package_of_its_own(package: Path) -> None:
    """Its own tests pass, it is found by its entry point, and it is asked for real."""
    tested = run(package, package / "src", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    assert tested.returncode == 0, tested.stdout
    assert "5 passed" in tested.stdout
    config = FILES["refdesk.yaml"]
    with standing_in(package) as port:
        config = config.replace(str(STAND_IN_PORT), str(port))
        (package / "refdesk.yaml").write_text(config, encoding="utf-8")
        checked = refdesk(package, "check")
        assert (checked.returncode, "all is well" in checked.stdout) == (0, True), checked
        asked = refdesk(package, "engines", "test", "catalogue")
        assert asked.returncode == 0, asked
        assert asked.stdout.startswith("catalogue: well: 1 result in ")
        (package / "refdesk.yaml").write_text(config.replace("a-key", "another"), encoding="utf-8")
        refused = refdesk(package, "engines", "test", "catalogue")
        assert refused.returncode == 1
        assert refused.stdout.startswith("catalogue: bad_key ")
        assert "check engines.catalogue.api_key" in refused.stderr


def test_an_engine_in_refdesk_itself(tmp_path: Path) -> None:
    """With its recording and its settings the contract of all engines is checked for it, too."""
    for folder in ("src", "tests/web/engines", "tests/recordings/engines"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for name in ("pyproject.toml", "tests/recorded.py", "tests/conftest.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "src/refdesk/web/engines/shelf.py").write_text(FILES[ENGINE], encoding="utf-8")
    (tmp_path / "tests/web/engines/test_shelf.py").write_text(FILES[TEST], encoding="utf-8")
    (tmp_path / RECORDING).parent.mkdir()
    (tmp_path / RECORDING).write_text(FILES[RECORDING], encoding="utf-8")
    settings = (tmp_path / CONFTEST).read_text(encoding="utf-8")
    (start,) = [line for line in settings.splitlines() if line.startswith("SETTINGS: ")]
    settings = settings.replace(start, f"{start}\n{FILES[CONFTEST]}")
    (tmp_path / CONFTEST).write_text(settings, encoding="utf-8")
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/web/engines", "-k", "shelf")
    tested = run(tmp_path, tmp_path / "src", *words)
    assert tested.returncode == 0, tested.stdout
    # The five of its own, and at least as many that hold for every engine.
    passed = int(tested.stdout.rpartition(" passed")[0].split()[-1])
    assert passed > 30
    for check in (("check",), ("format", "--check")):
        files = ("src/refdesk/web/engines/shelf.py", "tests/web/engines/test_shelf.py")
        linted = run(tmp_path, tmp_path / "src", "-m", "ruff", *check, "--no-cache", *files)
        assert linted.returncode == 0, linted.stdout
