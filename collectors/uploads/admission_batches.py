"""Store what the admission webhook was asked, in batches."""

from collections.abc import Sequence
from uuid import uuid4

from collectors import readers
from collectors.formats import Limits, admission_webhook
from timeline.models import Way
from timeline.storage.entries import inbox


def store(cluster_id: int, bodies: Sequence[tuple[int, bytes]], dropped: int, limits: Limits, most: int) -> None:
    """Store reviews of the writes of a cluster, each with when it arrived in microseconds since 1970. `dropped` says
    how many more were answered. Raise inbox.NotWatched and inbox.Full; then nothing is stored."""
    read = admission_webhook.read(iter(()), (), limits)
    try:
        if bodies:
            read = readers.call(admission_webhook.read, (body for _, body in bodies), [at for at, _ in bodies], limits)
    except readers.Died:
        read = read._replace(unread=len(bodies))
    if not read.identities and not read.unread and not dropped:
        return
    arrived = f"{bodies[0][0]} {len(bodies)}" if bodies else uuid4().hex  # what was dropped is never the same again
    digest = inbox.digest_of([*read.identities, arrived])
    batch = inbox.Batch(digest, read.lines, len(read.identities), read.unread, dropped)
    inbox.accept(cluster_id, Way.ADMISSION, batch, most)
