"""Search over HTTP, without a model: ``/v1/search``, and references opened again."""
