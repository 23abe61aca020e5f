"""The Celery application: finite work (imports) and the watching of clusters in workers, the clock in beat."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
app = Celery("causeline")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["collectors"])
app.steps["worker"].add("collectors.watch.step:Watching")
