"""The tables. Hot writes go through `timeline.store`, reads of a screen through `timeline.queries`."""

from django.contrib.postgres.fields import DateTimeRangeField
from django.contrib.postgres.indexes import GistIndex
from django.db import models


class Source(models.Model):
    """Where observations come from: a recording (a live cluster later)."""

    name = models.CharField(max_length=253)
    ready = models.BooleanField(default=False)  # False while its first import runs; it is not shown then
    created = models.DateTimeField(auto_now_add=True)
    entries = models.BigIntegerField(default=0)
    skipped = models.BigIntegerField(default=0)
    first = models.DateTimeField(null=True)
    last = models.DateTimeField(null=True)
    histogram = models.JSONField(default=list)  # entries in equal slices from first to last

    def __str__(self) -> str:
        return self.name


class Track(models.Model):
    """One object's life. In its source `key` numbers (name, UID), `lane` the name; `root` is its root owner's key."""

    source = models.ForeignKey(Source, models.CASCADE)
    key = models.BigIntegerField()
    lane = models.BigIntegerField()
    root = models.BigIntegerField()
    group = models.TextField()
    version = models.TextField()
    kind = models.TextField()
    namespace = models.TextField()
    name = models.TextField()
    uid = models.TextField()
    family = models.TextField()
    number = models.IntegerField()  # creation order within the root owner's group
    lane_number = models.IntegerField()  # that of the first life under this name
    root_rank = models.IntegerField()  # order of the groups by their root's beginning
    life = DateTimeRangeField()  # upper bound null while it lives
    lifeline = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "key", "uid"], name="track_once")]
        indexes = [
            models.Index(fields=["source", "root_rank", "lane_number"], name="track_order"),
            models.Index(fields=["source", "lane"], name="track_lane"),
            GistIndex(fields=["life"], name="track_life"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class Entry(models.Model):
    """One observed change. Partitioned by source (see the first migration): a recording goes with its partition."""

    pk = models.CompositePrimaryKey("source", "sequence")
    source = models.ForeignKey(Source, models.DO_NOTHING)
    sequence = models.BigIntegerField()  # in the order of reading
    key = models.BigIntegerField()  # of its track
    resource_version = models.DecimalField(max_digits=1000, decimal_places=0, null=True)
    change = models.TextField()
    received = models.DateTimeField()
    staged = models.DateTimeField()
    action = models.TextField()
    actor = models.TextField()
    user_agent = models.TextField()
    identity = models.TextField()
    file = models.TextField()
    line = models.BigIntegerField()
    body = models.BinaryField()  # the redacted object as JSON, zstd; empty where the observation had none

    class Meta:
        managed = False
        db_table = "timeline_entry"

    def __str__(self) -> str:
        return f"{self.change} {self.resource_version}"


class Finding(models.Model):
    """One violation. `document` is the finding as the findings document gives it, `occurrences` what is drawn of it."""

    source = models.ForeignKey(Source, models.CASCADE)
    identity = models.CharField(max_length=16)
    rule = models.TextField()
    severity = models.TextField()
    namespace = models.TextField()
    subject = models.ForeignKey(Track, models.CASCADE, related_name="findings")
    first = models.DateTimeField()
    last = models.DateTimeField()
    document = models.JSONField()
    occurrences = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["source", "identity"], name="finding_once")]

    def __str__(self) -> str:
        return f"{self.rule} {self.identity}"


class Upload(models.Model):
    """Files on their way to become a recording. A worker that takes it up raises `attempt`; only that one may end it.

    `bytes_read` counts what has arrived, and then what of it was imported.
    """

    class State(models.TextChoices):
        RECEIVING = "receiving"
        WAITING = "waiting"
        IMPORTING = "importing"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    name = models.CharField(max_length=253)
    state = models.CharField(max_length=9, choices=State, default=State.RECEIVING)
    attempt = models.IntegerField(default=0)
    source = models.ForeignKey(Source, models.SET_NULL, null=True)
    created = models.DateTimeField(auto_now_add=True)
    seen = models.DateTimeField(auto_now_add=True)  # last sign of life of who works on it
    bytes_total = models.BigIntegerField(default=0)
    bytes_read = models.BigIntegerField(default=0)
    entries = models.BigIntegerField(default=0)
    skipped = models.BigIntegerField(default=0)
    skipped_examples = models.JSONField(default=list)
    error = models.TextField(default="")

    def __str__(self) -> str:
        return f"{self.name} ({self.state})"


class UploadFile(models.Model):
    """One of the files of an upload. How much of it has arrived is its size on the disk."""

    upload = models.ForeignKey(Upload, models.CASCADE, related_name="files")
    number = models.IntegerField()
    name = models.TextField()  # as the person knows it: its path inside the folder
    size = models.BigIntegerField()
    refused = models.TextField(default="")  # why it is left out

    class Meta:
        constraints = [models.UniqueConstraint(fields=["upload", "number"], name="upload_file_once")]

    def __str__(self) -> str:
        return self.name
