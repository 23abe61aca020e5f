"""Declare the tables of what was received until it is imported: uploaded files, and batches that API servers sent."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from timeline.models.sources import Cluster, Source


class Upload(models.Model):
    """An upload consists of files that become a recording, or that are added to what a cluster's watches show. A worker
    that starts it increments `attempt`, and only the latest attempt may end it.

    `bytes_read` counts the bytes that have arrived, and during the import those that were imported.
    """

    class State(models.TextChoices):
        RECEIVING = "receiving"
        WAITING = "waiting"
        IMPORTING = "importing"
        ADDING = "adding"  # it was read, and waits for the worker that watches the cluster
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    name = models.CharField(max_length=253)
    state = models.CharField(max_length=9, choices=State, default=State.RECEIVING)
    attempt = models.IntegerField(default=0)
    source = models.ForeignKey(Source, models.SET_NULL, null=True)
    cluster = models.ForeignKey(Cluster, models.CASCADE, null=True)  # to whose source it is added; null for a recording
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )  # the account that sends it
    created = models.DateTimeField(auto_now_add=True)
    seen = models.DateTimeField(auto_now_add=True)  # when the worker last reported
    bytes_total = models.BigIntegerField(default=0)
    bytes_read = models.BigIntegerField(default=0)
    entries = models.BigIntegerField(default=0)
    skipped = models.BigIntegerField(default=0)
    skipped_examples = models.JSONField(default=list)
    error = models.TextField(default="")

    def __str__(self) -> str:
        return f"{self.name} ({self.state})"


class UploadFile(models.Model):
    """A file of an upload. The number of bytes that have arrived is its size on the disk."""

    upload = models.ForeignKey(Upload, models.CASCADE, related_name="files")
    number = models.IntegerField()
    name = models.TextField()  # its path inside the uploaded folder
    size = models.BigIntegerField()
    refused = models.TextField(default="")  # why it is not imported; "" if it is

    class Meta:
        constraints = [models.UniqueConstraint(fields=["upload", "number"], name="upload_file_once")]

    def __str__(self) -> str:
        return self.name


class Portion(models.Model):
    """A portion is some files of an upload that one worker reads for the import of all of them (see
    `collectors.uploads.portions`)."""

    class State(models.TextChoices):
        WAITING = "waiting"
        READING = "reading"
        READ = "read"

    pk = models.CompositePrimaryKey("upload", "number")
    upload = models.ForeignKey(Upload, models.CASCADE, db_index=False)
    number = models.IntegerField()  # within the upload, from 0
    files = ArrayField(models.IntegerField())  # UploadFile.number
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    reader = models.CharField(max_length=16, default="")  # who claimed it last; what others store of it is ignored
    seen = models.DateTimeField(auto_now_add=True)  # the last sign of life of its reader
    bytes_read = models.BigIntegerField(default=0)
    bytes_decompressed = models.BigIntegerField(default=0)
    formats = models.JSONField(default=dict)  # the names of the formats, by file
    skips = models.JSONField(default=list)  # what was skipped, as [file, line, reason]

    def __str__(self) -> str:
        return f"portion {self.number} of upload {self.upload_id} ({self.state})"


class PortionPart(models.Model):
    """Observations of a portion that wait until the import takes them."""

    pk = models.CompositePrimaryKey("upload", "portion", "reader", "number")
    upload = models.ForeignKey(Upload, models.CASCADE, db_index=False)
    portion = models.IntegerField()
    reader = models.CharField(max_length=16)
    number = models.IntegerField()  # within the portion, from 0
    lines = models.BinaryField()  # packed as those of an Addition

    class Meta:
        db_table = "timeline_portion_part"

    def __str__(self) -> str:
        return f"part {self.number} of portion {self.portion} of upload {self.upload_id}"


class Addition(models.Model):
    """Observations of an upload that wait until the worker of a live source has added them to the source."""

    pk = models.CompositePrimaryKey("source", "upload", "number")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    upload = models.ForeignKey(Upload, models.CASCADE)
    number = models.IntegerField()  # within the upload, from 0
    lines = models.BinaryField()

    def __str__(self) -> str:
        return f"part {self.number} of upload {self.upload_id}"


class Way(models.TextChoices):
    """The ways by which an API server says by itself who changed something."""

    AUDIT = "audit"
    ADMISSION = "admission"


class AuditBatch(models.Model):
    """What an API server sent in one request, until the worker of the source has taken it. The row stays for some time
    after that, without its lines, to recognise the batch if it is sent again."""

    pk = models.CompositePrimaryKey("source", "way", "digest")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    way = models.CharField(max_length=9, choices=Way)
    digest = models.CharField(max_length=64)  # SHA-256 of what identifies the events in it
    arrived = models.DateTimeField()
    size = models.IntegerField()  # of the lines, in bytes
    lines = models.BinaryField(null=True)  # packed; null once it was taken

    class Meta:
        db_table = "timeline_audit_batch"
        indexes = [
            models.Index(
                fields=["source", "way", "arrived"], condition=models.Q(lines__isnull=False), name="audit_batch_waits"
            )
        ]

    def __str__(self) -> str:
        return f"{self.way} batch {self.digest[:8]} of source {self.source_id}"


class ActorFeed(models.Model):
    """How one of these ways flows for a source. All counts are since its first batch."""

    pk = models.CompositePrimaryKey("source", "way")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    way = models.CharField(max_length=9, choices=Way)
    since = models.DateTimeField()  # when the first batch arrived
    last = models.DateTimeField()  # when the last batch arrived
    batches = models.BigIntegerField(default=0)
    events = models.BigIntegerField(default=0)
    repeated = models.BigIntegerField(default=0)  # batches that had arrived before
    unread = models.BigIntegerField(default=0)  # events that could not be read
    late = models.BigIntegerField(default=0)  # observations of a time before what is known of the source
    dropped = models.BigIntegerField(default=0)  # requests that were answered and not stored
    # The number of observations that added something to the source.
    added = models.BigIntegerField(default=0, db_column="told")
    compared = models.JSONField(default=dict)  # by kind: [changes that came with who made them, and without]
    gaps = models.JSONField(default=list)  # [µs since 1970, µs, changes without who made them], the newest last
    problem = models.TextField(default="")  # the last one, as a sentence
    problem_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "timeline_actor_feed"

    def __str__(self) -> str:
        return f"{self.way} of source {self.source_id}"
