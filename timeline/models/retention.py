"""Declare the tables that say what must not be deleted, and how much room sources take."""

from django.db import models
from django.db.models.functions import Now

from timeline.models.sources import Cluster, Source


class Hold(models.Model):
    """A hold keeps everything that is stored of a source, or of all sources of a cluster, until somebody lifts it."""

    source = models.ForeignKey(Source, models.CASCADE, null=True, related_name="holds")
    cluster = models.ForeignKey(Cluster, models.CASCADE, null=True, related_name="holds")
    reason = models.TextField()
    by = models.TextField()  # a user's name; "" if nobody has to sign in
    since = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(source=None, cluster__isnull=False) | models.Q(source__isnull=False, cluster=None),
                name="hold_of_one",
            ),
            models.UniqueConstraint(fields=["source"], name="hold_of_source_once"),
            models.UniqueConstraint(fields=["cluster"], name="hold_of_cluster_once"),
        ]

    def __str__(self) -> str:
        return self.reason


class Usage(models.Model):
    """How much room a source took at the end of a day (UTC), or when it was measured last. Sizes are in bytes."""

    pk = models.CompositePrimaryKey("source", "day")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    day = models.DateField()
    at = models.DateTimeField()
    entries = models.BigIntegerField()  # stored observations
    chunks = models.BigIntegerField()  # the tables of entries, with their indexes
    tracks = models.BigIntegerField()  # the tables of objects
    findings = models.BigIntegerField()  # findings, their occurrences, and incidents
    logs = models.BigIntegerField()
    evidence = models.BigIntegerField()  # changes that were meant, copies, actors, the snapshot, and everything else

    class Meta:
        db_table = "timeline_usage"

    def __str__(self) -> str:
        return f"{self.source_id} on {self.day}"

    @property
    def bytes(self) -> int:
        """Return the sum of all sizes."""
        return self.chunks + self.tracks + self.findings + self.logs + self.evidence


class FreedSpan(models.Model):
    """A freed span is a time in which retention has deleted the changes of a source, but for the last one of each
    object. What happened at its very ends does not belong to it. Spans of one source do not overlap."""

    pk = models.CompositePrimaryKey("source", "since")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    since = models.DateTimeField()
    until = models.DateTimeField()

    class Meta:
        db_table = "timeline_freed"

    def __str__(self) -> str:
        return f"{self.source_id}: {self.since} to {self.until}"
