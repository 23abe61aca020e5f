"""Store what people say of findings and incidents."""
