import gc
from types import ModuleType

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    name = "dashboard"

    def __init__(self, app_name: str, app_module: ModuleType | None) -> None:
        super().__init__(app_name, app_module)
        gc.disable()  # until `ready`: collections would find hardly any garbage while the models are imported

    def ready(self) -> None:
        """Make the Celery application the one that `@shared_task` and `.delay()` use, and log sign-ins."""
        try:
            import dashboard.celery  # noqa: F401
            from dashboard.access import change_log

            change_log.listen()
            gc.freeze()  # what was imported stays, so no later collection has to look at it
        finally:
            gc.enable()
