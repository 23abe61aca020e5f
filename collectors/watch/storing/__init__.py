"""Store what watches, collectors and API servers deliver about a cluster."""
