"""Read changes in commit order, what changed before something, and who changed it."""
