"""Divide the requests that one thing refused into outages, and let findings state one. It does no I/O."""

from collections.abc import Iterable, Iterator, Sequence

from timeline.core.durations import Length
from timeline.core.entries import Level, Request
from timeline.history.lifelines import Name
from timeline.judging.cleanup import MOST
from timeline.judging.coverage.lines import LinkNeeds, line, need
from timeline.judging.findings import Link, Part, Proof, Root
from timeline.judging.requests import moment_of

REFUSED = LinkNeeds(
    "refused-writes",
    "One outage of what refuses writes",
    "what was refused while a webhook, a quota, a budget or a kind could not be used",
    needs=(
        need(
            line(verbs="vain", level=Level.METADATA, sent=True), line(verbs="conflict", level=Level.METADATA, sent=True)
        ),
    ),
)


def outages(refused: Iterable[Request], apart: int) -> Iterator[list[Request]]:
    """Yield the refused requests, which are in order of time, outage by outage: a request that came more than `apart`
    microseconds after the one before it begins the next outage."""
    outage: list[Request] = []
    for each in refused:
        if outage and each.received - outage[-1].received > apart:
            yield outage
            outage = []
        outage.append(each)
    if outage:
        yield outage


def lasted(outage: Sequence[Request]) -> Length:
    """Return how long requests were refused: at least from the first to the last one."""
    span = outage[-1].received - outage[0].received
    return Length(span, span)


def shown(outage: Sequence[Request], role: str) -> list[Proof]:
    """Return the first and the last of the refused requests as events of a proof."""
    ends = outage[:1] if len(outage) == 1 else [outage[0], outage[-1]]
    words = [role] if len(ends) == 1 else [f"first {role}", f"last {role}"]
    return [Proof(word, each.ref, moment_of(each), Part.ACT) for word, each in zip(words, ends, strict=True)]


def acts(outage: Sequence[Request]) -> tuple[Proof, ...]:
    """Return the refused requests, of very many only the first ones."""
    return tuple(Proof("refused", each.ref, moment_of(each), Part.ACT) for each in outage[:MOST])


def link(refuser: Name, outage: Sequence[Request]) -> Link:
    """Return what connects everything that one outage of a webhook, a budget, a quota or a kind has caused."""
    key = "\n".join(("refused", *refuser, outage[0].identity or str(outage[0].received)))
    return Link(Root.REFUSAL, key, tuple(refuser), outage[0].received, outage[-1].received)


def writes(outage: Sequence[Request]) -> str:
    """Return how many writes were refused, in words."""
    return f"{len(outage)} writes were refused" if len(outage) > 1 else "one write was refused"
