"""Render objects as the Tables that kubectl shows."""
