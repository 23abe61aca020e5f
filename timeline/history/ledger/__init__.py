"""Learn the observations of one source, keep them by object, and put them into commit order."""
