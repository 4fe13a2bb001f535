"""Stand-ins for what Refdesk speaks to: shipped, documented, and used by its own tests."""
