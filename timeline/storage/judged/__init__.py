"""Store what rules and counts conclude from the entries of a source: findings, incidents, what people changed, and what
each actor did."""
