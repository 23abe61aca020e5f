"""Declare tables for signing in, metrics, and what is sent on. Those about clusters and recordings are in
`timeline.models`."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.sessions.models import Session
from django.db import models


class FailedSignIns(models.Model):
    """A row counts the failures to sign in with one name from one address, or with any name if `name` is empty."""

    name = models.CharField(max_length=64)  # a hash, because people may type a password into the field of the name
    address = models.TextField()
    count = models.IntegerField(default=0)
    last = models.DateTimeField()
    locked_until = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["name", "address"], name="failed_sign_ins_once")]

    def __str__(self) -> str:
        return f"{self.count} from {self.address}"


class SignIn(models.Model):
    """A row says of a session of somebody with an account where it was begun, and when it was used last."""

    # Without a constraint, because an older version that runs beside this one deletes sessions and not these rows.
    session = models.OneToOneField(Session, models.CASCADE, db_constraint=False, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    way = models.TextField()  # `sessions.PASSWORD`, `TOTP` or `OIDC`
    address = models.TextField()  # of the last use
    agent = models.TextField()  # what the browser says that it is
    began = models.DateTimeField(auto_now_add=True)
    last_used = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.user} from {self.address}"


class ProcessFigures(models.Model):
    """A row holds what one process has measured since it began (see `dashboard.metrics.processes`)."""

    process = models.CharField(max_length=32, primary_key=True)
    kind = models.TextField()  # "web", "worker", "import", or "past" for the sum of ended processes
    reported = models.DateTimeField()
    figures = models.JSONField()  # [[name, [[label, its value]], value]]

    def __str__(self) -> str:
        return f"{self.kind} {self.process}"


class AccessToken(models.Model):
    """A row admits a program that sends the token's text. Only the digest of the text is stored (see
    `dashboard.access.tokens.tokens`). A token that is limited to a cluster or a recording is deleted with it."""

    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=16)  # how the text begins, to recognise it
    digest = models.CharField(max_length=64, unique=True)  # SHA-256 of the text, in hexadecimal digits
    scopes = models.JSONField()  # some of `tokens.SCOPES`
    cluster = models.ForeignKey("timeline.Cluster", models.CASCADE, null=True, related_name="+")
    source = models.ForeignKey("timeline.Source", models.CASCADE, null=True, related_name="+")
    # Whose rights it has; none for the token of a program. Without a constraint, because an older version that runs
    # beside this one deletes people and not these rows.
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, db_constraint=False, related_name="+"
    )
    created_by = models.TextField()  # a user's name, or how somebody without an account came in
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField()
    last_used = models.DateTimeField(null=True)  # written at most once a minute

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(cluster=None) | models.Q(source=None), name="token_is_limited_once"
            )
        ]
        indexes = [models.Index(fields=["prefix"], name="access_token_prefix")]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class ShareLink(models.Model):
    """A row lets whoever has its text read one timeline or one incident (see `dashboard.access.tokens.links`). Only the
    digest of the text is stored. The row is deleted when somebody revokes the link, and with its source and its
    maker."""

    class Kind(models.TextChoices):
        TIMELINE = "timeline"
        INCIDENT = "incident"
        EMBEDDED = "embedded"  # a timeline in a frame of another site

    kind = models.CharField(max_length=8, choices=Kind)
    # Without constraints, because an older version that runs beside this one deletes sources and people alone.
    source = models.ForeignKey("timeline.Source", models.CASCADE, db_constraint=False, related_name="+")
    incident = models.CharField(max_length=16, default="")  # Incident.identity
    query = models.TextField(default="")  # with which the timeline opens: its range, focus and filters
    prefix = models.CharField(max_length=21)  # how the text begins, to recognise it
    digest = models.CharField(max_length=64, unique=True)  # SHA-256 of the text, in hexadecimal digits
    maker = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, db_constraint=False, related_name="+"
    )
    created_by = models.TextField()  # a user's name, or how somebody without an account came in
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField()
    used = models.IntegerField(default=0)  # how often its page was opened
    last_used = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.kind} {self.prefix}…"


class Grant(models.Model):
    """A row gives a role to one person or to one group: on everything, on one cluster or recording, or on some
    namespaces of it. It is deleted with the person, the group, the cluster or the recording."""

    class Role(models.TextChoices):
        VIEWER = "viewer"  # sees
        RESPONDER = "responder"  # also acknowledges, silences, sets baselines and uploads
        EDITOR = "editor"  # also connects clusters and edits routes
        ADMIN = "admin"  # also gives roles and makes tokens for programs

    role = models.CharField(max_length=9, choices=Role)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="grants")
    group = models.ForeignKey("auth.Group", models.CASCADE, null=True, related_name="grants")
    cluster = models.ForeignKey("timeline.Cluster", models.CASCADE, null=True, related_name="+")
    source = models.ForeignKey("timeline.Source", models.CASCADE, null=True, related_name="+")  # a recording
    namespaces = ArrayField(models.TextField(), default=list)  # empty for the whole of it
    created_by = models.TextField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(user=None, group__isnull=False) | models.Q(user__isnull=False, group=None),
                name="grant_is_for_one",
            ),
            models.CheckConstraint(
                condition=models.Q(cluster=None) | models.Q(source=None), name="grant_is_on_one_thing"
            ),
            models.CheckConstraint(
                condition=models.Q(namespaces=[])
                | (
                    models.Q(role__in=["viewer", "responder"])
                    & (models.Q(cluster__isnull=False) | models.Q(source__isnull=False))
                ),
                name="grant_on_namespaces",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.role} for {self.user or self.group}"


class AuditRecord(models.Model):
    """A row says that somebody did something in Causeline (see `dashboard.access.trail.trail`). It is never changed,
    and only deleted when it is old; the database refuses both. Nothing is referred to by a foreign key, so that a
    record stays when what it is about is deleted."""

    at = models.DateTimeField()  # by the database's clock
    action = models.CharField(max_length=64)  # one of `actions.ACTIONS`
    who = models.TextField()  # a user's name, that of a token, or "" for somebody who is not known
    way = models.CharField(max_length=16)  # how they came in: one of `trail.WAYS`
    account = models.BigIntegerField(null=True)  # User.id
    role = models.CharField(max_length=16)  # at the time; "" if nobody was signed in
    source = models.BigIntegerField(null=True)  # Source.id
    cluster = models.BigIntegerField(null=True)  # Cluster.id
    thing = models.TextField()  # what exactly, such as "incident 3f2a9c01d4e5b6a7"
    name = models.TextField()  # of the source, the cluster or the thing at the time
    address = models.TextField()
    request = models.CharField(max_length=64)  # the id that is also in the log and in X-Request-ID
    outcome = models.CharField(max_length=7)  # "done", "refused" or "failed"
    status = models.SmallIntegerField(null=True)  # of the HTTP answer
    details = models.JSONField()  # {name: text or number}
    once = models.BinaryField(null=True, unique=True)  # a hash that keeps repeated reading to one row

    class Meta:
        indexes = [
            models.Index(fields=["at"], name="audit_at"),
            models.Index(fields=["who", "-id"], name="audit_who"),
            models.Index(fields=["action", "-id"], name="audit_action"),
            models.Index(fields=["source", "-id"], name="audit_source"),
            models.Index(fields=["cluster", "-id"], name="audit_cluster"),
            models.Index(fields=["name", "-id"], name="audit_name"),
        ]

    def __str__(self) -> str:
        return f"{self.who}: {self.action} {self.thing}"


class Destination(models.Model):
    """Messages are sent there. What is secret of its address is encrypted (see `dashboard.access.encryption`).

    Only one process sends to it at a time: the one that `holder` names until `busy_until`, by the database's clock.
    """

    name = models.CharField(max_length=100, unique=True)
    kind = models.TextField()  # the NAME of a module of `dashboard.alerting.destinations`
    sealed = models.BinaryField()
    shown = models.JSONField(default=dict)  # the values that are not secret, by field
    created = models.DateTimeField(auto_now_add=True)
    failures = models.IntegerField(default=0)  # attempts since the last one that it answered
    failing_since = models.DateTimeField(null=True)
    retry_at = models.DateTimeField(null=True)  # nothing is sent before
    busy_until = models.DateTimeField(null=True)
    holder = models.TextField(default="")

    def __str__(self) -> str:
        return self.name


class Route(models.Model):
    """A route tells its destinations which incidents began, got worse, or are over. Empty matchers match all."""

    name = models.CharField(max_length=100, unique=True)
    place = models.IntegerField()  # in the order in which routes are asked
    enabled = models.BooleanField(default=True)
    since = models.DateTimeField()  # when it was made, or enabled last
    destinations = models.ManyToManyField(Destination, related_name="routes")
    cluster = models.ForeignKey("timeline.Cluster", models.CASCADE, null=True, related_name="+")
    source = models.ForeignKey("timeline.Source", models.CASCADE, null=True, related_name="+")  # a recording
    rank = models.SmallIntegerField(default=1)  # of the least severity: 0 error, 1 warning, 2 info
    rule = models.TextField(default="")
    namespace = models.TextField(default="")
    owner = models.TextField(default="")  # the name of the anchor; * stands for any characters, ? for one
    changes = ArrayField(models.TextField())  # of "began", "worse" and "over"
    recordings = models.BooleanField(default=False)  # whether incidents of recordings are sent, too
    stop = models.BooleanField(default=False)  # what it takes is not sent by the routes after it
    grouping = ArrayField(models.TextField())  # of "source", "rule", "namespace" and "owner"
    wait_seconds = models.IntegerField(default=30)
    repeat_minutes = models.IntegerField(default=240)
    quiet_days = ArrayField(models.SmallIntegerField(), default=list)  # 0 is Monday; none for no quiet hours
    quiet_from = models.TimeField(null=True)
    quiet_until = models.TimeField(null=True)
    quiet_zone = models.TextField(default="UTC")  # as in the time zone database: Europe/Berlin
    by = models.TextField(default="")  # a user's name; "" if nobody has to sign in

    def __str__(self) -> str:
        return self.name


class RouteState(models.Model):
    """What a route knows of an incident, and what it has sent of it (see `alerting.routing.State`)."""

    pk = models.CompositePrimaryKey("source", "route", "identity")
    # Without a constraint, because an import that adds to a source locks its row, and telling must not wait for that.
    # It stays when the source is deleted, so that what goes on can still be sent as over.
    source = models.ForeignKey(
        "timeline.Source", models.DO_NOTHING, db_index=False, db_constraint=False, related_name="+"
    )
    route = models.ForeignKey(Route, models.CASCADE)
    identity = models.CharField(max_length=16)  # Incident.identity
    rank = models.SmallIntegerField()
    since = models.DateTimeField()
    group = ArrayField(models.TextField())
    pending = models.TextField(default="")
    begun = models.BooleanField(default=False)
    notified = models.DateTimeField(null=True, db_column="told")  # when a message about it was written last
    refreshed = models.DateTimeField(null=True)
    last = models.DateTimeField(null=True)
    message = models.JSONField(default=dict)  # what was sent last, for when the incident is gone

    class Meta:
        db_table = "dashboard_told"
        indexes = [
            models.Index(fields=["route"], condition=models.Q(begun=True) | ~models.Q(pending=""), name="told_active")
        ]

    def __str__(self) -> str:
        return f"{self.identity} by {self.route_id}"


class Delivery(models.Model):
    """Some messages for one destination. The row is written before anything is sent, and stays for a month."""

    class State(models.TextChoices):
        WAITING = "waiting"
        SENT = "sent"
        REFUSED = "refused"  # the other side will never take it
        EXPIRED = "expired"  # the destination did not take it for a day

    destination = models.ForeignKey(Destination, models.CASCADE)
    route = models.ForeignKey(Route, models.SET_NULL, null=True)
    key = models.CharField(max_length=32, unique=True)  # the same in every attempt
    group = models.TextField()  # deliveries of one group are sent in order
    refresh = models.BooleanField(default=False)  # only what goes on, for a destination that would forget it
    messages = models.JSONField()
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    created = models.DateTimeField(auto_now_add=True)
    expires = models.DateTimeField()
    attempts = models.IntegerField(default=0)
    next_at = models.DateTimeField()
    answer = models.TextField(default="")  # what the other side answered last, or why it could not be reached
    ended = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["destination", "next_at"], condition=models.Q(state="waiting"), name="delivery_waiting"
            ),
            models.Index(fields=["-id"], name="delivery_newest"),
            models.Index(fields=["ended"], name="delivery_ended"),
        ]

    def __str__(self) -> str:
        return f"{self.key} to {self.destination_id}: {self.state}"
