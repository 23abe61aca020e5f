"""Add up what roles somebody has: by grants to the person and to the person's groups, and on the recordings that the
person has uploaded.

All of it is read in one query for each request (see `held_by`). A higher role contains the lower ones.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.db import connection

from dashboard.models import Grant
from timeline.storage.permitted.limits import EVERYTHING, Permitted

ROLES = tuple(Grant.Role.values)  # from the least to the highest
_RANKS = {"": 0} | {role: rank for rank, role in enumerate(ROLES, start=1)}
_KEPT = "_causeline_held"  # the attribute of a user that keeps what was read
# Written by hand: it takes Django longer to write it, for each request, than PostgreSQL to answer it.
_ROWS = """
    SELECT mine.account, role, mine.cluster_id, coalesce(source.id, mine.source_id), mine.namespaces
    FROM (
        SELECT user_id AS account, role, cluster_id, source_id, namespaces
        FROM dashboard_grant WHERE user_id = ANY(%(accounts)s)
        UNION ALL
        SELECT member.user_id, role, cluster_id, source_id, namespaces
        FROM dashboard_grant JOIN auth_user_groups AS member USING (group_id) WHERE member.user_id = ANY(%(accounts)s)
    ) AS mine LEFT JOIN timeline_source AS source ON source.cluster_id = mine.cluster_id
    UNION ALL
    SELECT owner_id, %(owner)s, NULL, id, '{}'::text[]
    FROM timeline_source WHERE owner_id = ANY(%(accounts)s) AND cluster_id IS NULL
