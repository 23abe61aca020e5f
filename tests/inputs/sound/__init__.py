"""A day on which every order that a rule knows is kept, as the audit log of a small API server in memory."""
