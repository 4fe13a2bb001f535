"""Search records hold all that a search worked out, and where each reference is numbered."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    # What was there before are searches of the gateway, all of them on the web.
    for name, default in (("type", "web"), ("source", "gateway")):
        op.add_column("searches", sa.Column(name, sa.Text, nullable=False, server_default=default))
    texts = ("config", "keywords", "entities", "relations", "dsl", "references", "graph")
    for name in (*texts, "xml", "prompt", "error"):
        op.add_column("searches", sa.Column(name, sa.Text))
    op.add_column("searches", sa.Column("duration_ms", sa.Float))
