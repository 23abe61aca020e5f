"""Pure: what a rule is, and what it finds."""

import hashlib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import cache
from types import ModuleType

import msgspec

from timeline.entries import Change, Clock, ObjectRef
from timeline.lifelines import Moment, Name, Track
from timeline.order import by_revision, delay_bounds, precedes
from timeline.payloads import Severity
from timeline.world import World


class Verdict(StrEnum):
    """How sure the order of a finding is."""

    EXACT = "exact"  # both events carry a revision of one space, or one audit log orders them
    BOUNDED = "bounded"  # whole-second clocks at least a second apart
    INCONCLUSIVE = "inconclusive"  # no clock tells


class Status(StrEnum):
    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"
    WITHDRAWN = "withdrawn"


class Effect(StrEnum):
    """What harm is seen."""

    NONE = "none"
    POSSIBLE = "possible"
    OBSERVED = "observed"

    @property
    def severity(self) -> Severity:
        return _SEVERITY[self]


_SEVERITY: dict[Effect, Severity] = {Effect.NONE: "info", Effect.POSSIBLE: "warning", Effect.OBSERVED: "error"}


class Proof(msgspec.Struct, frozen=True, gc=False):
    """One event that proves a finding, and whose it is."""

    role: str
    ref: ObjectRef
    moment: Moment


class Occurrence(msgspec.Struct, frozen=True, kw_only=True):
    """Once that a violation happened. `first` and `last` are drawn times, microseconds; proof is in commit order."""

    first: int
    last: int
    headline: str  # the sentence for all whom it befell alike; {subjects} stands for "Pod a" or "3 running Pods"
    plural: str  # "running Pods"
    why: str
    effect: Effect
    effect_text: str  # {names} stands for their names
    proof: tuple[Proof, ...]
    arrow: str = ""  # drawn from the first proof to the last, with these words
    hole: str = ""  # drawn between the two, on the lane of the first

    @property
    def length(self) -> int:
        return self.last - self.first


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One violation, however often it happened."""

    rule: str
    subject: ObjectRef
    other: ObjectRef | None
    verdict: Verdict
    summary: str
    occurrences: tuple[Occurrence, ...]  # at least one, in order
    advice: tuple[str, ...]
    delay: int | None  # microseconds, drawn
    bounds: tuple[float, float] | None = None  # seconds
    affects: tuple[ObjectRef, ...] = ()
    count: int | None = None  # of what was found too many; None: of the occurrences
    status: Status = Status.CONFIRMED

    @property
    def worst(self) -> Occurrence:
        """The occurrence with the most harm; the longest of them."""
        harm = list(Effect)
        return max(self.occurrences, key=lambda each: (harm.index(each.effect), each.length, -each.first))

    @property
    def severity(self) -> Severity:
        return "info" if self.verdict is Verdict.INCONCLUSIVE else self.worst.effect.severity

    @property
    def id(self) -> str:
        """Stable: the same violation seen again, or counted on, keeps it."""
        return digest(self.rule, self.subject, f"{self.other.kind}/{self.other.name}" if self.other else "")


def digest(*parts: str | ObjectRef | None) -> str:
    """A short key of words and objects, the same in every process."""
    words = [
        "/".join((part.group, part.kind, part.namespace, part.name, part.uid))
        if isinstance(part, ObjectRef)
        else part or ""
        for part in parts
    ]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


Judge = Callable[[Track, World], Iterable[Finding]]


class Rule(msgspec.Struct, frozen=True):
    """A rule judges tracks of certain kinds from their lifelines and those they relate to."""

    id: str
    judges: tuple[str, ...]  # the kinds of track handed to it, qualified ("Pod", "Job.batch.volcano.sh"); () for all
    needs: tuple[str, ...]  # the kinds that a source has to show in full for it
    title: str
    page: str  # the docstring of its module: its page in the catalogue
    judge: Judge
    lists: bool = False  # what stands together in a list is enough for it; the others need an order
    times: bool = False  # it measures how long something took, so whole seconds leave its findings bounded


def rule(
    identity: str, *, judges: tuple[str, ...], needs: tuple[str, ...], lists: bool = False, times: bool = False
) -> Callable[[Judge], Judge]:
    """Enter a judge into the rulebook. Its module's docstring is its page; the first line is its title."""

    def enter(judge: Judge) -> Judge:
        module = inspect.getmodule(judge)
        page = inspect.cleandoc((module and module.__doc__) or "")
        _rules[identity] = Rule(identity, judges, needs, page.partition("\n")[0].rstrip("."), page, judge, lists, times)
        return judge

    return enter


_rules: dict[str, Rule] = {}


class Setting:
    """A threshold of a rule, which the operator may set. `value` is in its unit: seconds, or a count."""

    def __init__(self, rule: str, name: str, default: float, unit: str, meaning: str) -> None:
        self.rule = rule
        self.name = name
        self.default = default
        self.unit = unit
        self.meaning = meaning
        self.value = default

    @property
    def variable(self) -> str:
        """Of the environment: CAUSELINE_RULE_SERVICE_GAP_TEARDOWN."""
        return f"CAUSELINE_RULE_{self.rule}_{self.name}".upper().replace("-", "_")

    @property
    def microseconds(self) -> int:
        return round(self.value * 1e6)


