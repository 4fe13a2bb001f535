"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "meta",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.create_table(
        "requests",
        sa.Column("seq", _SEQUENCE, primary_key=True, autoincrement=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("time", _TIME, nullable=False),
        sa.Column("client_request_id", sa.Text),
        sa.Column("key_id", sa.Text),
        sa.Column("wire", sa.Text, nullable=False),
        sa.Column("model", sa.Text),
        sa.Column("upstream", sa.Text),
        sa.Column("stream", sa.Boolean, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("route", sa.Text),
        sa.Column("route_reason", sa.Text),
        sa.Column("route_source", sa.Text),
        sa.Column("search_header", sa.Text),
        sa.Column("reason", sa.Text),
        sa.Column("query", sa.Text),
        sa.Column("engine", sa.Text),
        sa.Column("results", sa.Integer, nullable=False),
        sa.Column("cached", sa.Boolean, nullable=False),
        sa.Column("notices", sa.Text, nullable=False),
        sa.Column("attempts", sa.Text, nullable=False),
        sa.Column("queue_ms", sa.Float),
        sa.Column("search_ms", sa.Float),
        sa.Column("first_byte_ms", sa.Float),
        sa.Column("total_ms", sa.Float),
        sa.Column("injected_chars", sa.Integer, nullable=False),
        sa.Column("client_disconnected", sa.Boolean, nullable=False),
        sa.Column("upstream_cut", sa.Boolean, nullable=False),
        sa.Column("error", sa.Text),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_requests_time", "requests", ["time"])
    op.create_table(
        "searches",
        sa.Column("seq", _SEQUENCE, primary_key=True, autoincrement=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        sa.Column("request_id", sa.Text, nullable=False),
        sa.Column("key_id", sa.Text),
        sa.Column("time", _TIME, nullable=False),
        sa.Column("query", sa.Text),
        sa.Column("engine", sa.Text),
        sa.Column("items", sa.Text, nullable=False),
        sa.Column("answer", sa.Text),
        sa.Column("conversation", sa.Text),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_searches_request_id", "searches", ["request_id"])
    op.create_index("ix_searches_conversation", "searches", ["conversation"])
    op.create_index("ix_searches_time", "searches", ["time"])
    op.create_table(
        "ledger",
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("key_id", sa.Text, primary_key=True),
        sa.Column("engine", sa.Text, primary_key=True),
        sa.Column("searches", sa.BigInteger, nullable=False),
        sa.Column("calls", sa.BigInteger, nullable=False),
        sa.Column("cache_hits", sa.BigInteger, nullable=False),
        sa.Column("cost_usd", sa.Float, nullable=False),
    )
    op.create_table(
        "settings",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("secret", sa.Boolean, nullable=False),
        sa.Column("updated_at", _TIME, nullable=False),
    )
    op.create_table(
        "client_keys",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False, unique=True),
        sa.Column("prefix", sa.Text, nullable=False),
        sa.Column("claims", sa.Text, nullable=False),
        sa.Column("daily_limit", sa.BigInteger),
        sa.Column("created", _TIME, nullable=False),
        sa.Column("expires", _TIME),
        sa.Column("revoked", _TIME),
    )
