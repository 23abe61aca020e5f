"""The Celery application: finite work (imports) in workers, the clock that repeats it in beat."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
app = Celery("causeline")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["collectors"])
