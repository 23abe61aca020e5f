"""Decide which incidents are sent by which routes, and when. No database and no clock are used. It does no I/O.

As in Alertmanager, what is decided follows from a comparison of what is the case with what was sent last. So nothing is
lost while no process runs, and a decision that was not committed is simply made again.
"""

import fnmatch
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

Pending = Literal["", "began", "worse", "over"]
Key = tuple[int, str]  # Source.pk and Incident.identity
OLD = timedelta(days=1)  # an incident that was over for so long when it was noticed is not sent
GROUPINGS = ("source", "rule", "namespace", "owner")


@dataclass(frozen=True)
class Quiet:
    """Hours in which a route sends nothing."""

    days: frozenset[int]  # 0 is Monday; the day on which the hours begin
    start: time
    end: time  # on the next day if it is not after `start`
    zone: ZoneInfo

    def covers(self, now: datetime) -> bool:
        """Return whether a time is within the hours."""
        local = now.astimezone(self.zone)
        clock, today = local.time(), local.weekday()
        if self.start < self.end:
            return today in self.days and self.start <= clock < self.end
        yesterday = (today - 1) % 7
        return (today in self.days and clock >= self.start) or (yesterday in self.days and clock < self.end)


@dataclass(frozen=True)
class Rule:
    """What a route asks for, and how it sends that. Empty matchers match all."""

    route: int
    since: datetime  # when it was made, or enabled
    rank: int = 2  # of the least severity: 0 error, 1 warning, 2 info
    cluster: int | None = None
    source: int | None = None  # a recording
    rule: str = ""
    namespace: str = ""
    owner: str = ""  # * stands for any characters, ? for one
    changes: frozenset[str] = frozenset({"began", "worse", "over"})
    recordings: bool = False  # whether incidents of recordings are sent, too
    stop: bool = False  # what it takes is not sent by the routes after it
    grouping: tuple[str, ...] = ("source", "rule", "namespace")
    wait: timedelta = timedelta(seconds=30)  # how long changes are gathered before they are sent together
    repeat: timedelta = timedelta(hours=4)
    quiet: Quiet | None = None
    refresh: timedelta | None = None  # how often a destination wants to know what goes on

    def matches(self, each: "Now") -> bool:
        """Return whether the route is about an incident, however severe it is."""
        return (
            self.cluster in (None, each.cluster)
            and self.source in (None, each.source)
            and any(self._names(*symptom) for symptom in each.named)
            and (each.live or self.recordings)
        )

    def _names(self, rule: str, namespace: str, owner: str) -> bool:
        """Return whether the route is about a symptom of this rule and anchor."""
        return (
            self.rule in ("", rule)
            and self.namespace in ("", namespace)
            and (not self.owner or fnmatch.fnmatchcase(owner, self.owner.replace("[", "[[]")))
        )

    def takes(self, each: "Now") -> bool:
        """Return whether the route sends an incident as it is now."""
        return self.matches(each) and each.rank <= self.rank

    def group(self, each: "Now") -> tuple[str, ...]:
        """Return what the incidents that are sent together have in common."""
        found = {"source": str(each.source), "rule": each.rule, "namespace": each.namespace, "owner": each.owner}
        return tuple(f"{name}={found[name]}" for name in GROUPINGS if name in self.grouping)


@dataclass(frozen=True)
class Now:
    """An incident as it is now."""

    source: int
    identity: str
    cluster: int | None
    live: bool
    rule: str
    namespace: str
    owner: str  # the name of what it is about
    rank: int  # 0 error, 1 warning, 2 info
    ongoing: bool
    last: datetime  # the end of its last occurrence
    held: bool = False  # a silence or the baseline takes it out of the lists
    acknowledged: bool = False
    imported: datetime | None = None  # when the import of a recording began
    symptoms: tuple[tuple[str, str, str], ...] = ()  # rule, namespace and owner of each; those above are of the gravest

    @property
    def named(self) -> tuple[tuple[str, str, str], ...]:
        """Return rule, namespace and owner of each symptom."""
        return self.symptoms or ((self.rule, self.namespace, self.owner),)

    @property
    def key(self) -> Key:
        return self.source, self.identity


@dataclass(frozen=True)
class State:
    """What a route knows of an incident."""

    rank: int  # when it was sent last, or when it was noticed if it was not sent
    since: datetime  # when it was noticed, or since when `pending` is to be sent
    group: tuple[str, ...]
    pending: Pending = ""
    begun: bool = False  # it was sent, and it was not sent yet that it is over
    notified: datetime | None = None
    refreshed: datetime | None = None
    last: datetime | None = None  # Now.last when it was sent as over, or when it ended without being sent


