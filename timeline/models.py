"""This module declares the tables. Frequent writes are in `timeline.storage.store`, reads in `timeline.queries`."""

from typing import Any, TypeVar

import orjson
from django.conf import settings
from django.contrib.postgres.fields import ArrayField, DateTimeRangeField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from timeline.history.packing import unpack

KEEP_DAYS_AT_MOST = 36_500  # a hundred years
KEEP_BYTES_AT_MOST = 10**18


class Packed(models.BinaryField):  # type: ignore[type-arg]  # it takes no parameter at run time
    """This column holds JSON that is packed with zstd (see `timeline.history.packing`)."""

    def from_db_value(self, value: bytes | None, *_: object) -> Any:
        return None if value is None else unpacked(value)


class Sparse(ArrayField):  # type: ignore[type-arg]  # it takes no parameter at run time
    """This column holds null for an empty array, because that takes no space. Conditions treat both alike."""

    def from_db_value(self, value: list[Any] | None, *_: object) -> list[Any]:
        return value or []


def unpacked(value: bytes) -> Any:
    """Return the JSON that a packed column holds."""
    return orjson.loads(unpack(bytes(value)))


_Row = TypeVar("_Row", bound=models.Model)


class NotDeleted(models.Manager[_Row]):
    """This manager leaves out the rows that somebody has deleted and that can still be restored (see
    `timeline.storage.deletion`)."""

    def get_queryset(self) -> models.QuerySet[_Row]:
        return super().get_queryset().filter(delete_after=None)


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
    keep_days = models.IntegerField(null=True)
    keep_bytes = models.BigIntegerField(null=True)
    paused = models.BooleanField(default=False)
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
    table = models.BigIntegerField(default=0)  # the number of the open table (see `timeline.storage.tables`)
    redacted = models.JSONField(default=dict)  # redacted values, counted by reason (see `timeline.core.masks`)
    skipped = models.BigIntegerField(default=0)
    skips = models.JSONField(default=list)  # the first skipped pieces, as [file, line, reason]
    told = models.JSONField(default=dict)  # the description of the source as a whole, a SourceDocumentPayload
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
    ended = models.TextField(default="")  # a sentence that says why a live source has ended; "" while it has not
    sequence = models.BigIntegerField(default=0)  # the number of its last batch; 0 for a recording
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )  # the account that sent it
    judged = models.IntegerField(default=0)  # the version of the rules that its findings are from (`rulebook.VERSION`)
    judging = models.IntegerField(default=0)  # the version that last tried to judge it again
    attempts = models.IntegerField(default=0)  # how often that version has tried to judge it
    mostly_skipped = models.JSONField(default=dict)  # {file: [skipped lines, all lines]} of mostly skipped files
    delete_after = models.DateTimeField(null=True)  # somebody has deleted it, and can undo that until then

    objects = NotDeleted["Source"]()
    everything = models.Manager["Source"]()

    def __str__(self) -> str:
        return self.name


class Stream(models.Model):
    """A stream is the watch of one resource of a live source, and the revision from which it resumes."""

    class State(models.TextChoices):
        WAITING = "waiting"
        LISTING = "listing"
        WATCHING = "watching"
        FAILING = "failing"
        FORBIDDEN = "forbidden"
        MISSING = "missing"  # the cluster does not serve it

    pk = models.CompositePrimaryKey("source", "group", "resource")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    group = models.TextField()
    version = models.TextField()
    kind = models.TextField()
    resource = models.TextField()  # the plural name
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
    span = DateTimeRangeField(
        null=True
    )  # the lane's time, from the beginning of its first track to the end of its last
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
    clues = models.TextField(default="")  # by what the search finds it besides its names (see `Kind.clues`), in lines

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
    keys = ArrayField(models.IntegerField())  # the key of each entry's track (see `queries.attribution`); 0 for a mark
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


# The rank of a finding: 0 error, 1 warning, 2 info. Findings are read in this order, by an index.
FINDING_RANK = models.Case(
    models.When(severity="error", then=models.Value(0)),
    models.When(severity="warning", then=models.Value(1)),
    default=models.Value(2),
)


