"""Take uploaded recordings: files arrive in pieces, wait on disk, and are imported into a source.

The tasks that import them are in `collectors.tasks`, where Celery finds them.
"""