"""


@dataclass(frozen=True)
class Held:
    """The roles of somebody. An empty text is no role; identifiers are those of the database."""

    everywhere: str = ""  # the role on everything
    clusters: Mapping[int, str] = field(default_factory=dict)  # on all sources of a cluster
    sources: Mapping[int, str] = field(default_factory=dict)  # on all of a source
    namespaces: Mapping[int, Mapping[str, str]] = field(default_factory=dict)  # by source and namespace
    cluster_namespaces: Mapping[int, Mapping[str, str]] = field(default_factory=dict)  # by cluster and namespace

    def on_source(self, source: int) -> str:
        """Return the role on all of a source."""
        return highest(self.everywhere, self.sources.get(source, ""))

    def on_cluster(self, cluster: int) -> str:
        """Return the role on all of a cluster."""
        return highest(self.everywhere, self.clusters.get(cluster, ""))

    def in_namespaces(self, source: int, namespaces: Iterable[str]) -> str:
        """Return the role in all of these namespaces of a source. What is in no namespace has the namespace ""; it
        needs a role on all of the source."""
        whole, here = self.on_source(source), self.namespaces.get(source, {})
        return min((highest(whole, here.get(each, "")) for each in namespaces), key=_rank, default=whole)

    @cached_property
    def anywhere(self) -> str:
        """The highest role on anything."""
        return highest(
            self.everywhere,
            *self.clusters.values(),
            *self.sources.values(),
            *(role for roles in self.cluster_namespaces.values() for role in roles.values()),
            *(role for roles in self.namespaces.values() for role in roles.values()),
        )

    def on_part(self, source: int) -> str:
        """Return the highest role on any part of a source."""
        return highest(self.on_source(source), *self.namespaces.get(source, {}).values())

    def on_part_of_cluster(self, cluster: int) -> str:
        """Return the highest role on any part of a cluster."""
        return highest(self.on_cluster(cluster), *self.cluster_namespaces.get(cluster, {}).values())

    @cached_property
    def seen(self) -> Permitted:
        """What may be seen with these roles."""
        if self.everywhere:
            return EVERYTHING
        return Permitted(
            whole=frozenset(self.sources),
            namespaces={
                source: frozenset(roles) for source, roles in self.namespaces.items() if source not in self.sources
            },
            clusters=frozenset(self.clusters),
        )

    def capped(self, most: str) -> "Held":
        """Return these roles, lowered to `most` where they are higher."""

        def lower(roles: Mapping[int, str]) -> dict[int, str]:
            return {key: min(role, most, key=_rank) for key, role in roles.items()}

        def parts(roles: Mapping[int, Mapping[str, str]]) -> dict[int, dict[str, str]]:
            return {key: {name: min(role, most, key=_rank) for name, role in of.items()} for key, of in roles.items()}

        return Held(
            min(self.everywhere, most, key=_rank),
            lower(self.clusters),
            lower(self.sources),
            parts(self.namespaces),
            parts(self.cluster_namespaces),
        )

    def reaching(self, needed: str) -> "Held":
        """Return those of these roles that contain the one that is needed."""

        def high(roles: Mapping[Any, str]) -> dict[Any, str]:
            return {key: role for key, role in roles.items() if reaches(role, needed)}

        return Held(
            self.everywhere if reaches(self.everywhere, needed) else "",
            high(self.clusters),
            high(self.sources),
            {key: high(of) for key, of in self.namespaces.items()},
            {key: high(of) for key, of in self.cluster_namespaces.items()},
        )

    def only(self, sources: Collection[int], clusters: Collection[int] = ()) -> "Held":
        """Return these roles on no other sources and clusters than these."""
        return Held(
            clusters={each: role for each in clusters if (role := self.on_cluster(each))},
            sources={each: role for each in sources if (role := self.on_source(each))},
            namespaces={each: self.namespaces[each] for each in sources if each in self.namespaces},
            cluster_namespaces={
                each: self.cluster_namespaces[each] for each in clusters if each in self.cluster_namespaces
            },
        )

    @cached_property
    def fingerprint(self) -> str:
        """A text that differs if anything of the roles differs."""
        parts = [self.everywhere, self.clusters, self.sources, self.cluster_namespaces, self.namespaces]
        return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


NOTHING = Held()
ALL = Held(everywhere=Grant.Role.ADMIN)


def reaches(held: str, needed: str) -> bool:
    """Return whether one role contains the other."""
    return _rank(held) >= _rank(needed)


def highest(*roles: str) -> str:
    """Return the highest of these roles; "" if there is none."""
    return max(roles, key=_rank, default="")


def held_by(user: Any) -> Held:
    """Return the roles of a user. They are read once for each user object, which lives as long as its request.

    Users who are no account, such as the holder of a token, have an attribute `held`. Without accounts, everybody is an
    administrator.
    """
    held: Held | None = getattr(user, "held", None) or getattr(user, _KEPT, None)
    if held is not None:
        return held
    if not (settings.LOGIN_REQUIRED or settings.TOKEN_REQUIRED):
        return ALL
    if not getattr(user, "is_authenticated", False) or not user.is_active or user.pk is None:
        return NOTHING
    held = read(user.pk)
    setattr(user, _KEPT, held)
    return held


def read(account: int) -> Held:
    """Read the roles of an account as they are now, with one query."""
    return _read([account])[account]


def fingerprints(accounts: Collection[int]) -> dict[int, str]:
    """Return the fingerprint of the roles that each of these accounts has now, with one query for all of them."""
    return {account: held.fingerprint for account, held in _read(accounts).items()}


def _read(accounts: Collection[int]) -> dict[int, Held]:
    """Return the roles of each of these accounts. Whoever has uploaded a recording is an editor of it."""
    default = [(settings.DEFAULT_ROLE, None, None, list[str]())] if settings.DEFAULT_ROLE else []
    rows: dict[int, list[tuple[str, int | None, int | None, list[str]]]] = {each: [*default] for each in accounts}
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, {"accounts": list(rows), "owner": Grant.Role.EDITOR.value})
        for account, *row in cursor:
            rows[account].append((row[0], row[1], row[2], row[3]))
    return {account: added_up(of_account) for account, of_account in rows.items()}


def added_up(rows: Iterable[tuple[str, int | None, int | None, list[str]]]) -> Held:
    """Add up roles from rows of role, cluster, source and namespaces. A row without cluster and source is a role on
    everything. A role on a cluster has a row for each source of it, or one without a source if it has none yet."""
    everywhere = ""
    clusters: dict[int, str] = {}
    sources: dict[int, str] = {}
    namespaces: dict[int, dict[str, str]] = {}
    cluster_namespaces: dict[int, dict[str, str]] = {}
    for role, cluster, source, names in rows:
        if cluster is None and source is None:
            everywhere = highest(everywhere, role)
        for whole, parts, key in ((clusters, cluster_namespaces, cluster), (sources, namespaces, source)):
            if key is None:
                continue
            if not names:
                whole[key] = highest(whole.get(key, ""), role)
            for name in names:
                part = parts.setdefault(key, {})
                part[name] = highest(part.get(name, ""), role)
    return Held(everywhere, clusters, sources, namespaces, cluster_namespaces)


def _rank(role: str) -> int:
    return _RANKS[role]
