"""Give the advice of an incident: first what ends its cause, then what repairs each of its symptoms. It does no I/O."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from timeline.history.lifelines import Name
from timeline.judging.advice import STEPS, commands, kubectl, lines_of
from timeline.judging.findings import Link, Root

_ALIKE = 1  # symptoms of one rule whose lines each step shows
_LINES = 6  # lines of a step after which only the first symptom of each rule adds some


class Symptom(NamedTuple):
    """What an incident knows of the findings of one rule about one anchor."""

    rule: str
    advice: Sequence[str]  # of its gravest finding
    anchor: Name


class _Remedy(NamedTuple):
    """How the advice on a cause goes together with the advice on what it did."""

    stated_by: frozenset[str]  # the rules whose findings state the cause, so that their advice is about the cause
    replaces: frozenset[str]  # the steps that the advice of all other rules loses: they would mend another cause
    lines: Mapping[str, str]  # by step, the line that is given where no finding that states the cause has this step


_ENDS = frozenset({"Stop", "Prevent"})
_REMEDIES = {
    Root.LOST_LEASE: _Remedy(
        frozenset({"write-after-lease-lost"}),
        _ENDS,
        {
            "Look": "does the process of the old holder still run? {lease} names the new holder.",
            "Stop": "end the process of the old holder of Lease {name}, if it still runs.",
            "Prevent": "find out what stopped the old holder, and let it end when it loses its Lease.",
        },
    ),
    Root.CONFIGURATION: _Remedy(
        frozenset({"lease-shared-config"}),
        _ENDS,
        {
            "Look": "who leads now? {lease} names the holder.",
            "Stop": "give each scheduler that elects on Lease {name} a Lease of its own.",
            "Prevent": "let whatever installs the schedulers name the Lease of each after the scheduler.",
        },
    ),
    Root.REFUSAL: _Remedy(
        frozenset(
            {
                "ca-bundle-stale",
                "eviction-blocked",
                "kind-not-served",
                "namespace-not-furnished",
                "quota-conflict",
                "webhook-not-ready",
            }
        ),
        _ENDS,
        {},
    ),
    Root.OLD_COPIES: _Remedy(
        frozenset({"stale-view", "stale-write", "view-went-back"}),
        frozenset({"Stop"}),  # a newer release may end that the cache is old, and what is safe to repeat stays so
        {
            "Look": "does {component} still act on old copies of {kind}s? Its log and the length of its queue tell.",
            "Stop": "restart the process of {component} if it goes on, so that it reads all {kind}s anew.",
            "Prevent": "compare its watch with that of other clients; a proxy or an API server may hold it back.",
        },
    ),
    Root.MISSING: _Remedy(
        frozenset({"missing-reference"}),
        frozenset({"Prevent"}),  # what loops without the object has to be stopped, too
        {
            "Clean": "create {kind} {name} if it is still missing, or correct the name.",
            "Prevent": "create {kind} {name} before what needs it.",
        },
    ),
}

STATING = frozenset(rule for each in _REMEDIES.values() for rule in each.stated_by)  # rules that state a cause


def advice(root: Link | None, symptoms: Sequence[Symptom]) -> list[str]:
    """Return the lines of advice for an incident. Each begins with the name of its step, and they are in the order of
    the steps.

    `root` is what the incident begins with, and None if nothing proves that; `symptoms` has the gravest first. Each
    step begins with what concerns the cause. A command is given once in a step. Of many symptoms of one rule only the
    first ones are spelt out, and one line counts what else needs the same.
    """
    remedy = _REMEDIES[root.root] if root else _Remedy(frozenset(), frozenset(), {})
    given = [(each, lines_of(each.advice)) for each in symptoms]
    stating = [each for each in given if each[0].rule in remedy.stated_by]
    others = [each for each in given if each[0].rule not in remedy.stated_by]
    own = _own_lines(root, remedy) if root else {}
    found = []
    for step in STEPS:
        shown = _Shown()
        for each, lines in stating:
            shown.add(each, lines.get(step, []))
        if not shown.lines and step in own:
            shown.lines.append(own[step])
        for each, lines in others if step not in remedy.replaces else ():
            shown.add(each, lines.get(step, []))
        found += [f"{step}: {line}" for line in (*shown.lines, *shown.rest())]
    return found


def _own_lines(root: Link, remedy: _Remedy) -> dict[str, str]:
    """Return by step what there is to do about a cause, with the names of its objects."""
    match root:
        case Link(root=Root.LOST_LEASE | Root.CONFIGURATION, names=(namespace, name)):
            words = {"name": name, "lease": kubectl(namespace, "get lease {} -o yaml", name)}
        case Link(root=Root.OLD_COPIES, names=(component, _, kind)):
            words = {"component": component, "kind": kind}
        case Link(names=(_, kind, _, name)):
            words = {"kind": kind, "name": name}
    return {step: line.format(**words) for step, line in remedy.lines.items()}


class _Shown:
    """The lines of one step, and the symptoms that need the same for other objects."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._commands: set[str] = set()
        self._spelt: Counter[str] = Counter()  # by rule, how many of its symptoms have lines here
        self._rest: dict[tuple[str, str], set[Name]] = defaultdict(set)  # by rule and kind, what is counted only

    def add(self, symptom: Symptom, lines: Sequence[str]) -> None:
        """Add what is new in the lines of a symptom, or count its anchor if enough is shown."""
        new = [line for line in lines if self._is_new(line)]
        if not new:
            return
        spelt = self._spelt[symptom.rule]
        if spelt == _ALIKE or (spelt and len(self.lines) >= _LINES):
            self._rest[symptom.rule, symptom.anchor.kind].add(symptom.anchor)
            return
        self._spelt[symptom.rule] += 1
        self._commands.update(command for line in new for command in commands(line))
        self.lines += new

    def _is_new(self, line: str) -> bool:
        named = commands(line)
        return line not in self.lines and not (named and self._commands.issuperset(named))

    def rest(self) -> Iterator[str]:
        """Yield the line that counts the objects that need the same, if there are any."""
        counts = [
            f"{len(anchors)} more {kind}{'s' if len(anchors) > 1 else ''} ({rule})"
            for (rule, kind), anchors in self._rest.items()
        ]
        if counts:
            yield f"the same for {', '.join(counts)}."
