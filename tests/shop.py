"""The small shop that tests of databases ask, as an SQLite file."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

SHOP: Final = Path(__file__).parent / "db" / "shop.sql"


def made_shop(folder: Path) -> str:
    """Make the database in a folder, and return its URL."""
    connection = sqlite3.connect(folder / "shop.db")
    connection.executescript(f"BEGIN; {SHOP.read_text()} COMMIT;")
    connection.close()
    return f"sqlite:///{folder / 'shop.db'}"
