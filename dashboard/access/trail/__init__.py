"""What is noted of what people and programs do: the audit trail, and the log of changes."""
