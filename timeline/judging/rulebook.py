"""Pure: what a rule is, and what it finds."""

import hashlib
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from enum import StrEnum
from functools import cache
from types import ModuleType
from typing import Literal

import msgspec

from timeline.core.durations import Length
from timeline.core.entries import ObjectRef
from timeline.history.lifelines import Moment, Track
from timeline.history.world import World
from timeline.judging.verdicts import Verdict

# Raise it with every change after which a finding of the same entries is another one or is told in other words: what is
# stored of older versions is then judged again (see `timeline.rejudging`).
VERSION = 3
ATTEMPTS = 5  # at judging one source again; a worker may be stopped or lack memory


Severity = Literal["error", "warning", "info"]


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
    interval: Length | None = None  # how long it lasted, or how late the last came, as far as that is known

    @property
    def length(self) -> int:
        return self.last - self.first

    @property
    def weight(self) -> tuple[int, int]:
        """The heavier one is told first: by its harm, then by its length."""
        return list(Effect).index(self.effect), self.length


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
    interval: Length | None = None  # within which the delay is known to lie
    affects: tuple[ObjectRef, ...] = ()
    count: int | None = None  # of what was found too many; None: of the occurrences
    status: Status = Status.CONFIRMED
    status_reason: str = ""  # why it is not confirmed, a sentence

    @property
    def worst(self) -> Occurrence:
        """The occurrence with the most harm; the longest of them."""
        return max(self.occurrences, key=lambda each: (*each.weight, -each.first))

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Of the delay, in seconds; None where nothing bounds it."""
        if self.interval is None or self.interval.most is None:
            return None
        return self.interval.least / 1e6, self.interval.most / 1e6

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
    any_of: tuple[str, ...] = ()  # and one of these; of those that were not seen it says nothing
    times: bool = False  # it measures how long something took, so whole seconds leave its findings bounded


def rule(
    identity: str,
    *,
    judges: tuple[str, ...],
    needs: tuple[str, ...] = (),
    any_of: tuple[str, ...] = (),
    lists: bool = False,
    times: bool = False,
) -> Callable[[Judge], Judge]:
    """Enter a judge into the rulebook. Its module's docstring is its page; the first line is its title."""

    def enter(judge: Judge) -> Judge:
        module = inspect.getmodule(judge)
        page = inspect.cleandoc((module and module.__doc__) or "")
        title = page.partition("\n")[0].rstrip(".")
        _rules[identity] = Rule(identity, judges, needs, title, page, judge, lists, any_of, times)
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
