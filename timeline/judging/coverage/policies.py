"""Derive an audit policy from the lines that rules need, and write it as YAML with comments. It does no I/O.

The policy logs as little as possible: bodies only of the kinds whose bodies a rule reads. Of objects that hold
credentials by their nature, it never logs them.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Literal, NamedTuple

from timeline.core.entries import WRITES, Level
from timeline.judging.coverage.audit_policy import Attributes, Policy, PolicyLine, Resources
from timeline.judging.coverage.lines import OWNERS
from timeline.judging.coverage.remedies import PRIVATE, is_private, written
from timeline.judging.leases.terms import OF_NODES
from timeline.judging.rulebook import Rule
from timeline.kinds import of_resource

Resource = tuple[str, str]  # an API group and a resource
Purposed = Iterator[tuple[PolicyLine, str]]  # lines, each with what it is for

_VERBS = (*WRITES, "get", "list", "watch")  # in the order in which a line names them
_LEVELS = (Level.FULL, Level.REQUEST, Level.METADATA)
_ALL = ("", "")  # all resources
_EVENTS = (("", "events"), ("events.k8s.io", "events"))
# Requests that change no objects and are many, or whose addresses or answers hold credentials.
_NO_CHANGES = (
    *(("", each) for each in ("*/proxy", "pods/attach", "pods/exec", "pods/portforward", "serviceaccounts/token")),
    ("authentication.k8s.io", "*"),
    ("authorization.k8s.io", "*"),
)
_LEASES = ("coordination.k8s.io", "leases")
_OTHER_OWNERS = "the end of owners that are custom resources, unless you add these to the line of the other owners"
_CONTENT = "the content of what holds credentials"
_WIDTH = 118  # characters of a line
_PLAIN = re.compile(r"[A-Za-z][\w./-]*", re.ASCII)
_RESERVED = frozenset({"false", "n", "no", "null", "off", "on", "true", "y", "yes"})


class Reach(NamedTuple):
    """What one rule can judge with what a policy logs."""

    rule: str
    judges: Literal["in full", "in part", "not"]
    why: str  # what it misses, or needs besides; "" if nothing


class Plan(NamedTuple):
    """A policy, and what it is for."""

    policy: Policy
    purposes: tuple[str, ...]  # what each line of the policy is for
    reach: tuple[Reach, ...]  # one for each rule
    besides: tuple[str, ...]  # other rules for which it logs everything, too
    namespaces: tuple[str, ...]  # the only ones whose requests it logs; none if all

    @property
    def logs(self) -> bool:
        """Return whether the policy logs anything."""
        return any(line.level != "None" for line in self.policy.rules)


def plan(rules: Sequence[Rule], namespaces: Sequence[str] = (), others: Iterable[Rule] = ()) -> Plan:
    """Return the policy that logs what these rules need, in these namespaces, or in all if none are given.

    It logs nothing for a rule that no audit log lets judge. The plan says for which of the `others` the policy logs
    everything, too.
    """
    parts = _parts(rules)
    general = {part: served for part, served in parts.items() if part.resources == (_ALL,)}
    logged = {resource for rule in rules for resource, _, _ in _logged(rule)}
    every_write = not namespaces and {*WRITES} <= {verb for part in general for verb in part.verbs}
    counted = [rule.id for rule in rules if rule.dense and every_write]
    lines = [*_heartbeats(logged, namespaces, counted)]
    lines += [(part.line(namespaces), _purpose(served, rules)) for part, served in parts.items() if part not in general]
    if general:
        lines += [*_left_out(logged if not counted else {*logged, *_EVENTS}), *_private(general, namespaces)]
    lines += [(part.line(namespaces), _purpose(served, rules)) for part, served in general.items()]
    lines.append((PolicyLine("None"), "No other request is logged."))
    policy = Policy(
        api_version="audit.k8s.io/v1",
        kind="Policy",
        omit_stages=("RequestReceived",),
        omit_managed_fields=True,
        rules=tuple(line for line, _ in lines),
    )
    reach = tuple(_reach(rule, every_write=every_write) for rule in rules)
    besides = tuple(rule.id for rule in others if rule not in rules and _is_served(rule, policy, namespaces))
    return Plan(policy, tuple(purpose for _, purpose in lines), reach, besides, tuple(namespaces))


class _Part(NamedTuple):
    """One line of a policy before it has its form."""

    level: Level
    verbs: tuple[str, ...]
    resources: tuple[Resource, ...]

    def line(self, namespaces: Sequence[str]) -> PolicyLine:
        """Return the line. If namespaces are given, it is limited to these, and to what is in no namespace where the
        line is about that, too."""
        everywhere = {*self.verbs} & {"list", "watch"} or any(
            resource == _ALL or _is_cluster_wide(*resource) for resource in self.resources
        )
        return PolicyLine(
            self.level.value,
            verbs=self.verbs,
            resources=() if self.resources == (_ALL,) else _grouped(self.resources),
            namespaces=(*namespaces, "") if namespaces and everywhere else tuple(namespaces),
        )


def _parts(rules: Iterable[Rule]) -> dict[_Part, list[str]]:
    """Return the parts of the policy that log what the rules need, those of a higher level first, and the ids of the
    rules that need each."""
    levels: dict[tuple[Resource, str], Level] = {}  # (resource, verb) -> the highest level
    serving: defaultdict[tuple[Resource, str], dict[str, None]] = defaultdict(dict)
    for rule in rules:
        for resource, verb, level in _logged(rule):
            levels[resource, verb] = _highest(level, levels.get((resource, verb)))
            serving[resource, verb][rule.id] = None
    by_level: defaultdict[tuple[Level, Resource], list[str]] = defaultdict(list)  # the verbs of each
    for (resource, verb), level in levels.items():
        covering = levels.get((_ALL, verb))
        if resource != _ALL and covering and _highest(covering, level) is covering:
            serving[_ALL, verb] |= serving[resource, verb]
        else:
            by_level[level, resource].append(verb)
    together: defaultdict[tuple[Level, tuple[str, ...], bool], list[Resource]] = defaultdict(list)
    for (level, resource), named in by_level.items():
        together[level, _ordered(named), resource == _ALL].append(resource)
    parts = [_Part(level, verbs, tuple(resources)) for (level, verbs, _), resources in together.items()]
    return {
        part: sorted({rule for one in part.resources for verb in part.verbs for rule in serving[one, verb]})
        for part in sorted(parts, key=lambda part: _LEVELS.index(part.level))
    }


def _highest(one: Level, other: Level | None) -> Level:
    return one if other is None else min(one, other, key=_LEVELS.index)


def _logged(rule: Rule) -> Iterator[tuple[Resource, str, Level]]:
    """Yield what has to be logged for a rule: a resource, a verb, and the level.

    If bodies of a kind are needed, all its writes are logged with them: each names the revision that it replaced, and
    where one is missing, nothing can be concluded from the absence of a write.
    """
    lines = (*(line for need in rule.needs for line in need.lines), *rule.also)
    parts = [part for line in lines for part in line.logged]
    for part in parts:
        where = part.group, part.resource
        level = Level.METADATA if is_private(*where) else part.level
        for resource in _EVENTS if where in _EVENTS else (where,):
            whole = level is not Level.METADATA
            for name in written(*resource) if whole else (resource[1],):
                for verb in WRITES if whole else part.verbs:
                    yield (resource[0], name), verb, level
        # Nothing is older than its Namespace, and what ends with it ends for no other reason.
        for verb in ("create", "delete", "deletecollection"):
            yield ("", "namespaces"), verb, Level.METADATA


def _is_cluster_wide(group: str, resource: str) -> bool:
    known = of_resource(group, resource)
    return known is not None and not known.namespaced


def _is_served(rule: Rule, policy: Policy, namespaces: Sequence[str]) -> bool:
    """Return whether a policy logs everything that a rule needs."""
    logged = [*_logged(rule)]
    for (group, name), verb, level in logged:
        resource, _, subresource = name.partition("/")
        namespace = "" if _is_cluster_wide(group, resource) or not namespaces else namespaces[0]
        asked = Attributes(verb, group if resource else "example.com", resource or "any", subresource, namespace)
        number = policy.deciding(asked)
        if number is None or policy.rules[number].level not in _LEVELS[: _LEVELS.index(level) + 1]:
            return False
    return bool(logged)


def _heartbeats(logged: set[Resource], namespaces: Sequence[str], counted: Sequence[str]) -> Purposed:
    """Yield the line for the Leases of nodes, if other lines would log them: it leaves them out, unless a rule counts
    the revisions of all writes."""
    purpose = "Each node renews its Lease every ten seconds."
    resources = _grouped([_LEASES])
    if counted:
        yield (
            PolicyLine("Metadata", verbs=WRITES, resources=resources, namespaces=(OF_NODES,)),
            f"{purpose} {_purpose(counted, ())}",
        )
    elif logged & {_ALL, _LEASES} and (not namespaces or OF_NODES in namespaces):
        yield PolicyLine("None", resources=resources, namespaces=(OF_NODES,)), purpose


def _left_out(logged: set[Resource]) -> Purposed:
    """Yield the line for requests that the parts for all resources would log, and that no rule needs."""
    events = () if logged & {*_EVENTS} else _EVENTS
    yield (
        PolicyLine("None", resources=_grouped((*_NO_CHANGES, *events))),
        "No rule needs these, and some hold credentials.",
    )


def _private(general: Iterable[_Part], namespaces: Sequence[str]) -> Purposed:
    """Yield the line for objects that hold credentials, if the parts for all resources would log their bodies."""
    if any(part.level is not Level.METADATA for part in general):
        line = _Part(Level.METADATA, WRITES, PRIVATE).line(namespaces)
        yield line, "These may hold credentials: it is logged that they were written, and not what."


def _ordered(verbs: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(verbs), key=_VERBS.index))


def _grouped(resources: Iterable[Resource]) -> tuple[Resources, ...]:
    """Return the resources, those of one API group together."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for group, resource in sorted(resources):
        groups[group].append(resource)
    return tuple(Resources(group, () if names == ["*"] else tuple(names)) for group, names in groups.items())


