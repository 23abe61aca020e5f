"""Order observed changes, build the tracks of objects, judge them by rules, and store the results."""
