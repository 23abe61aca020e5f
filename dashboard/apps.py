import gc

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    name = "dashboard"

    def ready(self) -> None:
        """Make the Celery application the one that `@shared_task` and `.delay()` use, and log sign-ins."""
        import dashboard.celery  # noqa: F401
        from dashboard.access import change_log

        change_log.listen()
        gc.freeze()  # what was imported stays, so no later collection has to look at it
        gc.enable()
