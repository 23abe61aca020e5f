from django.apps import AppConfig


class DashboardConfig(AppConfig):
    name = "dashboard"

    def ready(self) -> None:
        """Make the Celery application the one that `@shared_task` and `.delay()` use."""
        import dashboard.celery  # noqa: F401