def setting(rule: str, name: str, default: float, unit: str, meaning: str) -> Setting:
    """A rule's threshold under a name; `unit` is "s" or "" for a count."""
    found = Setting(rule, name, default, unit, meaning)
    settings[found.variable] = found
    return found


settings: dict[str, Setting] = {}
"""Every threshold by its variable; complete once the rules are loaded."""


@cache
def load(package: ModuleType) -> tuple[Rule, ...]:
    """Import every module of the package of rules; what they entered, by id."""
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return tuple(_rules[identity] for identity in sorted(_rules))


def order_of(a: Moment, b: Moment) -> Verdict | None:
    """How surely a was committed before b; None where b surely came first."""
    match precedes(a.stamp, b.stamp):
        case True if not dated(a) and not by_revision(a.stamp, b.stamp):
            return Verdict.INCONCLUSIVE  # it was committed at its time at the soonest
        case True:
            whole_seconds = Clock.OBJECT in (a.clock, b.clock)
            return Verdict.BOUNDED if whole_seconds and not by_revision(a.stamp, b.stamp) else Verdict.EXACT
        case False:
            return None
        case _:
            return Verdict.INCONCLUSIVE if a.time <= b.time else None


def dated(moment: Moment) -> bool:
    """Whether its time is near its commit. Of a later change, and of a deletion, an object that was watched tells only
    times before it, unless its managedFields name who made the change."""
    return moment.clock is Clock.AUDIT or moment.change is Change.CREATED or moment.user_agent != ""


def surely_live(track: Track, time: int, world: World) -> bool:
    """Whether no writes can be missing by which it had ended, finished or been asked to end at a drawn time."""
    later = next((each for each in track.moments if each.time > time and each.entry.facts is not None), None)
    if later and not getattr(later.facts, "terminal", False):
        leaving = later.facts.deleting or later.change is Change.DELETED
        if not leaving or later.facts.asked > time:  # it tells itself that it was asked later
            return True
    return world.gapless(track, time, time + 1)


def torn_down(track: Track, since: Moment, until: int, world: World) -> bool:
    """Whether its namespace was on its way out by a drawn time: all in it goes, each in its time."""
    if since.actor.endswith(":namespace-controller"):
        return True
    homes = world.incarnations(Name("", "Namespace", "", track.ref.namespace))
    asked = [home.asked_to_end for home in homes if home.until is None or home.until > track.first.time]
    return any(each is not None and each <= until for each in asked)


def bounds(a: Moment, b: Moment) -> tuple[float, float] | None:
    """Seconds between two commits, a first, at least and at most; None where nothing tells the most."""
    if not dated(b):
        return None
    least, most = delay_bounds(a.stamp, b.stamp)
    if dated(a):
        return least, most
    return 0.0, max(0.0, most - (a.time - a.stamp.received) / 1e6)  # it was committed at its drawn time or later


def why(verdict: Verdict, a: Moment, b: Moment) -> str:
    """The sentence that says why the order is that sure, and within what the delay is known to lie."""
    known = _known(bounds(a, b))
    if verdict is Verdict.INCONCLUSIVE:
        if Clock.OBJECT in (a.clock, b.clock):
            return f"Inconclusive: whole-second times do not tell the order, and no revisions do.{known}"
        return f"Inconclusive: the two requests overlapped and no revision orders them.{known}"
    if verdict is Verdict.BOUNDED:
        return f"Bounded: only whole-second times tell the order, and they lie far enough apart.{known}"
    if by_revision(a.stamp, b.stamp):
        return f"Exact: {_counted(a, b)}, and revisions count commits.{known}"
    return f"Exact: the first request was answered before the second was received.{known}"


DELAY = " The delay is "  # from here on, `why` tells of one delay, and no more of the order


def _known(within: tuple[float, float] | None) -> str:
    if within is None:
        return ""
    least, most = (duration(round(each * 1e6)) for each in within)
    if least == most:
        return f"{DELAY}known to within {duration(round((within[1] - within[0]) * 1e6))}."
    if within[0] == 0:
        return f"{DELAY}at most {most}."
    return f"{DELAY}known to lie between {least} and {most}."


def _counted(a: Moment, b: Moment) -> str:
    if a.entry.ref.kind == b.entry.ref.kind and a.entry.ref.group == b.entry.ref.group:
        return "both are revisions of one kind"
    if a.clock is b.clock is Clock.AUDIT:
        return "both revisions come from the audit log of one cluster"
    return "the revisions of both kinds come from one counter, as their times bear out"


def duration(microseconds: int) -> str:
    """A length of time as a person says it: 53 ms, 4.2 s, 3 min 5 s, 2 h 10 min."""
    if microseconds == 0:
        return "less than 1 s"  # two times of a clock that counts whole seconds
    if microseconds < 1_000:
        return f"{microseconds} µs"
    if microseconds < 999_500:
        return f"{round(microseconds / 1e3)} ms"
    if microseconds < 59_950_000:
        return f"{microseconds / 1e6:.1f} s".replace(".0 s", " s")
    minutes, seconds = divmod(round(microseconds / 1e6), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
