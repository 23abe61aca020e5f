"""Declare the tables of objects: their bars, their changes, who acted on them, and what was logged."""

from django.contrib.postgres.fields import ArrayField, DateTimeRangeField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from timeline.models.fields import Packed, Sparse
from timeline.models.sources import Source


class Track(models.Model):
    """A track is one incarnation of an object; `id` is its number within its source (see `World.id_of`).

    A lane consists of all tracks of one name under one root owner. Columns that describe the whole lane are set in the
    row of its first track, and null in the others. The table is partitioned by source.
    """

    pk = models.CompositePrimaryKey("source", "id")
    source = models.ForeignKey(Source, models.DO_NOTHING)
    id = models.BigIntegerField()
    lane = models.BigIntegerField()  # the number of the name
    root = models.BigIntegerField()  # the id of the first incarnation of its root owner
    strip = models.BigIntegerField()  # Strip.place of the strip that its lane belongs to; 0 for none
    place = models.BigIntegerField()  # the lane's place in the order of creation (see `layout.places`)
    number = models.IntegerField()  # position in the order of creation in the root owner's group
    # The lane's time, from the beginning of its first track to the end of its last.
    span = DateTimeRangeField(null=True)
    changed = models.DateTimeField(null=True)  # the time of the lane's last change
    life = DateTimeRangeField()  # the track's own time; the upper bound is null while the object exists
    family = models.TextField()
    group = models.TextField()
    version = models.TextField()
    kind = models.TextField()
    namespace = models.TextField()
    name = models.TextField()
    uid = models.TextField()
    lifeline = Packed()  # see `outline.lifeline`
    owner = models.BigIntegerField(default=0)  # Track.id of its owner; 0 for none
    needs = Sparse(models.BigIntegerField(), default=list)  # the numbers of the lanes that it refers to
    addresses = Sparse(models.TextField(), default=list)  # IP addresses that it had (see `Kind.addresses`)
    creator = models.TextField(default="")  # who created it; "" if that was not observed
    writers = Sparse(models.TextField(), default=list)  # who else changed the lane; only in its first row
    # The keys (see `queries.objects.attribution`) of entries of its name without a UID that have no track of their own,
    # because a watch shows the same changes with one.
    unnamed = Sparse(models.BigIntegerField(), default=list)
    # The texts by which the search finds it besides its names (see `Kind.clues`), one a line.
    clues = models.TextField(default="")

    class Meta:
        managed = False
        db_table = "timeline_track"

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class Strip(models.Model):
    """A strip stands for many lanes of one owner and kind, drawn as one row until it is opened."""

    pk = models.CompositePrimaryKey("source", "place")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    place = models.BigIntegerField()  # the number right before the place of its first lane
    root = models.BigIntegerField()
    family = models.TextField()
    group = models.TextField()
    kind = models.TextField()
    namespace = models.TextField()
    name = models.TextField()  # the owner's name
    members = models.IntegerField()  # the number of its lanes
    span = DateTimeRangeField()
    changed = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.members} {self.kind} of {self.namespace}/{self.name}"


class Chunk(models.Model):
    """A chunk holds entries that follow each other in the sequence. The table is partitioned by import."""

    pk = models.CompositePrimaryKey("source", "sequence")
    source = models.ForeignKey(Source, models.DO_NOTHING)
    sequence = models.BigIntegerField()  # the sequence number of its first entry, from 1
    keys = ArrayField(
        models.IntegerField()
    )  # the key of each entry's track (see `queries.objects.attribution`); 0 for a mark
    low = models.IntegerField()  # the least of the keys
    high = models.IntegerField()  # the greatest of the keys
    first = models.DateTimeField()  # when the earliest entry was received
    last = models.DateTimeField()  # when the latest entry was received
    lines = (
        models.BinaryField()
    )  # all of each, packed together (see `timeline.history.codec` and `timeline.history.packing`)

    class Meta:
        managed = False
        db_table = "timeline_chunk"

    def __str__(self) -> str:
        return f"{len(self.keys)} entries from {self.sequence}"


