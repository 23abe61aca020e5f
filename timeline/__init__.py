"""This package orders observed changes, builds the tracks of objects, judges them by rules, and stores the results."""
