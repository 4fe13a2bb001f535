"""Collections, their documents and chunks, and what is being taken in."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "kb_collections",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("embedder", sa.Text, nullable=False),
        sa.Column("embedder_id", sa.Text),
        sa.Column("dimension", sa.Integer),
        sa.Column("language", sa.Text, nullable=False),
        sa.Column("graph", sa.Boolean, nullable=False),
        sa.Column("chunk_chars", sa.Integer, nullable=False),
        sa.Column("permission", sa.Text),
        sa.Column("index", sa.Text, nullable=False, unique=True),
        sa.Column("created", _TIME, nullable=False),
    )
    op.create_table(
        "kb_documents",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("collection", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("revision", sa.Text, nullable=False, unique=True),
        sa.Column("content_hash", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("mime", sa.Text, nullable=False),
        sa.Column("pages", sa.Integer),
        sa.Column("characters", sa.BigInteger, nullable=False),
        sa.Column("chunks", sa.Integer, nullable=False),
        sa.Column("metadata", sa.Text, nullable=False),
        sa.Column("report", sa.Text, nullable=False),
        sa.Column("updated", _TIME, nullable=False),
    )
    op.create_index("ux_kb_documents_key", "kb_documents", ["collection", "key"], unique=True)
    op.create_table(
        "kb_chunks",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("document_id", sa.Text, nullable=False),
        sa.Column("ordinal", sa.Integer, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("index_text", sa.Text, nullable=False),
        sa.Column("page", sa.Integer),
        sa.Column("heading", sa.Text, nullable=False),
        sa.Column("start", sa.BigInteger, nullable=False),
        sa.Column("end", sa.BigInteger, nullable=False),
    )
    op.create_index("ux_kb_chunks_place", "kb_chunks", ["document_id", "ordinal"], unique=True)
    op.create_table(
        "kb_texts",
        sa.Column("document_id", sa.Text, primary_key=True),
        sa.Column("start", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("text", sa.Text, nullable=False),
    )
    op.create_table(
        "kb_jobs",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("collection", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("metadata", sa.Text, nullable=False),
        sa.Column("upload", sa.Text),
        sa.Column("owner", sa.Text),
        sa.Column("lease_until", _TIME),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("created", _TIME, nullable=False),
    )
    op.create_index("ux_kb_jobs_key", "kb_jobs", ["collection", "key"], unique=True)
    op.create_table(
        "kb_leftovers",
        sa.Column("index", sa.Text, primary_key=True),
        sa.Column("revision", sa.Text, primary_key=True),
        sa.Column("job", sa.Text),
    )
