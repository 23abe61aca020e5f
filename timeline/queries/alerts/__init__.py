"""Read the alerts of other programs, and find the objects that they are about."""
