"""This module stores what the admission webhook was asked, in batches."""

from collections.abc import Sequence
from uuid import uuid4

from collectors.normalise.admission import review_of as parsed
from collectors.normalise.reviews import Review, line_of, review_of
from timeline.history.packing import ENTRIES, Packer
from timeline.models import Way
from timeline.storage import inbox


def store(cluster_id: int, bodies: Sequence[tuple[int, bytes]], dropped: int, most: int) -> None:
    """Store reviews of the writes of a cluster, each with when it arrived in microseconds since 1970. `dropped` says
    how many more were answered. Raise inbox.NotWatched and inbox.Full; then nothing is stored."""
    reviews, unread = [], 0
    for at, body in bodies:
        try:
            review = read(body, at)
        except (ValueError, RecursionError):
            unread += 1
            continue
        if review:
            reviews.append(review)
    if not reviews and not unread and not dropped:
        return
    lines = Packer(ENTRIES).pack(b"\n".join(map(line_of, reviews)))
    arrived = f"{bodies[0][0]} {len(bodies)}" if bodies else uuid4().hex  # what was dropped is never the same again
    digest = inbox.digest_of([*(each.id for each in reviews), arrived])
    inbox.accept(cluster_id, Way.ADMISSION, inbox.Batch(digest, lines, len(reviews), unread, dropped), most)


def read(body: bytes, at: int) -> Review | None:
    """Return what a request to the webhook says. Raise ValueError if it cannot be read."""
    asked = parsed(body).request
    return review_of(asked, at) if asked else None
