"""This package reads what people said of findings and incidents."""
