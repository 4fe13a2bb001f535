"""Search in databases: models, questions made into queries, permission, bounded reading."""
