"""Find what belongs together in an incident: its subject, its causes, and what changed before."""
