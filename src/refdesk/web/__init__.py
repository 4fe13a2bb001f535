"""Web search: engines, which one to ask, and asking it within bounds."""