class IntentChange(models.Model):
    """One change of an object that somebody meant, such as another image (see `timeline.judging.incidents.intents`).

    The rows are derived from the entries. They make it quick to say what changed before an incident.
    """

    pk = models.CompositePrimaryKey("source", "at", "track", "number")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    at = models.DateTimeField()  # the drawn time
    track = models.BigIntegerField()  # Track.id
    number = models.IntegerField()  # its place among the changes of its track
    lane = models.BigIntegerField()  # Track.lane
    namespace = models.TextField()
    wide = models.BooleanField()  # it can concern every object of the cluster
    grade = models.SmallIntegerField()  # IntentChange.grade
    document = Packed()  # the fields of `intents.IntentChange`

    class Meta:
        db_table = "timeline_intent_change"
        indexes = [
            models.Index(fields=["source", "lane", "at"], name="intent_of_lane"),
            models.Index(fields=["source", "grade", "at"], name="intent_of_grade"),
            models.Index(fields=["source", "namespace", "grade", "at"], name="intent_of_namespace"),
            models.Index(fields=["source", "grade", "at"], condition=models.Q(wide=True), name="intent_of_cluster"),
        ]

    def __str__(self) -> str:
        return f"{self.source_id}: change {self.number} of {self.track}"


class Log(models.Model):
    """The log of a program, such as a controller in a container. Other tables name it by its number."""

    pk = models.CompositePrimaryKey("source", "number")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    number = models.IntegerField()
    name = models.TextField()  # LogLine.log: "namespace/pod/container" as far as that is known, else the file

    def __str__(self) -> str:
        return self.name


class LogPage(models.Model):
    """A page holds lines of a log that follow each other in time. The rows are derived from the stored observations."""

    pk = models.CompositePrimaryKey("source", "log", "number")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    log = models.IntegerField()  # Log.number
    number = models.IntegerField()  # its place among the pages of its log, which are in the order of time
    first = models.DateTimeField()  # the time of its first line
    last = models.DateTimeField()  # the time of its last line
    count = models.SmallIntegerField()  # how many lines it holds
    worst = models.SmallIntegerField()  # the gravest level of its lines: 0 info or less, 1 warning, 2 error
    objects_named = ArrayField(models.TextField())  # what its lines name, as LogLine.objects
    times = models.BinaryField()  # the time and the level of each line (see `timeline.storage.logs`)
    lines = models.BinaryField()  # the lines in the form of `timeline.history.codec`, packed together

    class Meta:
        db_table = "timeline_log_page"
        indexes = [
            models.Index(fields=["source", "first"], name="log_page_first"),
            GinIndex(fields=["objects_named"], name="log_page_objects"),
        ]

    def __str__(self) -> str:
        return f"{self.source_id}: page {self.number} of log {self.log}"


class ActorRow(models.Model):
    """What one part of one process did in a source (see `judging.activity`). The rows are derived."""

    pk = models.CompositePrimaryKey("source", "identity")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    identity = models.CharField(max_length=16)
    name = models.TextField()
    words = models.TextField()  # its names, account and user agent in lower case, for the search
    writes = models.BigIntegerField()
    busiest = models.BigIntegerField()  # writes in its busiest minute
    conflicts = models.BigIntegerField()
    retries = models.BigIntegerField()
    refused = models.BigIntegerField()
    lag = models.BigIntegerField()  # µs: the age of the oldest copy on which it acted, at least; 0 without one
    leases = models.IntegerField()
    findings = models.IntegerField()
    document = Packed()  # an ActorRowPayload

    class Meta:
        db_table = "timeline_actor_row"

    def __str__(self) -> str:
        return self.name


class ObjectView(models.Model):
    """The copies of one object on which its actors acted, where one of these was old (see `judging.copies.views`).

    The rows are derived from the entries. Most objects have none.
    """

    pk = models.CompositePrimaryKey("source", "track")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    track = models.BigIntegerField()  # Track.id
    document = Packed()  # a list of ViewPayload

    class Meta:
        db_table = "timeline_object_view"

    def __str__(self) -> str:
        return f"{self.source_id}: copies of {self.track}"
