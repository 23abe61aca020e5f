import gc
from types import ModuleType

from django.apps import AppConfig
from django.db.models.signals import post_migrate, pre_migrate

# With the defaults, a large window is searched for garbage about twenty times while it is made.
_THRESHOLDS = 50_000, 20, 20


class DashboardConfig(AppConfig):
    name = "dashboard"

    def __init__(self, app_name: str, app_module: ModuleType | None) -> None:
        super().__init__(app_name, app_module)
        gc.disable()  # until `ready`: collections would find hardly any garbage while the models are imported

    def ready(self) -> None:
        """Make the Celery application the one that `@shared_task` and `.delay()` use, log sign-ins, keep
        the views of limited readers up to date, and keep one administrator."""
        try:
            import dashboard.celery  # noqa: F401
            from dashboard.access import limits
            from dashboard.access.roles import giving
            from dashboard.access.trail import change_log

            change_log.listen()
            giving.listen()
            pre_migrate.connect(limits.before_migration, sender=self, dispatch_uid="causeline.views")
            post_migrate.connect(limits.after_migration, sender=self, dispatch_uid="causeline.views")
            gc.freeze()  # what was imported stays, so no later collection has to look at it
            gc.set_threshold(*_THRESHOLDS)
        finally:
            gc.enable()