class Finding(models.Model):
    """A finding is one violation. `document` is the finding as it is in the findings document."""

    pk = models.CompositePrimaryKey("source", "identity")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    identity = models.CharField(max_length=16)
    rule = models.TextField()
    severity = models.TextField()
    namespace = models.TextField()
    subject = models.BigIntegerField()  # Track.id of the track with which it is shown
    root = models.BigIntegerField()  # Track.root of that track
    tracks = ArrayField(models.BigIntegerField())  # Track.id of all objects that it names
    first = models.DateTimeField()
    last = models.DateTimeField()
    document = models.JSONField()
    occurrences = models.JSONField()  # its occurrences, each as `payloads.occurrences.occurrence` returns it
    withdrawn = models.BooleanField(default=False)  # later observations have explained it, so it is not listed
    incident = models.CharField(max_length=16, default="")  # Incident.identity; "" until this version has judged it
    anchor = ArrayField(models.TextField(), default=list)  # of the incident: group, kind, namespace and name

    class Meta:
        indexes = [
            models.Index("source", "incident", FINDING_RANK, "first", "identity", name="finding_gravest"),
            models.Index(fields=["source", "first", "identity"], name="finding_first"),
            GinIndex(fields=["tracks"], name="finding_tracks"),
        ]

    def __str__(self) -> str:
        return f"{self.rule} {self.identity}"


class Incident(models.Model):
    """An incident consists of all findings of one rule about one anchor (see `timeline.judging.incidents`).

    The row is derived from its findings. Whether it is over is not stored, because it depends on the time of the
    question.
    """

    pk = models.CompositePrimaryKey("source", "identity")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    identity = models.CharField(max_length=16)
    rule = models.TextField()
    rank = models.SmallIntegerField()  # of the worst severity of its findings: 0 error, 1 warning, 2 info
    status = models.TextField()  # suspected or confirmed
    group = models.TextField()  # of the anchor, as the next three
    kind = models.TextField()
    namespace = models.TextField()
    name = models.TextField()
    title = models.TextField()
    subjects = models.IntegerField()
    names = ArrayField(models.TextField())  # of the first subjects
    findings = models.IntegerField()
    occurrences = models.IntegerField()
    first = models.DateTimeField()
    last = models.DateTimeField()
    open = models.BooleanField()  # an occurrence still went on at the end of what the source shows
    times = ArrayField(models.BigIntegerField())  # when the latest occurrences began: microseconds since 1970, UTC
    effect = models.TextField()
    effect_text = models.TextField()
    cause = models.TextField(default="")  # what is behind it, for how many findings; "" where nothing proves a cause
    caused = models.CharField(max_length=16, default="")  # Finding.identity of the finding that this cause is of
    actors = ArrayField(models.TextField())  # who wrote what the proofs show, the most frequent one first
    advice = ArrayField(models.TextField())
    roots = ArrayField(models.BigIntegerField())  # Track.root of its subjects
    worst = models.CharField(max_length=16)  # Finding.identity of the gravest
    words = models.TextField()  # its title and names in lower case, for the search

    class Meta:
        indexes = [
            models.Index(fields=["source", "rank", "first", "identity"], name="incident_gravest"),
            models.Index(fields=["source", "-last", "rank", "identity"], name="incident_newest"),
        ]

    def __str__(self) -> str:
        return self.title


class IntentChange(models.Model):
    """This is one change of an object that somebody meant, such as another image (see `timeline.judging.intents`).

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
    """This is the log of a program, such as a controller in a container. Other tables name it by its number."""

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
    """This is what one part of one process did in a source (see `judging.activity`). The rows are derived."""

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
    """This says which copies of one object its actors acted on, where one of these was old (see `judging.views`).

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


