"""Read what people said of findings and incidents."""
