"""The table of who failed to sign in; what Causeline knows of clusters stands in `timeline.models`."""

from django.db import models


class FailedSignIns(models.Model):
    """How often a name was tried in vain from one address, or, where `name` is empty, any name from it."""

    name = models.CharField(max_length=64)  # a hash: people type passwords where the name belongs
    address = models.TextField()
    count = models.IntegerField(default=0)
    last = models.DateTimeField()
    locked_until = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["name", "address"], name="failed_sign_ins_once")]

    def __str__(self) -> str:
        return f"{self.count} from {self.address}"
