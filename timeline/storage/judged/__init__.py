"""This package stores what is derived from entries: findings, incidents, changes and actors."""
