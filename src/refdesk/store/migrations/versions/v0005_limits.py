"""Limits of client keys: requests a minute, and searches counted when they are asked for."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.add_column("client_keys", sa.Column("requests_per_minute", sa.BigInteger))
    op.add_column("ledger", sa.Column("asked", sa.BigInteger, nullable=False, server_default="0"))