class Silence(models.Model):
    """A silence takes the incidents that it matches out of the lists until it expires. Empty matchers match all."""

    cluster = models.ForeignKey(Cluster, models.CASCADE, null=True)  # every source of this cluster
    source = models.ForeignKey(Source, models.CASCADE, null=True)  # this recording; with neither, all sources
    rule = models.TextField(default="")
    namespace = models.TextField(default="")
    owner = models.TextField(default="")  # the name of the anchor; * stands for any characters, ? for one
    actor = models.TextField(default="")  # one who wrote what a proof shows
    reason = models.TextField()
    by = models.TextField()  # a user's name; "" if nobody has to sign in
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=~models.Q(rule="", namespace="", owner="", actor=""), name="silence_matches_something"
            )
        ]
        indexes = [models.Index(fields=["expires"], name="silence_expires")]

    def __str__(self) -> str:
        return f"{self.reason} (until {self.expires:%Y-%m-%d %H:%M})"


class BaselineIncident(models.Model):
    """This incident was known when somebody set the baseline of its source. It is out of the lists until it gets worse:
    graver, or more frequent than twice its rate of the day before."""

    pk = models.CompositePrimaryKey("source", "identity")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    identity = models.CharField(max_length=16)  # Incident.identity
    rank = models.SmallIntegerField()  # Incident.rank then
    hourly = models.FloatField()  # occurrences an hour, in the 24 hours before the baseline
    by = models.TextField()
    at = models.DateTimeField()
    ended = models.TextField(default="")  # why it is in the lists again, in a sentence

    def __str__(self) -> str:
        return f"{self.identity} since {self.at:%Y-%m-%d %H:%M}"


class Acknowledgement(models.Model):
    """An acknowledgement records that a user knows of a finding or of an incident. It has no foreign key to it, because
    another import may replace its row."""

    pk = models.CompositePrimaryKey("source", "identity")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    identity = models.CharField(max_length=16)  # Finding.identity or Incident.identity
    by = models.TextField()  # a user's name; "" if nobody has to sign in
    at = models.DateTimeField(auto_now=True)
    note = models.TextField()
    rank = models.SmallIntegerField(null=True)  # Incident.rank when it was acknowledged; null for a finding
    ended = models.TextField(default="")  # why the acknowledgement of an incident holds no more, in a sentence

    def __str__(self) -> str:
        return f"{self.identity}: {self.note}"


class Occurrence(models.Model):
    """A row of the list of findings is one occurrence of a violation, with all subjects that it concerned alike."""

    pk = models.CompositePrimaryKey("source", "key")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    key = models.CharField(max_length=16)
    rank = models.SmallIntegerField()  # its severity: 0 error, 1 warning, 2 info
    rule = models.TextField()
    namespace = models.TextField()
    families = ArrayField(models.TextField())  # the families of its subjects
    words = models.TextField()  # its summary and the names of its subjects, in lower case, for the search
    tracks = ArrayField(models.BigIntegerField())  # the ids of the tracks whose lanes show it
    first = models.DateTimeField()
    last = models.DateTimeField()
    findings = ArrayField(models.CharField(max_length=16))  # Finding.identity of each; the row is derived from these

    class Meta:
        indexes = [
            models.Index(fields=["source", "rank", "first", "key"], name="occurrence_order"),
            models.Index(fields=["source", "first", "rank", "key"], name="occurrence_first"),
            models.Index(fields=["source", "-last", "rank", "key"], name="occurrence_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.rule} {self.key}"


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
    """This is a file of an upload. The number of bytes that have arrived is its size on the disk."""

    upload = models.ForeignKey(Upload, models.CASCADE, related_name="files")
    number = models.IntegerField()
    name = models.TextField()  # its path inside the uploaded folder
    size = models.BigIntegerField()
    refused = models.TextField(default="")  # why it is not imported; "" if it is

    class Meta:
        constraints = [models.UniqueConstraint(fields=["upload", "number"], name="upload_file_once")]

    def __str__(self) -> str:
        return self.name


class Addition(models.Model):
    """These are observations of an upload that wait until the worker of a live source has added them to the source."""

    pk = models.CompositePrimaryKey("source", "upload", "number")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    upload = models.ForeignKey(Upload, models.CASCADE)
    number = models.IntegerField()  # within the upload, from 0
    lines = models.BinaryField()

    def __str__(self) -> str:
        return f"part {self.number} of upload {self.upload_id}"
