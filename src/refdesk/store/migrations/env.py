"""
How Alembic runs our steps: on the connection it is given, inside the transaction it is in.
"""

from alembic import context

from refdesk.store.tables import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