class Notification(NamedTuple):
    """What is sent of one incident."""

    key: Key
    change: Literal["began", "worse", "over"]
    rank: int  # the severity that is sent
    was: int | None = None  # the severity that was sent before, if it got worse
    again: bool = False  # it was sent before, and goes on
    unwatched: bool = False  # its cluster is not connected any more, so nobody knows whether it is over


class Group(NamedTuple):
    """Incidents that one route sends together."""

    route: int
    group: tuple[str, ...]
    notifications: list[Notification]
    refresh: bool  # only for destinations that forget what is not sent again


class Decision(NamedTuple):
    """What to send, and what is known afterwards."""

    groups: list[Group]
    states: dict[tuple[int, Key], State]  # those that are new or changed, by route and incident
    forgotten: list[tuple[int, Key]]


def joined(states: Mapping[str, State], into: Now) -> tuple[str, State]:
    """Return which of these incidents, by identity, is sent on as the one that they all are part of now, and what its
    route knows of it.

    The gravest that was sent as begun goes on, so that nothing is sent as begun again. If none was, the one that was
    sent last goes on, or else the one that has waited longest.
    """
    begun = {identity: state for identity, state in states.items() if state.begun}
    if begun:
        first = min(begun, key=lambda one: (begun[one].rank, one != into.identity, begun[one].since, one))
        return first, begun[first]
    sent = {identity: at for identity, state in states.items() if (at := state.notified)}
    if not sent:
        first = min(states, key=lambda one: (not states[one].pending, states[one].since, one))
        return first, states[first]
    latest = max(sent, key=lambda one: (sent[one], one))
    ends = [into.last] if not into.live else [state.last for state in states.values() if state.last]
    return latest, replace(states[latest], last=max(ends, default=None))


def decide(
    rules: Sequence[Rule],
    known: Mapping[tuple[int, Key], State],
    incidents: Mapping[Key, Now],
    noticed: Collection[Key],
    now: datetime,
) -> Decision:
    """Return what the routes send now. The rules are in the order of the routes.

    `known` has what was sent, and `incidents` all incidents that it names and that still exist, and those that are
    `noticed`: they are new, or something has happened to them.
    """
    before = _with_noticed(rules, known, incidents, noticed, now)
    by_route: dict[int, dict[Key, State]] = {rule.route: {} for rule in rules}
    for (route, key), state in before.items():
        by_route.get(route, {})[key] = state
    after: dict[tuple[int, Key], State] = {}
    groups: list[Group] = []
    taken: set[Key] = set()  # by a route that keeps what it tells from the routes after it
    for rule in rules:
        of_it = {
            key: _looked_at(rule, state, incidents.get(key), now, wanted=key not in taken)
            for key, state in by_route[rule.route].items()
        }
        after |= {(rule.route, key): state for key, state in of_it.items()}
        if rule.stop:
            taken |= {key for key in of_it if (each := incidents.get(key)) and rule.takes(each)}
        sent, refreshed = _due(rule, of_it, incidents, now)
        for name, notifications in _grouped(sent, of_it).items():
            shown = [each for each in notifications if each.change in rule.changes]
            groups += [Group(rule.route, name, shown, refresh=False)] if shown else []
        for name, notifications in _grouped(refreshed, of_it).items():
            groups.append(Group(rule.route, name, notifications, refresh=True))
        for notification in sent:
            key = notification.key
            after[rule.route, key] = _after_sending(of_it[key], notification, incidents.get(key), now)
        for notification in refreshed:
            after[rule.route, notification.key] = replace(of_it[notification.key], refreshed=now)
    repeat = {rule.route: rule.repeat for rule in rules}
    forgotten = [
        (route, key) for (route, key), state in after.items() if _over(state, incidents.get(key), repeat[route], now)
    ]
    gone = set(forgotten)
    changed = {pair: state for pair, state in after.items() if pair not in gone and known.get(pair) != state}
    return Decision(groups, changed, [pair for pair in forgotten if pair in known])


def _with_noticed(
    rules: Sequence[Rule],
    known: Mapping[tuple[int, Key], State],
    incidents: Mapping[Key, Now],
    noticed: Iterable[Key],
    now: datetime,
) -> dict[tuple[int, Key], State]:
    """Return what is known, and with it the incidents that routes see for the first time."""
    states = dict(known)
    for key in sorted(set(noticed)):
        if not (each := incidents.get(key)):
            continue
        for rule in rules:
            if rule.matches(each) and (rule.route, key) not in states and _fresh(rule, each, now):
                states[rule.route, key] = State(each.rank, now, rule.group(each))
    return states


def _fresh(rule: Rule, each: Now, now: datetime) -> bool:
    """Return whether an incident is news: sources that are judged again show incidents that were over long ago."""
    if not each.live:
        return each.imported is not None and each.imported >= rule.since
    return each.ongoing or each.last >= max(rule.since, now - OLD)


