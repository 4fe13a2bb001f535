"""What pyproject.toml says of the project is so."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from recorded import ROOT


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    """The table of the project."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["project"]  # type: ignore[no-any-return]


def test_files_that_it_names_are_there(project: dict[str, Any]) -> None:
    """The page for an index, and the licence, whose text is that of its name."""
    assert (ROOT / project["readme"]).is_file()
    (licence,) = project["license-files"]
    assert project["license"] == "Apache-2.0"
    assert re.search(r"Apache License\s+Version 2\.0", (ROOT / licence).read_text(encoding="utf-8"))


def test_no_address_leads_nowhere(project: dict[str, Any]) -> None:
    """Nothing is published, so there is no page to lead to."""
    assert "urls" not in project


def test_versions_of_python_agree(project: dict[str, Any]) -> None:
    """The oldest that is allowed is the oldest that is listed, and what tools go by."""
    listed = re.findall(r"Python :: 3\.(\d+)", " ".join(project["classifiers"]))
    assert project["requires-python"] == f">=3.{min(map(int, listed))}"
    assert f'target-version = "py3{min(map(int, listed))}"' in (ROOT / "pyproject.toml").read_text()
