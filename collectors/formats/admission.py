"""Read AdmissionReviews, as a webhook that logs what it is asked writes them.

They are JSON documents on lines or not, or an array of them, each with the request, the answer, or both. What a review
proves is in collectors/normalise/admission.py.
"""

from collections.abc import Iterator

from collectors.formats import Format
from collectors.formats.json_items import items, outline
from collectors.formats.json_stream import Item
from collectors.formats.stream import Recording, Skipped
from collectors.gate import reason_of
from collectors.normalise.admission import AdmissionRequest, AdmissionResponse, attempt, review_of, stored
from timeline.core.bounds import FAULTS
from timeline.core.entries import Observation, Place

_WAITING = 1_000  # requests that wait for their answers; a webhook has to answer within 30 seconds
_NO_REQUEST = "it is the answer to a request that does not stand before it in the file"


def sniff(head: bytes) -> bool:
    """Return whether a head has AdmissionReviews."""
    places = outline(head)
    return any(
        places.get((*before, "apiVersion"), b"").startswith(b'"admission.k8s.io/')
        and b'"AdmissionReview"' in places.get((*before, "kind"), b'"AdmissionReview"')  # the head may end before it
        and not places.keys().isdisjoint({(*before, "request"), (*before, "response")})
        for before in ((), ("*",))
    )


def read(recording: Recording, bodies: bool) -> Iterator[Observation | Skipped]:
    """Yield the objects before each request, the requests with their answers, and what was skipped."""
    pattern = ("*",) if ("*",) in outline(recording.head()) else ()
    reviews = _Reviews(recording.name, bodies)
    for item in items(recording, pattern):
        if isinstance(item, Skipped):
            yield item
            continue
        try:
            yield from reviews.observations(item)
        except FAULTS as error:
            yield Skipped(recording.name, item.line, reason_of(error))
    yield from reviews.unanswered()


class _Reviews:
    """Join the requests of one file with their answers."""

    def __init__(self, file: str, bodies: bool) -> None:
        self._file = file
        self._bodies = bodies
        self._waiting: dict[str, tuple[AdmissionRequest, Place]] = {}  # UID of a request -> the request, and its place

    def observations(self, item: Item) -> Iterator[Observation | Skipped]:
        """Yield what a review proves. Raise ValueError if it cannot be used."""
        review = review_of(item.data)
        place = Place(self._file, item.line)
        if request := review.request:
            if entry := stored(request, place, bodies=self._bodies):
                yield entry
            if review.response:
                yield from self._attempt(request, place, review.response)
                return
            if request.uid in self._waiting or len(self._waiting) == _WAITING:
                oldest = request.uid if request.uid in self._waiting else next(iter(self._waiting))
                yield from self._attempt(*self._waiting.pop(oldest), None)
            self._waiting[request.uid] = request, place
        elif review.response:
            waiting = self._waiting.pop(review.response.uid, None)
            if waiting is None:
                raise ValueError(_NO_REQUEST)
            yield from self._attempt(*waiting, review.response)

    def unanswered(self) -> Iterator[Observation | Skipped]:
        """Yield the requests that still wait, at the end of the file."""
        for request, place in self._waiting.values():
            yield from self._attempt(request, place, None)

    def _attempt(
        self, request: AdmissionRequest, place: Place, response: AdmissionResponse | None
    ) -> Iterator[Observation | Skipped]:
        try:
            if asked := attempt(request, place, response=response):
                yield asked
        except FAULTS as error:
            yield Skipped(self._file, place.line, reason_of(error))


FORMAT = Format("AdmissionReviews of a webhook", sniff, read)
