"""Send live updates: one listener in each process reads PostgreSQL's notifications for all WebSockets.

Messages have the types of `timeline.payloads`; `dashboard.access` decides who may listen.
"""
