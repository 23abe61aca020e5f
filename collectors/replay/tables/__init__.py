"""This package renders objects as the Tables that kubectl shows."""
