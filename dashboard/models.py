"""This module declares tables for signing in and for metrics. Those about clusters and recordings are in
`timeline.models`."""

from django.db import models


class FailedSignIns(models.Model):
    """A row counts the failures to sign in with one name from one address, or with any name if `name` is empty."""

    name = models.CharField(max_length=64)  # a hash, because people may type a password into the field of the name
    address = models.TextField()
    count = models.IntegerField(default=0)
    last = models.DateTimeField()
    locked_until = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["name", "address"], name="failed_sign_ins_once")]

    def __str__(self) -> str:
        return f"{self.count} from {self.address}"


class ProcessFigures(models.Model):
    """A row holds what one process has measured since it began (see `dashboard.metrics.processes`)."""

    process = models.CharField(max_length=32, primary_key=True)
    kind = models.TextField()  # "web", "worker", "import", or "past" for the sum of ended processes
    reported = models.DateTimeField()
    figures = models.JSONField()  # [[name, [[label, its value]], value]]

    def __str__(self) -> str:
        return f"{self.kind} {self.process}"
