"""This package orders entries, builds the lives of objects, judges them by rules, and stores all of that."""
