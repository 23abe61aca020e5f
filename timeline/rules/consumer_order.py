"""A program that dropped the endpoints of a Service because it did not know the Service yet.

## What it sees

The log of a kube-vip shows that it handled usable endpoints of a Service before the Service was in its table, that it
did nothing with them, and that it has not announced the Service since.

## Why it matters

The Service can serve, and its address is set, but nobody announces the address on the network. The program waits for
the next change of the endpoints, which may never come: kube-vip came back to such a Service when its watch was opened
again, half an hour to an hour later (kube-vip/kube-vip#1092).

## Proof

The line of the log that shows the endpoints being handled without effect, and the later line that shows that the
program now knew the Service. Both were written by one process, in this order. No later line of this process announces
the Service, for at least 5 s.

## Looks alike but is benign

- A Service without a usable endpoint, such as `externalTrafficPolicy: Local` without an endpoint on the node.
- A Service that the program has to ignore (`kube-vip.io/ignore`), or whose class it does not serve.
- A program that knew the Service before its endpoints: then it had another reason to do nothing.
- A kube-vip that uses neither BGP nor routing tables: it does not announce a Service because of its endpoints.
- A Service that was announced later, or that was deleted, or a process that ended soon after.
- A program that does not say in its log that it knew the Service at last.
- A log that begins after the program was started: what is missing may have been written before.

## What to do

Touch the EndpointSlice of the Service, or restart the Pod that should announce it. Upgrade kube-vip to v0.9.1 or later.
The lines that prove this are of level debug (`vip_loglevel` 5); a log without them cannot show it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from timeline.core.actors import KIND
from timeline.core.durations import Length
from timeline.core.entries import Change, Clock, Entry, LogLine, ObjectRef
from timeline.core.order import SECOND
from timeline.history.lifelines import Moment, Name, Track
from timeline.history.world.world import World
from timeline.judging.advice import kubectl, touch_endpoints
from timeline.judging.coverage.lines import log_of, need
from timeline.judging.endpoints.consumers import KUBE_VIP, runs
from timeline.judging.findings import Effect, Finding, Occurrence, Proof, longest, occurrence
from timeline.judging.rulebook import rule, setting
from timeline.judging.verdicts import Verdict

WAIT = setting("consumer-order", "wait", 5, "s", "How long a program must have done nothing for a Service.")

_QUOTED = 160  # characters of a line that are quoted


class _Overlooked(NamedTuple):
    """One run in which a Service was overlooked."""

    handled: LogLine
    known: LogLine
    idle: int  # µs for which it has done nothing since
    goes_on: bool  # whether the log ends without saying that the Service was announced, or no longer had to be


def _untracked(world: World) -> Iterator[Finding]:
    """Yield the findings about Services that only a log shows."""
    for name, overlooked in _overlooked(world).items():
        if not world.incarnations(name):
            yield _finding(ObjectRef("", "v1", name.kind, name.namespace, name.name), overlooked)


@rule(
    "consumer-order",
    judges=("Service",),
    recordings=True,
    untracked=_untracked,
    needs=(need(log_of("kube-vip")),),
    incident="{anchor} was overlooked by the program that announces it{times}",
    harm="{anchors} not announced",
)
def judge(service: Track, world: World) -> Iterator[Finding]:
    if world.live:
        return  # only recordings have logs
    lives = world.incarnations(service.name)
    overlooked = [
        each
        for each in _overlooked(world).get(service.name, ())
        if _life_at(lives, each.handled.time) is service and not _ignored(service, each.handled.time)
    ]
    if service.asked_to_end is not None:
        overlooked = [each._replace(goes_on=False) for each in overlooked]
    if overlooked:
        yield _finding(service.ref, overlooked)


def _ignored(service: Track, time: int) -> bool:
    """Return whether a Service was to be ignored at a time; before it was first observed, whether it was then."""
    facts = service.facts_at(time) or service.moments[0].facts
    return facts is not None and facts.ignored


def _overlooked(world: World) -> dict[Name, list[_Overlooked]]:
    return world.once("consumer-order", lambda: _find(world))


def _find(world: World) -> dict[Name, list[_Overlooked]]:
    found: dict[Name, list[_Overlooked]] = {}
    for name, of_name in sorted(runs(world).items()):
        for run in sorted(of_name, key=lambda each: -each.until):  # of a log that was read twice, the longer
            if (seen := run.overlooked) and seen[2] - _within(seen[0]) >= WAIT.microseconds:
                of_service = found.setdefault(name, [])
                if seen[0].time not in (each.handled.time for each in of_service):
                    later = any(each.until > run.until for each in of_name)
                    of_service.append(_Overlooked(*seen, goes_on=not run.ended and not later))
    return found


def _within(line: LogLine) -> int:
    """Return by how many microseconds the time of a line may be too early, since most logs have only whole seconds."""
    return SECOND - 1 if line.time % SECOND == 0 else 0


def _life_at(lives: Sequence[Track], time: int) -> Track:
    """Return the incarnation that the line of a log is about: the last that began by its time, else the first."""
    return next((life for life in reversed(lives) if life.first.time <= time), lives[0])


def _finding(ref: ObjectRef, overlooked: Sequence[_Overlooked]) -> Finding:
    occurrences = tuple(sorted((_occurrence(ref, each) for each in overlooked), key=lambda each: each.first))
    return Finding(
        rule="consumer-order",
        subject=ref,
        other=ObjectRef("", "", KIND, "", KUBE_VIP),
        anchor=Name("", ref.kind, ref.namespace, ref.name),
        verdict=Verdict.EXACT,
        summary=f"{KUBE_VIP} handled the endpoints of Service {ref.name} before it knew the Service, and dropped them",
        occurrences=occurrences,
        measured=longest(occurrences),
        advice=(
            f"Look: does the Service still have no address? {kubectl(ref.namespace, 'get service {}', ref.name)}",
            touch_endpoints(ref),
            f"Prevent: upgrade {KUBE_VIP} to v0.9.1 or later.",
            f"Verify: the log of {KUBE_VIP} says that it announces the Service.",
        ),
    )


def _occurrence(ref: ObjectRef, each: _Overlooked) -> Occurrence:
    handled, known = each.handled, each.known
    idle = Length(each.idle - _within(handled), None)
    return occurrence(
        Proof(f"{KUBE_VIP} handled its endpoints and did nothing", ref, _moment(handled, ref)),
        Proof(f"{KUBE_VIP} knew the Service", ref, _moment(known, ref)),
        headline=f"{KUBE_VIP} did not know {{subjects}} yet when it handled the endpoints, and did nothing with them "
        f"for {idle}",
        plural="Services",
        why="Exact: one process wrote both lines, in this order, into one log. The times are those of this log. "
        f"The lines: {_quoted(handled)}, then {_quoted(known)}.",
        effect=(Effect.POSSIBLE, "no line of the log says that the Service was announced"),
        last=handled.time + each.idle,
        interval=idle,
        open=each.goes_on,
    )


def _quoted(line: LogLine) -> str:
    return f"“{line.text[:_QUOTED]}{'…' if len(line.text) > _QUOTED else ''}”"


def _moment(line: LogLine, ref: ObjectRef) -> Moment:
    """Return a line of a log in the form of the events that prove a finding. It is in no lifeline."""
    entry = Entry(ref, Change.OBSERVED, None, Clock.OBJECT, line.time, line.time + _within(line), place=line.place)
    return Moment(line.time, None, entry, (line.time, line.place.line if line.place else 0))
