"""The tables of the web process and the workers. What Causeline knows about clusters is in `timeline.models`."""

from django.db import models


class FailedSignIns(models.Model):
    """How often signing in failed with one name from one address, or, if `name` is empty, with any name from it."""

    name = models.CharField(max_length=64)  # a hash: people type passwords where the name belongs
    address = models.TextField()
    count = models.IntegerField(default=0)
    last = models.DateTimeField()
    locked_until = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["name", "address"], name="failed_sign_ins_once")]

    def __str__(self) -> str:
        return f"{self.count} from {self.address}"


class ProcessFigures(models.Model):
    """What one process has measured since it began (see `dashboard.metrics.processes`)."""

    process = models.CharField(max_length=32, primary_key=True)
    kind = models.TextField()  # "web", "worker", "periodic"
    reported = models.DateTimeField()
    figures = models.JSONField()  # [[name, [[label, its value]], value]]

    def __str__(self) -> str:
        return f"{self.kind} {self.process}"
