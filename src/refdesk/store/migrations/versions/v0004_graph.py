"""Graphs of collections: entities, relations, and where they are mentioned."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "graph_entities",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("collection", sa.Text, nullable=False),
        sa.Column("folded", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
    )
    op.create_index("ix_graph_entities_collection", "graph_entities", ["collection"])
    op.create_table(
        "graph_mentions",
        sa.Column("entity", sa.Text, primary_key=True),
        sa.Column("chunk_id", sa.Text, primary_key=True),
        sa.Column("collection", sa.Text, nullable=False),
        sa.Column("document_id", sa.Text, nullable=False),
    )
    op.create_index("ix_graph_mentions_document", "graph_mentions", ["collection", "document_id"])
    op.create_table(
        "graph_relations",
        sa.Column("subject", sa.Text, primary_key=True),
        sa.Column("predicate", sa.Text, primary_key=True),
        sa.Column("object", sa.Text, primary_key=True),
        sa.Column("chunk_id", sa.Text, primary_key=True),
        sa.Column("collection", sa.Text, nullable=False),
        sa.Column("document_id", sa.Text, nullable=False),
    )
    op.create_index("ix_graph_relations_object", "graph_relations", ["object"])
    op.create_index("ix_graph_relations_document", "graph_relations", ["collection", "document_id"])
    op.create_table(
        "graph_documents",
        sa.Column("collection", sa.Text, primary_key=True),
        sa.Column("document_id", sa.Text, primary_key=True),
        sa.Column("revision", sa.Text, nullable=False),
    )
