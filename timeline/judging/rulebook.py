"""Define rules and their settings, and register and load them. It does no I/O."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from functools import cache
from types import ModuleType

import msgspec

from timeline.core.entries import Level
from timeline.history.lifelines import Track
from timeline.history.world.world import World
from timeline.judging.coverage.lines import Line, Need
from timeline.judging.findings import Finding

# Increase this number with every change after which a rule reports something else, or the same in other words, for the
# same entries, after which more is stored of what it reports, or after which it is said to judge more or less. Sources
# that an older version judged are then judged again (see `timeline.rejudging`).
VERSION = 14
ATTEMPTS = 5  # how often judging a source again is tried, since a worker may be stopped or run out of memory


Judge = Callable[[Track, World], Iterable[Finding]]
Whole = Callable[[World], Iterable[Finding]]


class Rule(msgspec.Struct, frozen=True):
    """A rule judges tracks of certain kinds by their lifelines and by the objects that they relate to."""

    id: str
    judges: tuple[str, ...]  # the kinds of tracks that it judges, qualified ("Pod", "Job.batch.volcano.sh"); () for all
    needs: tuple[Need, ...]  # the lines that a source has to show for it
    title: str
    page: str  # the docstring of its module, which is its page in the catalogue
    judge: Judge
    incident: str = ""  # the title of a symptom with several findings (see `judging.incidents.subjects`)
    harm: str = ""  # what a cause did by which such symptoms came: "{count} Pods too many in {anchors}"
    times: bool = False  # whether it measures durations, so that clocks of whole seconds make its findings bounded
    recordings: bool = False  # whether it judges recordings only, and no connected cluster
    also: tuple[Line, ...] = ()  # lines that it reads where there are any, such as those that show what is harmless
    dense: str = ""  # what it misses in a log without every write in the cluster, because it counts revisions
    spares: tuple[str, ...] = ()  # kinds that it does not judge, of one that judges all others
    untracked: Whole | None = None  # finds what concerns objects that no observation shows, such as those of logs

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds that it judges, and those that its needs name, without Events."""
        return self._named(self.needs)

    @property
    def states(self) -> tuple[str, ...]:
        """Return the kinds whose states it cannot do without: it judges them, or they are the first that it needs."""
        essential = (each for each in self.needs if not each.misses and each.lines[0].level is Level.FULL)
        return self._named(Need(each.lines[:1]) for each in essential)

    def _named(self, needs: Iterable[Need]) -> tuple[str, ...]:
        named = (kind for each in needs for line in each.lines for kind in line.kinds if kind != "Event")
        return tuple(dict.fromkeys((*self.judges, *named)))


def rule(
    identity: str,
    *,
    judges: tuple[str, ...],
    needs: tuple[Need, ...] = (),
    incident: str,
    harm: str,
    times: bool = False,
    recordings: bool = False,
    also: tuple[Line, ...] = (),
    dense: str = "",
    spares: tuple[str, ...] = (),
    untracked: Whole | None = None,
) -> Callable[[Judge], Judge]:
    """Return a decorator that registers a function as a rule. `Rule` describes the arguments.

    The docstring of the function's module becomes the rule's page, and its first line the title. Raises TypeError if
    the rule does not declare which lines it needs.
    """
    if not needs or not all(isinstance(each, Need) for each in needs):
        raise TypeError(
            f"Rule {identity} must declare which lines it needs, such as needs=(need(line('Pod', verbs='create')),)."
        )

    def enter(judge: Judge) -> Judge:
        module = inspect.getmodule(judge)
        page = inspect.cleandoc((module and module.__doc__) or "")
        title = page.partition("\n")[0].rstrip(".")
        _rules[identity] = Rule(
            identity,
            judges,
            needs,
            title,
            page,
            judge,
            incident,
            harm,
            times,
            recordings,
            also,
            dense,
            spares,
            untracked,
        )
        return judge

    return enter


_rules: dict[str, Rule] = {}


class Setting:
    """A threshold of a rule, which the operator can set. `value` is in seconds if `unit` is "s", else a count."""

    def __init__(self, rule: str, name: str, default: float, unit: str, meaning: str) -> None:
        self.rule = rule
        self.name = name
        self.default = default
        self.unit = unit
        self.meaning = meaning
        self.value = default

    @property
    def variable(self) -> str:
        """Return the environment variable that sets it, such as CAUSELINE_RULE_SERVICE_GAP_TEARDOWN."""
        return f"CAUSELINE_RULE_{self.rule}_{self.name}".upper().replace("-", "_")

    @property
    def microseconds(self) -> int:
        return round(self.value * 1e6)


def setting(rule: str, name: str, default: float, unit: str, meaning: str) -> Setting:
    """Register a threshold of a rule; `unit` is "s" for seconds, or "" for a count."""
    registered = Setting(rule, name, default, unit, meaning)
    settings[registered.variable] = registered
    return registered


settings: dict[str, Setting] = {}
"""This maps each environment variable to its threshold. It is complete once the rules are loaded."""


@cache
def load(package: ModuleType) -> tuple[Rule, ...]:
    """Import every module of the package of rules and of its folders, and return the registered rules, sorted by id."""
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
    return tuple(_rules[identity] for identity in sorted(_rules))
