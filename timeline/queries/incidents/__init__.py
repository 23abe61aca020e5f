"""Read incidents and findings: their lists, each by itself, and what is behind it."""