def _purpose(served: Sequence[str], rules: Iterable[Rule]) -> str:
    """Return a sentence that names the rules for which a line is."""
    others = [rule.id for rule in rules if rule.id not in served and any(_logged(rule))]
    if len(others) * 3 > len(served):
        return f"For {_and(served)}."
    every = "every rule" if len(served) > 1 else served[0]
    return f"For {every} but {_and(others)}." if others else f"For {every}."


def _reach(rule: Rule, *, every_write: bool) -> Reach:
    """Return what a rule can judge with a policy, which logs `every_write` or not."""
    misses = []
    for need in rule.needs:
        if any(line.logged for line in need.lines):
            continue
        if not need.misses:
            programs = " or ".join(sorted({each for line in need.lines for each in line.by})) or "a program"
            return Reach(rule.id, "not", f"needs the log of {programs}, which no policy brings")
        misses.append(need.misses)
    if any(resource == _ALL and level is not Level.METADATA for resource, _, level in _logged(rule)):
        misses.append(_CONTENT)
    if OWNERS in rule.also and not every_write:
        misses.append(_OTHER_OWNERS)
    if rule.dense and not every_write:
        misses.append(rule.dense)
    return Reach(rule.id, "in part" if misses else "in full", "; ".join(misses))


def text(planned: Plan, of_all: Sequence[str] = (), of_lines: Mapping[int, str] | None = None) -> str:
    """Return a policy as YAML, with what it is for as comments.

    More comments may be given: some about the whole policy, and one for a line by its number, counted from 0.
    """
    policy = planned.policy
    lines = [comment for each in (*_head(planned), *of_all) for comment in _comment(each, "")]
    lines += [
        f"apiVersion: {policy.api_version}",
        f"kind: {policy.kind}",
        f"omitStages: {_sequence(policy.omit_stages)}",
        f"omitManagedFields: {json.dumps(policy.omit_managed_fields)}",
        "rules:",
    ]
    for number, (line, purpose) in enumerate(zip(policy.rules, planned.purposes, strict=True)):
        lines += _comment(" ".join(filter(None, (purpose, (of_lines or {}).get(number)))), "  ")
        lines += _line(line)
    return "\n".join(lines) + "\n"


