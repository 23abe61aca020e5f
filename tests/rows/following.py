"""This module commits the entries of a recording to a live source, batch by batch."""

from collections.abc import Sequence
from datetime import UTC, datetime

from django.db.models import F

from collectors.watch.storing.adding import add_batches, add_part
from collectors.watch.storing.makers import Makers
from timeline import pipeline
from timeline.core.entries import Observation
from timeline.history.world.world import World
from timeline.models import Cluster, Delta, Source
from timeline.storage import live, notify
from timeline.storage.entries import additions


class Followed:
    """This class is the source of a cluster whose lease a worker holds."""

    def __init__(self, name: str = "prod") -> None:
        self.cluster = Cluster.objects.create(name=name, state="live", expires_at=datetime(2100, 1, 1, tzinfo=UTC))
        self._live = live.open_again(live.begin(self.cluster))
        self.source = self._live.source

    def commit(self, batch: Sequence[Observation]) -> int:
        """Commit a batch and return the sequence of the commit."""
        return pipeline.follow(self._live, batch).sequence

    def add(self) -> None:
        """Add what waits of audit logs."""
        while part := additions.first_part(self.source):
            add_part(self._live, part, lambda: None)
        while add_batches(self._live, lambda: None):
            pass

    def follow_admitted(self, batch: Sequence[Observation]) -> None:
        """Commit a batch, and who made its changes as far as an admission webhook says it."""
        found = Makers(self._live)
        found.name(lambda: None)  # from the first batch on, changes are noted
        self.commit(batch)
        found.note(batch)
        found.name(lambda: None)

    @property
    def world(self) -> World:
        return self._live.world

    def go_on(self, source: Source) -> None:
        """Go on with a source that has just begun."""
        self._live = live.open_again(source)
        self.source = self._live.source

    def forget_with_the_next_commit(self) -> None:
        self._live.snapshot_with_next_batch()

    def tell(self) -> int:
        """Make a commit that changes nothing, and return its sequence."""
        Source.objects.filter(pk=self.source.pk).update(sequence=F("sequence") + 1)
        self.source.refresh_from_db()
        sequence = self.source.sequence
        Delta.objects.create(source=self.source, sequence=sequence, at=datetime.now(UTC), changed={"tracks": []})
        notify.notify(source=self.source.pk, sequence=sequence)
        return sequence
