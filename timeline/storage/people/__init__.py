"""This package stores what people say of findings and incidents."""