def _head(planned: Plan) -> Iterator[str]:
    where = f" in {_and(planned.namespaces)}" if planned.namespaces else ""
    rules = [each.rule for each in planned.reach if each.judges == "in full"]
    yield f"The audit policy that Causeline's rules need{where}. The first line that fits a request decides."
    if rules:
        yield f"Judged in full: {', '.join(rules)}."
    by_reason: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for each in planned.reach:
        if each.judges != "in full":
            by_reason[each.judges, each.why].append(each.rule)
    for (judges, why), several in sorted(by_reason.items()):
        if judges == "in part":
            yield f"Judged in part: {', '.join(several)}, without {why}."
        else:
            yield f"Not judged: {', '.join(several)}, which {why}."
    if planned.besides:
        yield f"What it logs also serves {_and(planned.besides)}."


def _comment(sentences: str, indent: str) -> list[str]:
    return _wrapped(sentences, f"{indent}# ", f"{indent}# ")


def _wrapped(words: str, first: str, further: str) -> list[str]:
    return wrap(
        words,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=further,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _line(line: PolicyLine) -> Iterator[str]:
    yield f"  - level: {line.level}"
    for name, values in (("verbs", line.verbs), ("namespaces", line.namespaces)):
        if values:
            yield f"    {name}: {_sequence(values)}"
    if line.resources:
        yield "    resources:"
    for each in line.resources:
        named = f", resources: {_sequence(each.resources)}" if each.resources else ""
        yield from _wrapped(f"{{group: {_scalar(each.group)}{named}}}", "      - ", " " * 10)


def _sequence(values: Iterable[str]) -> str:
    return f"[{', '.join(map(_scalar, values))}]"


def _scalar(value: str) -> str:
    return value if _PLAIN.fullmatch(value) and value.lower() not in _RESERVED else json.dumps(value)


def _and(values: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(values[:-1]), values[-1])))
