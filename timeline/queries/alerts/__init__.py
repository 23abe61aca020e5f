"""This package reads the alerts of other programs, and finds the objects that they are about."""
