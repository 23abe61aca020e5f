"""Who may come in and what they may do: the start-up token, accounts, origins, waits after failures, the change log.

Every request and every WebSocket passes through here before a view sees it.
"""
