"""Logs and metrics: what an operator sees, without prompts, queries or keys."""
