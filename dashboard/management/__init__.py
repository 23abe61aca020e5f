"""The Django management commands, and the backups that two of them make and restore."""
