"""Describe who may do what, and what people did."""
