"""Declare the tables of clusters and recordings: how they are reached and what is watched."""

from django.conf import settings
from django.db import models

from timeline.models.fields import NotDeleted, Packed

KEEP_DAYS_AT_MOST = 36_500  # a hundred years
KEEP_BYTES_AT_MOST = 10**18
INCIDENT_MINUTES_AT_MOST = 10_080  # a week


class Cluster(models.Model):
    """A cluster is watched by one worker. The row says how it is reached, and which resources are watched.

    `holder`, `epoch` and `expires_at` are the lease (see `timeline.storage.leases`). A worker that takes it increments
    the epoch, and only the worker with the latest epoch may write.
    """

    class State(models.TextChoices):
        WAITING = "waiting"  # no worker watches it
        CONNECTING = "connecting"
        LIVE = "live"
        FAILING = "failing"  # its worker cannot reach it and tries again and again
        PAUSED = "paused"

    name = models.CharField(max_length=253)
    created = models.DateTimeField(auto_now_add=True)
    reference = models.JSONField(default=dict)  # {"how", "path", "context", "server"}, without secrets
    secret = models.BinaryField(null=True)  # a kubeconfig, encrypted
    include = models.JSONField(default=list)  # names of resources as kubectl accepts them, "jobs.batch.volcano.sh"
    exclude = models.JSONField(default=list)
    namespaces = models.JSONField(default=list, db_default=[])  # the only ones that are watched; [] for all of them
    keep_days = models.IntegerField(null=True)
    keep_bytes = models.BigIntegerField(null=True)
    keep_incident_days = models.IntegerField(null=True)  # how long what is near incidents is kept; 0: as all other
    keep_incident_minutes = models.IntegerField(null=True)  # what is near: so long before and after an incident
    paused = models.BooleanField(default=False)
    write_events = models.BooleanField(default=False)  # whether Causeline may write Events about incidents into it
    source = models.ForeignKey("Source", models.SET_NULL, null=True, related_name="current_of")
    holder = models.TextField(default="")
    epoch = models.BigIntegerField(default=0)
    expires_at = models.DateTimeField(null=True)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    error = models.TextField(default="")
    error_at = models.DateTimeField(null=True)
    delete_after = models.DateTimeField(null=True)  # somebody has disconnected it, and can undo that until then

    objects = NotDeleted["Cluster"]()
    everything = models.Manager["Cluster"]()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["name"], condition=models.Q(delete_after=None), name="cluster_name_once"),
            models.CheckConstraint(
                condition=models.Q(keep_days__range=(1, KEEP_DAYS_AT_MOST)), name="cluster_keeps_days_in_range"
            ),
            models.CheckConstraint(
                condition=models.Q(keep_bytes__range=(1, KEEP_BYTES_AT_MOST)), name="cluster_keeps_bytes_in_range"
            ),
            models.CheckConstraint(
                condition=models.Q(keep_incident_days__range=(0, KEEP_DAYS_AT_MOST)),
                name="cluster_incident_days_in_range",
            ),
            models.CheckConstraint(
                condition=models.Q(keep_incident_minutes__range=(1, INCIDENT_MINUTES_AT_MOST)),
                name="cluster_incident_minutes_in_range",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Source(models.Model):
    """A source is where observations come from: a recording, or a connected cluster. If the revisions of a cluster go
    back, because its etcd was restored, its source ends and another one begins."""

    name = models.CharField(max_length=253)
    ready = models.BooleanField(default=False)  # False while its first import runs; it is not shown then
    created = models.DateTimeField(auto_now_add=True)
    inputs = models.JSONField(default=list)  # the names of the files that were read, as the user gave them
    entries = models.BigIntegerField(default=0)  # the number of changes that were observed
    stored = models.BigIntegerField(default=0)  # the number of observations of these that were stored in chunks
    table = models.BigIntegerField(default=0)  # the number of the open table (see `timeline.storage.entries.tables`)
    redacted = models.JSONField(default=dict)  # redacted values, counted by reason (see `timeline.core.masks`)
    skipped = models.BigIntegerField(default=0)
    skips = models.JSONField(default=list)  # the first skipped pieces, as [file, line, reason]
    # The description of the source as a whole, a SourceDocumentPayload.
    document = models.JSONField(default=dict, db_column="told")
    first = models.DateTimeField(null=True)
    last = models.DateTimeField(null=True)
    histogram = models.JSONField(default=list)  # the number of changes in each of equal slices of time
    row_counts = models.JSONField(default=dict)  # of its list of findings, by rule: [errors, warnings, info]
    census = models.JSONField(default=list)  # [namespace, family, number of lanes] for each namespace and family
    own_counters = models.JSONField(default=list)  # [group, kind] of the kinds with a counter of revisions of their own
    actors = models.JSONField(default=list)  # who made most changes (see `outline.actors`)
    actors_total = models.IntegerField(default=0)  # how many actors it has; `ActorRow` keeps those with most writes
    views = models.IntegerField(default=0)  # how many objects have a row of `ObjectView`
    tide = models.JSONField(default=dict)  # how many lanes there were in each slice (see `outline.Tide`)
    cluster = models.ForeignKey(Cluster, models.SET_NULL, null=True, related_name="sources")  # null for a recording
    # The only namespaces of its cluster that are watched; [] for all of them, and for a recording.
    namespaces = models.JSONField(default=list, db_default=[])
    ended = models.TextField(default="")  # a sentence that says why a live source has ended; "" while it has not
    sequence = models.BigIntegerField(default=0)  # the number of its last batch; 0 for a recording
    # The number of the last batch that a version has written which knows the namespaces of findings. Null, until such a
    # version has written one of a live source: then these namespaces may be out of date.
    divided = models.BigIntegerField(null=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )  # the account that sent it
    judged = models.IntegerField(default=0)  # the version of the rules that its findings are from (`rulebook.VERSION`)
    judging = models.IntegerField(default=0)  # the version that last tried to judge it again
    attempts = models.IntegerField(default=0)  # how often that version has tried to judge it
    mostly_skipped = models.JSONField(default=dict)  # {file: [skipped lines, all lines]} of mostly skipped files
    delete_after = models.DateTimeField(null=True)  # somebody has deleted it, and can undo that until then
    keep_days = models.IntegerField(null=True)  # of a recording: when it is deleted; 0 for never, null for the setting

    objects = NotDeleted["Source"]()
    everything = models.Manager["Source"]()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(keep_days__range=(0, KEEP_DAYS_AT_MOST)), name="source_keeps_days_in_range"
            )
        ]

    def __str__(self) -> str:
        return self.name


