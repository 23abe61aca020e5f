"""Declare the tables of log stores from which the audit log of a connected cluster is pulled."""

from django.conf import settings
from django.db import models

from timeline.models.sources import Cluster
from timeline.models.uploads import Upload


class LogStore(models.Model):
    """A log store keeps the audit log of a connected cluster (see `collectors.stores`)."""

    cluster = models.OneToOneField(Cluster, models.CASCADE, related_name="log_store")
    kind = models.CharField(max_length=20)
    fields = models.JSONField(default=dict)  # those that are no secrets
    secret = models.BinaryField(null=True)  # the others, as JSON, encrypted
    continuous = models.BooleanField(default=False)  # whether it is pulled again and again
    reached = models.DateTimeField(null=True)  # up to when it was pulled continuously
    error = models.TextField(default="")  # why the last continuous pull failed; "" if it did not
    error_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.kind} of {self.cluster_id}"


class Pull(models.Model):
    """A pull reads the audit log of one time window from a log store into a file, which is then imported as an upload.

    A worker that takes it up increments `attempt`, and only the latest attempt may change the row.
    """

    class State(models.TextChoices):
        ASKING = "asking"  # the store is asked what the window costs
        READY = "ready"  # a person has to confirm that
        WAITING = "waiting"
        PULLING = "pulling"
        HANDING = "handing"  # the file is complete and becomes an upload
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    store = models.ForeignKey(LogStore, models.CASCADE, related_name="pulls")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    since = models.DateTimeField()
    until = models.DateTimeField()  # it does not belong to the window
    continuous = models.BooleanField(default=False)
    alone = models.BooleanField(default=False)  # whether it becomes a recording of its own
    state = models.CharField(max_length=9, choices=State, default=State.ASKING)
    attempt = models.IntegerField(default=0)
    created = models.DateTimeField(auto_now_add=True)
    seen = models.DateTimeField(auto_now_add=True)  # when a worker last reported
    cost_bytes = models.BigIntegerField(null=True)  # what the store will read for it; null if it does not say
    cost_records = models.BigIntegerField(null=True)
    cost_note = models.TextField(default="")
    records = models.BigIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)
    skipped = models.BigIntegerField(default=0)
    reached = models.DateTimeField(null=True)
    note = models.TextField(default="")  # why nothing comes at the moment
    error = models.TextField(default="")
    upload = models.ForeignKey(Upload, models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [  # a window that somebody asked for, and one that follows the last one, may be open together
            models.UniqueConstraint(
                fields=["store", "continuous"],
                condition=models.Q(state__in=["asking", "ready", "waiting", "pulling", "handing"]),
                name="pull_once",
            )
        ]

    def __str__(self) -> str:
        return f"{self.since} to {self.until} ({self.state})"
