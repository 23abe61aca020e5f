"""Here it is decided who may do what: the start-up token, accounts, origins, waits after failures, the change log.

Every request and every WebSocket passes through here before a view sees it.
"""