class Share(models.Model):
    """How much of a source one namespace is. Readers of some namespaces see the sum of theirs."""

    pk = models.CompositePrimaryKey("source", "namespace")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    namespace = models.TextField()  # "" for objects of the cluster
    changes = models.BigIntegerField()
    histogram = Packed()  # as `Source.histogram`

    def __str__(self) -> str:
        return f"{self.namespace} of {self.source_id}"


class Stream(models.Model):
    """A stream is the watch of one resource of a live source, in one namespace or in all, and the revision from which
    it resumes."""

    class State(models.TextChoices):
        WAITING = "waiting"
        LISTING = "listing"
        WATCHING = "watching"
        FAILING = "failing"
        FORBIDDEN = "forbidden"
        MISSING = "missing"  # the cluster does not serve it

    pk = models.CompositePrimaryKey("source", "group", "resource", "namespace")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    group = models.TextField()
    version = models.TextField()
    kind = models.TextField()
    resource = models.TextField()  # the plural name
    namespace = models.TextField(default="", db_default="")  # "" if it shows all, or the resource has none
    namespaced = models.BooleanField(default=True)
    state = models.CharField(max_length=9, choices=State, default=State.WAITING)
    error = models.TextField(default="")
    error_at = models.DateTimeField(null=True)
    listed_at = models.DateTimeField(null=True)
    watermark = models.DecimalField(
        max_digits=39, decimal_places=0, null=True
    )  # the revision up to which the watch is complete
    watermark_at = models.DateTimeField(null=True)
    entries = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class Gap(models.Model):
    """A gap is an interval in which a kind of a live source was not observed."""

    pk = models.CompositePrimaryKey("source", "group", "kind", "since", "until")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    group = models.TextField()
    kind = models.TextField()
    since = models.DateTimeField()
    until = models.DateTimeField()
    since_revision = models.DecimalField(max_digits=39, decimal_places=0, null=True)
    revision = models.DecimalField(max_digits=39, decimal_places=0, null=True)
    reason = models.TextField()

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"


class Delta(models.Model):
    """A delta says what one batch of a live source changed. The latest are kept for browsers that reconnect."""

    pk = models.CompositePrimaryKey("source", "sequence")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    sequence = models.BigIntegerField()
    at = models.DateTimeField()
    changed = (
        models.JSONField()
    )  # {"tracks": ids, "findings": keys of changed occurrences, "gone": keys of deleted ones, …}

    def __str__(self) -> str:
        return f"{self.source_id}: {self.sequence}"


class SnapshotPart(models.Model):
    """A snapshot of a live source is stored in parts. With it, another worker need not read all of its entries."""

    pk = models.CompositePrimaryKey("source", "number")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    number = models.IntegerField()
    after = models.BigIntegerField()  # entries up to this sequence number are in the snapshot
    lines = models.BinaryField()

    class Meta:
        db_table = "timeline_memory"

    def __str__(self) -> str:
        return f"{self.source_id} up to {self.after}"