def _looked_at(rule: Rule, state: State, each: Now | None, now: datetime, *, wanted: bool) -> State:
    """Return a state with what is to be sent of its incident."""
    if state.begun:
        return _pending(state, _next_of_begun(state, each), now)
    if each is None:
        return replace(state, pending="")
    unsent = state.last is None or each.last > state.last
    if not (wanted and unsent and rule.takes(each)):
        return _pending(state, "", now)
    if not each.ongoing and each.live and _suppressed(rule, each, now):
        return replace(state, pending="", last=each.last)  # it came and went while nobody wanted to know
    was_below = state.notified is None and state.rank > rule.rank and now - state.since >= rule.wait
    return _pending(state, "worse" if was_below or state.pending == "worse" else "began", now)


def _next_of_begun(state: State, each: Now | None) -> Pending:
    if each is None or not each.ongoing or not each.live:  # of recordings, nothing is ever begun
        return "over"
    return "worse" if each.rank < state.rank else ""


def _pending(state: State, pending: Pending, now: datetime) -> State:
    if state.pending == pending:
        return state
    return replace(state, pending=pending, since=now if pending else state.since)


def _suppressed(rule: Rule, each: Now, now: datetime) -> bool:
    return each.held or each.acknowledged or bool(rule.quiet and rule.quiet.covers(now))


def _due(
    rule: Rule, states: Mapping[Key, State], incidents: Mapping[Key, Now], now: datetime
) -> tuple[list[Notification], list[Notification]]:
    """Return what is sent now, and what is only refreshed."""
    quiet = bool(rule.quiet and rule.quiet.covers(now))
    ready = {key for key, state in states.items() if not quiet and _may_be_sent(rule, state, incidents.get(key), now)}
    repeats = {
        key
        for key, state in states.items()
        if not quiet and state.begun and not state.pending and _repeatable(incidents.get(key))
    }
    due = {states[key].group for key in ready if now - states[key].since >= rule.wait}
    due |= {states[key].group for key in repeats if _passed(states[key].notified, rule.repeat, now)}
    sent = [
        _notification(key, state, incidents.get(key))
        for key, state in states.items()
        if state.group in due and (key in ready or (key in repeats and _passed(state.notified, rule.repeat / 2, now)))
    ]
    if rule.refresh is None or "began" not in rule.changes:
        return sent, []
    fresh = {each.key for each in sent}
    stale = {state.group for state in states.values() if state.begun and _passed(state.refreshed, rule.refresh, now)}
    refreshed = [
        Notification(key, "began", state.rank, again=True)
        for key, state in states.items()
        if state.begun and state.pending != "over" and state.group in stale and key not in fresh
    ]
    return sent, refreshed


def _notification(key: Key, state: State, each: Now | None) -> Notification:
    if state.pending == "over":  # as severe as it was sent, which may be the last that is known of it
        return Notification(key, "over", state.rank, unwatched=each is not None and not each.live)
    if not state.pending:
        return Notification(key, "began", state.rank, again=True)
    assert each
    return Notification(key, state.pending, each.rank, was=state.rank if state.begun else None)


def _may_be_sent(rule: Rule, state: State, each: Now | None, now: datetime) -> bool:
    """Return whether what is pending may be sent, apart from the time for which a group waits."""
    if not state.pending:
        return False
    if state.pending == "over":
        return True
    assert each
    if each.held or (each.acknowledged and not state.begun):
        return False
    flaps = not state.begun and state.notified is not None and each.rank >= state.rank
    return not flaps or _passed(state.notified, rule.repeat, now)


def _repeatable(each: Now | None) -> bool:
    return each is not None and each.live and not each.held and not each.acknowledged


def _passed(since: datetime | None, length: timedelta, now: datetime) -> bool:
    return since is None or now - since >= length


def _grouped(
    notifications: Iterable[Notification], states: Mapping[Key, State]
) -> dict[tuple[str, ...], list[Notification]]:
    found: dict[tuple[str, ...], list[Notification]] = {}
    for each in sorted(notifications, key=lambda each: (each.again, each.key)):
        found.setdefault(states[each.key].group, []).append(each)
    return found


def _after_sending(state: State, notification: Notification, each: Now | None, now: datetime) -> State:
    """Return a state after its incident was sent."""
    if notification.change == "over":
        return replace(state, begun=False, pending="", since=now, last=each.last if each else now)
    assert each
    sent = replace(state, begun=True, pending="", since=now, notified=now, refreshed=now, rank=notification.rank)
    # Nothing more happens in a recording, so there is no end to wait for.
    return sent if each.live else replace(sent, begun=False, last=each.last)


def _over(state: State, each: Now | None, repeat: timedelta, now: datetime) -> bool:
    """Return whether a state can be forgotten: without it, nothing would be sent again that was sent."""
    if state.begun or state.pending or (each and (each.ongoing or not each.live)):
        return False
    return now - max(state.since, state.notified or state.since) >= max(repeat, OLD)
