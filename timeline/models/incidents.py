"""Declare the tables of findings and incidents, and of what people say of them."""

from collections.abc import Iterable

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from timeline.models.sources import Cluster, Source

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
    occurrences = models.JSONField()  # its occurrences, each as `payloads.incidents.occurrences.occurrence` returns it
    withdrawn = models.BooleanField(default=False)  # later observations have explained it, so it is not listed
    # Incident.identity of the incident of its first occurrence; "" until this version has judged it.
    incident = models.CharField(max_length=16, default="")
    # The incident of each occurrence, in their order, if they belong to several; else null.
    incidents = ArrayField(models.CharField(max_length=16), null=True)
    anchor = ArrayField(models.TextField(), default=list)  # of its symptom: group, kind, namespace and name
    # What connects its occurrences with others (see `storage.judged.stored.pieces`); null if nothing does.
    pieces = models.JSONField(null=True)
    # Of all objects that it names, "" for those of the cluster. Null, until this version has written it: it is hidden
    # from readers of some namespaces.
    namespaces = ArrayField(models.TextField(), null=True)
    # What readers of the subject's namespace see of it, if they may not see all of these (see
    # `payloads.incidents.in_part`).
    part = models.JSONField(null=True)

    class Meta:
        indexes = [
            models.Index("source", "incident", FINDING_RANK, "first", "identity", name="finding_gravest"),
            models.Index(fields=["source", "first", "identity"], name="finding_first"),
            GinIndex(fields=["tracks"], name="finding_tracks"),
            GinIndex(fields=["incidents"], name="finding_incidents", condition=models.Q(incidents__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.rule} {self.identity}"

    @staticmethod
    def of_incidents(identities: Iterable[str]) -> models.Q:
        """Return the condition for findings with an occurrence in one of these incidents."""
        wanted = list(identities)
        return models.Q(incident__in=wanted) | models.Q(incidents__overlap=wanted)


class Incident(models.Model):
    """An incident is what one cause did, each time it did it (see `timeline.judging.incidents.partition`).

    The rule, the anchor and the effect are those of its gravest symptom. The row is derived from its findings. Whether
    it is over is not stored, because it depends on the time of the question.
    """

    pk = models.CompositePrimaryKey("source", "identity")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    identity = models.CharField(max_length=16)
    rule = models.TextField()
    rules = ArrayField(models.TextField(), null=True)  # of all of its symptoms; null if an older version has written it
    rank = models.SmallIntegerField()  # of the worst severity of its findings: 0 error, 1 warning, 2 info
    status = models.TextField()  # suspected or confirmed
    group = models.TextField()  # of the anchor, as the next three
    kind = models.TextField()
    namespace = models.TextField()
    name = models.TextField()
    anchored_in = ArrayField(models.TextField(), null=True)  # the namespaces of the anchors of all of its symptoms
    title = models.TextField()
    root = models.TextField(default="", db_default="")  # what it begins with, in words; "" where nothing proves that
    symptoms = models.IntegerField(default=1, db_default=1)
    subjects = models.IntegerField()
    names = ArrayField(models.TextField())  # of the first subjects
    findings = models.IntegerField()
    occurrences = models.IntegerField()
    # The occurrences, or the objects that were too many. Of equally grave incidents, the one with more comes first.
    excess = models.IntegerField(default=0, db_default=0)
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
    namespaces = ArrayField(models.TextField(), null=True)  # of all of its findings: see `Finding.namespaces`

    class Meta:
        indexes = [
            models.Index(fields=["source", "rank", "-excess", "first", "identity"], name="incident_gravest"),
            models.Index(fields=["source", "-last", "rank", "identity"], name="incident_newest"),
        ]

    def __str__(self) -> str:
        return self.title


class Symptom(models.Model):
    """A symptom of an incident: all findings of it of one rule about one anchor (see
    `timeline.judging.incidents.subjects`). It would be an incident if nothing connected it with others."""

    pk = models.CompositePrimaryKey("source", "incident", "identity")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    incident = models.CharField(max_length=16)  # Incident.identity
    identity = models.CharField(max_length=16)  # made of rule and anchor; equal in several incidents of one source
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
    count = models.IntegerField()  # occurrences, or objects that were too many
    first = models.DateTimeField()
    last = models.DateTimeField()
    open = models.BooleanField()  # an occurrence still went on at the end of what the source shows
    effect = models.TextField()
    effect_text = models.TextField()
    actors = ArrayField(models.TextField())  # who wrote what the proofs show, the most frequent one first
    worst = models.CharField(max_length=16)  # Finding.identity of the gravest
    place = models.IntegerField()  # in its incident, from 0: the gravest comes first
    namespaces = ArrayField(models.TextField(), null=True)  # of all of its findings: see `Finding.namespaces`

    class Meta:
        indexes = [models.Index(fields=["source", "identity"], name="symptom_identity")]

    def __str__(self) -> str:
        return self.title


class SeparateSymptom(models.Model):
    """A person says that a symptom has not the same cause as the rest of an incident: it is an incident of its own."""

    pk = models.CompositePrimaryKey("source", "incident", "symptom")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    incident = models.CharField(max_length=16)  # Incident.identity of that from which it was taken
    symptom = models.CharField(max_length=16)  # Symptom.identity, which is the identity of the new incident
    by = models.TextField()  # a user's name; "" if nobody has to sign in
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        db_table = "timeline_separate_symptom"

    def __str__(self) -> str:
        return f"{self.symptom} is not {self.incident}"


class NoticedIncident(models.Model):
    """Something has happened to this incident, and the routes were not asked about it yet.

    The row is written in the transaction that writes the incident, and removed in the one that writes what is sent.
    """

    pk = models.CompositePrimaryKey("source", "identity")
    source = models.ForeignKey(Source, models.CASCADE, db_index=False)
    identity = models.CharField(max_length=16)  # Incident.identity
    at = models.DateTimeField()

    class Meta:
        db_table = "timeline_noticed_incident"
        indexes = [models.Index(fields=["at"], name="noticed_at")]

    def __str__(self) -> str:
        return self.identity


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
    namespaces = ArrayField(models.TextField(), null=True)  # of all of its findings: see `Finding.namespaces`

    class Meta:
        indexes = [
            models.Index(fields=["source", "rank", "first", "key"], name="occurrence_order"),
            models.Index(fields=["source", "first", "rank", "key"], name="occurrence_first"),
            models.Index(fields=["source", "-last", "rank", "key"], name="occurrence_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.rule} {self.key}"


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
    """An incident that was known when somebody set the baseline of its source. It is out of the lists until it gets
    worse: graver, or more frequent than twice its rate of the day before."""

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
