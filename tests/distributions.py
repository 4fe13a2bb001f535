"""Distributions as an installer leaves them: a module, and a folder that describes it."""

from __future__ import annotations

from pathlib import Path


def install(
    folder: Path,
    name: str,
    source: str | None,
    entry_points: str,
    *,
    version: str = "1.0",
    metadata: bool = True,
) -> None:
    """
    Put a distribution into a folder of the module path.

    Args:
        folder: Where.
        name: Of the distribution; its module has underscores for dashes.
        source: Of the module; None: there is none.
        entry_points: The text of ``entry_points.txt``.
        version: Of the distribution.
        metadata: Whether its description is there.
    """
    module = name.replace("-", "_")
    if source is not None:
        (folder / f"{module}.py").write_text(source, encoding="utf-8")
    described = folder / f"{module}-{version}.dist-info"
    described.mkdir(parents=True)
    if metadata:
        text = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n"
        (described / "METADATA").write_text(text, encoding="utf-8")
    (described / "entry_points.txt").write_text(entry_points, encoding="utf-8")
