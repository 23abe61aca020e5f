"""Describe the roles of people and groups, and why they have them, for the page and the terminal."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.auth.models import Group, User

from dashboard.access.roles import grants
from dashboard.models import Grant
from dashboard.presentation.wording import MINUTE
from timeline.models import Source

MEANINGS = {
    Grant.Role.VIEWER: "sees",
    Grant.Role.RESPONDER: "also acknowledges and silences incidents, sets baselines and uploads recordings",
    Grant.Role.EDITOR: "also connects clusters, and edits routes, destinations and log stores",
    Grant.Role.ADMIN: "also gives roles, makes access tokens, and reads the audit trail; only on everything",
}


class Reason(NamedTuple):
    """A role, what it is on, and why somebody has it."""

    role: str
    on: str
    namespaces: Sequence[str]
    why: str
    group: str  # the name of the group that has the role; "" if the person has it
    grant: int | None  # the number of the grant, if it was given
    cluster: int | None
    source: int | None
    by: str  # who has given it
    at: datetime | None


class Holder(NamedTuple):
    """A person or a group with its roles."""

    name: str
    is_group: bool
    full_name: str
    active: bool
    members: int  # of a group, who may sign in
    administrator: bool
    reasons: Sequence[Reason]


def people(found: Iterable[User]) -> list[Holder]:
    """Return these people with their roles, which are read with the same number of queries for any number of people."""
    users = list(found)
    member_of = _memberships(users)
    own = _by(Grant.objects.filter(user__in=users), "user_id")
    theirs = _by(Grant.objects.filter(group__in={each for held in member_of.values() for each in held}), "group_id")
    uploads = Counter(Source.objects.filter(owner__in=users, cluster=None).values_list("owner", flat=True))
    made = []
    for user in users:
        given = [reason(each) for each in own.get(user.pk, [])]
        given += [reason(each, name) for group, name in member_of[user.pk].items() for each in theirs.get(group, [])]
        made.append(_person(user, given, uploads[user.pk]))
    return made


def groups(found: Iterable[Group]) -> list[Holder]:
    """Return these groups with their roles."""
    listed = list(found)
    given = _by(Grant.objects.filter(group__in=listed), "group_id")
    active = User.groups.through.objects.filter(group__in=listed, user__is_active=True)
    members = Counter(active.values_list("group", flat=True))
    made = []
    for group in listed:
        reasons = [reason(each) for each in given.get(group.pk, [])]
        made.append(Holder(group.name, True, "", True, members[group.pk], _administers(reasons), reasons))
    return made


def reason(grant: Grant, group: str = "") -> Reason:
    """Return a grant in words, with the name of the group by which a person has it."""
    by = grant.created_by or "somebody without a name"
    at = f"{grant.created:{MINUTE}}"
    return Reason(
        role=grant.role,
        on=thing(grant),
        namespaces=grant.namespaces,
        why=f"{f'by the group {group}, ' if group else ''}given by {by} on {at}",
        group=group,
        grant=grant.pk,
        cluster=grant.cluster_id,
        source=grant.source_id,
        by=grant.created_by,
        at=grant.created,
    )


def in_words(grant: Grant) -> str:
    """Return a grant as the end of a sentence, such as "viewer of the cluster prod"."""
    where = f" in {', '.join(grant.namespaces)}" if grant.namespaces else ""
    return f"{grant.role} of {thing(grant)}{where}"


def thing(grant: Grant) -> str:
    """Return what a grant is on."""
    if grant.cluster is not None:
        return f"the cluster {grant.cluster.name}"
    if grant.source is not None:
        return f"the recording {grant.source.name}"
    return "everything"


def document(held: Holder) -> dict[str, Any]:
    """Return the roles of a person or a group as JSON."""
    return {
        "schema": "causeline.rights/v1",
        "name": held.name,
        "group": held.is_group,
        "active": held.active,
        "administrator": held.administrator,
        "roles": [
            {
                "role": str(each.role),
                "on": each.on,
                "cluster": each.cluster,
                "source": each.source,
                "namespaces": list(each.namespaces),
                "by_group": each.group or None,
                "why": each.why,
                "given_by": each.by or None,
                "given": each.at.isoformat(timespec="seconds") if each.at else None,
            }
            for each in held.reasons
        ],
    }


def _person(user: User, given: list[Reason], uploads: int) -> Holder:
    reasons = list(given)
    if uploads:
        on, why = ("one recording", "uploaded it") if uploads == 1 else (f"{uploads} recordings", "uploaded them")
        reasons.append(_by_itself(Grant.Role.EDITOR, on, f"by having {why}"))
    if settings.DEFAULT_ROLE:
        reasons.append(_by_itself(settings.DEFAULT_ROLE, "everything", "by the setting CAUSELINE_DEFAULT_ROLE"))
    active = user.is_active
    return Holder(user.username, False, user.get_full_name(), active, 0, active and _administers(reasons), reasons)


def _by_itself(role: str, on: str, why: str) -> Reason:
    return Reason(role, on, (), why, "", None, None, None, "", None)


def _administers(reasons: Iterable[Reason]) -> bool:
    return any(each.role == Grant.Role.ADMIN and each.on == "everything" for each in reasons)


def _memberships(users: list[User]) -> dict[int, dict[int, str]]:
    """Return the names of the groups of each of these people, by number."""
    held: dict[int, dict[int, str]] = {user.pk: {} for user in users}
    links = User.groups.through.objects.filter(user__in=users).order_by("group__name")
    for user, group, name in links.values_list("user", "group", "group__name"):
        held[user][group] = name
    return held


def _by(found: Any, key: str) -> dict[int, list[Grant]]:
    """Return the grants of each person or group, the highest and widest roles first."""
    held: dict[int, list[Grant]] = {}
    rows = found.select_related("cluster", "source").order_by("pk")
    for each in sorted(rows, key=lambda row: (row.cluster_id or row.source_id or 0, -grants.ROLES.index(row.role))):
        held.setdefault(getattr(each, key), []).append(each)
    return held
