"""This package words who may do what, and what people did."""
