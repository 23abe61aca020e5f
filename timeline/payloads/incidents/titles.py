"""Write the titles of incidents: what each begins with, and the gravest harm that it did. It does no I/O."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from timeline.core.actors import KIND as ACTOR
from timeline.core.durations import duration
from timeline.history.lifelines import Name
from timeline.judging.findings import Effect, Link, Root, Severity
from timeline.judging.incidents.partition import Episode
from timeline.judging.rulebook import Rule
from timeline.payloads.incidents import advice
from timeline.payloads.incidents.occurrences import rank

_ONE = re.compile(r"\b1 (\w+)s\b")
_EFFECTS = list(Effect)


class Harm(NamedTuple):
    """What the title of an incident needs to know of a symptom."""

    rule: str
    anchor: Name
    title: str
    severity: Severity
    effect: str
    excess: int  # occurrences, or objects that were too many

    @property
    def gravity(self) -> tuple[int, int]:
        """Return a sort key: the gravest symptom comes first."""
        return rank(self.severity), -_EFFECTS.index(Effect(self.effect))


def harms_of(rules: Iterable[Rule]) -> dict[str, str]:
    """Return by rule what a cause did by which its symptoms came."""
    return {rule.id: rule.harm for rule in rules}


def title(root: str, symptoms: Sequence[Harm], harms: Mapping[str, str]) -> str:
    """Return the title of an incident: that of its only symptom, or else its root with the gravest harm that it did.

    `symptoms` begin with the gravest. `root` is "" if nothing proves what the incident begins with.
    """
    gravest = symptoms[0]
    if len(symptoms) == 1:
        return gravest.title
    if not root:
        others = len(symptoms) - 1
        return f"{gravest.title}, and {others} more {'symptom' if others == 1 else 'symptoms'} of the same cause"
    # A rule that states the cause says less of its harm than the others, where there are any.
    worst = [symptom for symptom in symptoms if symptom.gravity == gravest.gravity]
    harmed = next((symptom for symptom in worst if symptom.rule not in advice.STATING), gravest).rule
    alike = [symptom for symptom in symptoms if symptom.rule == harmed]
    did = harms[harmed].format(count=sum(one.excess for one in alike), anchors=_anchors({one.anchor for one in alike}))
    return f"{root}: " + _ONE.sub(r"1 \1", did)


def _anchors(names: Collection[Name]) -> str:
    if len(names) == 1:
        (name,) = names
        return name.name if name.kind == ACTOR else f"{name.kind} {name.name}"
    kinds = {each.kind for each in names}
    return f"{len(names)} {kinds.pop()}s" if len(kinds) == 1 else f"{len(names)} objects"


def root_of(found: Sequence[Episode]) -> str:
    """Return what these episodes begin with, which have one root, as the beginning of a sentence."""
    links = [each.root for each in found if each.root]
    if not links:
        return ""
    stated = links[0].until - links[0].since
    lasted = f", {len(links)} times" if len(links) > 1 else f" for {duration(stated)}" if stated else ""
    match links[0]:
        case Link(root=Root.LOST_LEASE, names=(_, name)):
            return f"The old holder of Lease {name} went on writing after it had lost it{lasted}"
        case Link(root=Root.CONFIGURATION, names=(_, name)):
            return f"Workloads with different schedulers elect on Lease {name}"
        case Link(root=Root.REFUSAL, names=(_, "Service", _, name)):
            return f"Service {name} of a webhook was not ready{lasted}"
        case Link(root=Root.REFUSAL, names=(_, kind, _, name)):
            return f"{kind} {name} refused writes{lasted}"
        case Link(root=Root.OLD_COPIES, names=(component, _, kind)):
            return f"{component} acted on old copies of {kind}s{lasted}"
        case Link(names=(_, kind, _, name)):
            return f"{kind} {name} was missing{lasted}"
    raise ValueError(f"there is no such root: {links[0]}")
