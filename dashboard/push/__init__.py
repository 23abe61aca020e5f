"""Live updates: one listener for each process reads notifications of PostgreSQL and feeds all WebSockets.

What is sent has the shapes of `timeline.payloads`; who may listen is decided in `dashboard.access`.
"""
