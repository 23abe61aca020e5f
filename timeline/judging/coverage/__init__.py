"""Find out what a source shows, and what to record so that rules can judge."""
