"""Declare the tables of collectors, which watch a cluster from inside and send what they observe."""

from django.db import models

from timeline.models.sources import Cluster


class Collector(models.Model):
    """What is known of the collectors of one cluster. Only one at a time is active.

    The active one holds a lease, as workers do: it has the latest epoch, and only its batches are accepted.
    """

    cluster = models.OneToOneField(Cluster, models.CASCADE, primary_key=True)
    holder = models.TextField(default="")  # the name of the active collector, such as that of its Pod
    epoch = models.BigIntegerField(default=0)
    renewed_at = models.DateTimeField(null=True)  # null if no collector is active
    version = models.TextField(default="")  # of the active collector
    buffered = models.BigIntegerField(default=0)  # bytes that wait on its disk
    behind = models.FloatField(default=0)  # the seconds that the oldest of these has waited
    accepted = models.BigIntegerField(default=0)  # the number of the last batch that was stored
    accepted_at = models.DateTimeField(null=True)
    taken = models.BigIntegerField(default=0)  # the number of the last batch that a worker has committed
    asked = models.BigIntegerField(null=True)  # the batch after which a collector wants to know the state
    known = models.BinaryField(null=True)  # that state, packed
    known_after = models.BigIntegerField(null=True)  # the batch after which it held
    problem = models.TextField(default="")  # a sentence about the last batch that was put aside or refused
    problem_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.holder}, epoch {self.epoch}"


class CollectedBatch(models.Model):
    """A batch of a collector that waits for the worker of its cluster, or that was put aside."""

    pk = models.CompositePrimaryKey("cluster", "number")
    cluster = models.ForeignKey(Cluster, models.CASCADE, db_index=False)
    number = models.BigIntegerField()
    arrived = models.DateTimeField()
    size = models.IntegerField()  # of `lines`
    lines = models.BinaryField()  # packed; see `collectors.watch.storing.batches`
    restored = models.TextField(default="")  # why the cluster has another history from this batch on; "" if it has not
    attempts = models.IntegerField(default=0)  # how often a worker has failed to process it
    aside = models.TextField(default="")  # why it was put aside; "" if it was not
    # Whether it was put aside, and the gap that it leaves is stored.
    settled = models.BooleanField(default=False, db_column="told")

    class Meta:
        db_table = "timeline_collected_batch"

    def __str__(self) -> str:
        return f"batch {self.number} of {self.cluster_id}"
