"""Answer questions about the history of one source: its tracks, their relations, and how complete it is."""
