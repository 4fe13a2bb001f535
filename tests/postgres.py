"""A PostgreSQL server for tests, and schemas of one's own in it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote

import pytest
from sqlalchemy import Engine, create_engine, make_url, text

URL = os.environ.get("REFDESK_TEST_POSTGRES", "postgresql+psycopg://root@127.0.0.1:5432/test")


def _engine(url: str) -> Engine:
    return create_engine(make_url(url).set(drivername="postgresql+psycopg"))


def answering() -> str:
    """Return the URL of a server that answers; the test is skipped where there is none."""
    engine = _engine(URL)
    try:
        with engine.connect() as connection:
            connection.execute(text("SELECT 1"))
    except Exception as exc:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"no PostgreSQL at {make_url(URL).host}: {type(exc).__name__}")
    finally:
        engine.dispose()
    return URL


@contextmanager
def schema(url: str) -> Iterator[str]:
    """Make a schema that is dropped afterwards, and yield the URL that leads into it."""
    name = f"refdesk_test_{secrets.token_hex(6)}"
    engine = _engine(url)
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {name}"))
    mark = "&" if "?" in url else "?"
    options = quote(f"-csearch_path={name}")
    try:
        yield f"{url}{mark}options={options}&application_name={name}"
    finally:
        with engine.begin() as connection:
            connection.execute(text(f"DROP SCHEMA {name} CASCADE"))
        engine.dispose()
