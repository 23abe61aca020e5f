"""Answer language models and their agents over MCP, the Model Context Protocol. Nothing is written.

`tools.py` has the tools, and `answers.py` what bounds and marks their answers. They read either the HTTP API
(`api.py`), so that an answer holds what a page shows and obeys the same rights, or recordings without a server
(`recordings.py`).
Nothing here reads the database, and the package mcp is imported only where an agent is answered.
"""
