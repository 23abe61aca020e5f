"""Define the database table of alerts that Alertmanager and other programs have sent."""

from django.contrib.postgres.fields import ArrayField, DateTimeRangeField
from django.contrib.postgres.indexes import GinIndex, GistIndex
from django.db import models


class Duration(models.Func):
    """The time in which an alert fired, as an expression of SQL; it has no upper bound while the alert fires."""

    function = "tstzrange"
    template = "%(function)s(%(expressions)s, '[]')"
    output_field = DateTimeRangeField()


class Alert(models.Model):
    """One alert from its beginning to its end: the greatest of its notifications (see `storage.alerts`).

    It belongs to no source, because it may come before what it is about is observed, and because it names a cluster
    that may have several sources. `timeline.queries.alerts.received` finds what it is about when it is shown.
    """

    pk = models.CompositePrimaryKey("receiver", "identity")
    receiver = models.TextField()  # the name of the access token with which it was sent
    identity = models.CharField(max_length=32)
    name = models.TextField()
    source = models.BigIntegerField(null=True)  # Source.pk, if the token is limited to one; it may be deleted
    cluster = models.TextField()  # the cluster that the token is limited to, or else the label; ""
    namespace = models.TextField()
    objects_named = ArrayField(models.TextField())  # "pod/train-0", "uid/…", "ip/10.0.0.1", the most certain first
    labels = models.JSONField()
    annotations = models.JSONField()
    url = models.TextField()  # of the page that explains it, http or https; ""
    fingerprint = models.TextField()  # as the sender gave it; "" if it gave none
    started = models.DateTimeField()
    ended = models.DateTimeField(null=True)  # null while no notification says that it ended
    seen = models.DateTimeField()  # when the last notification of it came

    class Meta:
        indexes = [
            models.Index(fields=["-started", "receiver", "identity"], name="alert_newest"),
            models.Index(fields=["seen"], name="alert_seen"),
            GistIndex(Duration("started", "ended"), name="alert_duration"),
            GinIndex(fields=["objects_named"], name="alert_objects"),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.receiver}"
