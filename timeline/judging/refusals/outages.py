"""Divide the requests that one thing refused into outages, and let findings state one. It does no I/O."""

from collections.abc import Callable, Iterable, Iterator, Sequence

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
    """Return how long requests were refused: at least from the first to the last one; 0 of none."""
    span = outage[-1].received - outage[0].received if outage else 0
    return Length(span, span)


def shown(outage: Sequence[Request], role: str | Callable[[Request], str]) -> list[Proof]:
    """Return the first and the last of the refused requests as events of a proof, all in one role or each in its
    own."""
    ends = outage[:1] if len(outage) == 1 else [outage[0], outage[-1]]
    words = [""] if len(ends) == 1 else ["first ", "last "]
    roles = [word + (role if isinstance(role, str) else role(each)) for word, each in zip(words, ends, strict=True)]
    return [Proof(each, end.ref, moment_of(end), Part.ACT) for each, end in zip(roles, ends, strict=True)]


def acts(outage: Sequence[Request]) -> tuple[Proof, ...]:
    """Return the refused requests, of very many only the first ones."""
    return tuple(Proof("refused", each.ref, moment_of(each), Part.ACT) for each in outage[:MOST])


def link(refuser: Name, outage: Sequence[Request]) -> Link:
    """Return what connects everything that one outage of a webhook, a budget, a quota or a kind has caused."""
    key = "\n".join(("refused", *refuser, outage[0].identity or str(outage[0].received)))
    return Link(Root.REFUSAL, key, tuple(refuser), outage[0].received, outage[-1].received)


def writes(outage: Sequence[Request]) -> str:
    """Return how many writes were refused, and how many let through although a webhook could not be asked, in words."""
    refused = sum(each.refused for each in outage)
    words = [f"{refused} writes were refused" if refused > 1 else "one write was refused"] if refused else []
    if let := len(outage) - refused:
        words.append(f"{let} writes were let through unchecked" if let > 1 else "one write was let through unchecked")
    return " and ".join(words)
