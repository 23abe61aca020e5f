"""This module declares tables for signing in and for metrics. Those about clusters and recordings are in
`timeline.models`."""

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


class ProcessFigures(models.Model):
    """A row holds what one process has measured since it began (see `dashboard.metrics.processes`)."""

    process = models.CharField(max_length=32, primary_key=True)
    kind = models.TextField()  # "web", "worker", "import", or "past" for the sum of ended processes
    reported = models.DateTimeField()
    figures = models.JSONField()  # [[name, [[label, its value]], value]]

    def __str__(self) -> str:
        return f"{self.kind} {self.process}"


class AccessToken(models.Model):
    """A row admits a program that sends the token's text, of which only the digest is stored (see
    `dashboard.access.tokens`). A token that is limited to a cluster or a recording is deleted with it."""

    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=16)  # how the text begins, to recognise it
    digest = models.CharField(max_length=64, unique=True)  # SHA-256 of the text, in hexadecimal digits
    scopes = models.JSONField()  # some of `tokens.SCOPES`
    cluster = models.ForeignKey("timeline.Cluster", models.CASCADE, null=True, related_name="+")
    source = models.ForeignKey("timeline.Source", models.CASCADE, null=True, related_name="+")
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
