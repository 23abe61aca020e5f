"""This pure module defines what a rule is, its settings, and how rules are registered and found."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from functools import cache
from types import ModuleType

import msgspec

from timeline.history.lifelines import Track
from timeline.history.world import World
from timeline.judging.findings import Finding

# Raise this number with every change that makes a rule find something else, or say it in other words, about the same
# entries. The stored findings of older versions are then judged again (see `timeline.rejudging`).
VERSION = 3
ATTEMPTS = 5  # how often one source is judged again; a worker may be stopped or run out of memory


Judge = Callable[[Track, World], Iterable[Finding]]


class Rule(msgspec.Struct, frozen=True):
    """A rule judges tracks of certain kinds by their lifelines and by the objects that they relate to."""

    id: str
    judges: tuple[str, ...]  # the kinds of tracks that it judges, qualified ("Pod", "Job.batch.volcano.sh"); () is all
    needs: tuple[str, ...]  # the kinds that a source has to show in full
    title: str
    page: str  # the docstring of its module, which is its page in the catalogue
    judge: Judge
    lists: bool = False  # the objects of one list are enough for it; other rules need an order
    any_of: tuple[str, ...] = ()  # besides `needs`, one of these kinds; it reports nothing about those not seen
    times: bool = False  # it measures durations, so clocks of whole seconds make its findings bounded


def rule(
    identity: str,
    *,
    judges: tuple[str, ...],
    needs: tuple[str, ...] = (),
    any_of: tuple[str, ...] = (),
    lists: bool = False,
    times: bool = False,
) -> Callable[[Judge], Judge]:
    """Register a function as a rule. `Rule` describes the arguments.

    The docstring of the function's module is the rule's page, and the first line of it the title.
    """

    def enter(judge: Judge) -> Judge:
        module = inspect.getmodule(judge)
        page = inspect.cleandoc((module and module.__doc__) or "")
        title = page.partition("\n")[0].rstrip(".")
        _rules[identity] = Rule(identity, judges, needs, title, page, judge, lists, any_of, times)
        return judge

    return enter


_rules: dict[str, Rule] = {}


class Setting:
    """A threshold of a rule, which the operator can set. `value` is in the unit: seconds, or a count."""

    def __init__(self, rule: str, name: str, default: float, unit: str, meaning: str) -> None:
        self.rule = rule
        self.name = name
        self.default = default
        self.unit = unit
        self.meaning = meaning
        self.value = default

    @property
    def variable(self) -> str:
        """Return the environment variable that sets it: CAUSELINE_RULE_SERVICE_GAP_TEARDOWN."""
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
"""Every threshold by its environment variable. It is complete once the rules are loaded."""


@cache
def load(package: ModuleType) -> tuple[Rule, ...]:
    """Import every module of the package of rules and return the registered rules, sorted by id."""
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return tuple(_rules[identity] for identity in sorted(_rules))
