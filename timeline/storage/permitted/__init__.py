"""Limit what each reader may see."""
