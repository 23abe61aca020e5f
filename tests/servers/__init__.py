"""These modules run servers and processes for tests: those of Causeline, and those that it talks to."""
