"""Give roles to people and groups, and take them away. One administrator always stays.

A role is given on everything, on a cluster with all its sources, or on a recording. There is one grant for each thing:
another role on the same thing takes the place of the one before.

The last administrator cannot be taken away by anything that is done in Causeline. A group counts while somebody who may
sign in is a member. Who is in a group of an identity provider or of a proxy is decided there, and never refused here,
since whoever was removed there must lose the rights at once. If nobody is an administrator after that, the command
`causeline grant` makes somebody one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import cast

from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.signals import post_delete, pre_delete

from dashboard.access.roles import grants
from dashboard.models import Grant
from timeline.models import Cluster, Source

MOST_NAMESPACES = 1_000  # of one grant
PREFIXES = ("oidc:", "proxy:")  # begin the names of groups that an identity provider or a proxy tells of
_LONGEST_NAME = 150  # characters of the name of a user or a group, in Django's tables
_LOCK = 0x6772616E7473  # the number of the PostgreSQL advisory lock under which administrators are counted
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", re.ASCII)
_BEFORE = "_causeline_administrators"  # the attribute of a deleted row: whether there were administrators before


class GrantRefused(Exception):
    """What was asked for is not possible; the text says why."""


def holder(name: str, *, group: bool = False) -> User | Group:
    """Return the person, or the group, of this name. Raise Refused if there is none."""
    model: type[User] | type[Group] = Group if group else User
    usable = name if "\0" not in name else ""
    found = model._default_manager.filter(**{("name" if group else "username"): usable}).first()
    if found is None:
        raise GrantRefused(f"There is no {'group' if group else 'account'} with the name {name[:_LONGEST_NAME]}.")
    return found


def group_to_be(name: str) -> Group:
    """Return the group of this name. A group of an identity provider or a proxy is made if nobody who is in it has
    signed in yet. Raise Refused if the name cannot be that of a group."""
    known = name.startswith(PREFIXES) and name not in PREFIXES and name.isprintable() and len(name) <= _LONGEST_NAME
    if not known or "\0" in name:
        try:
            return holder(name, group=True)  # type: ignore[return-value]
        except GrantRefused as error:
            raise GrantRefused(
                f"{error} A group that nobody has signed in with yet has a name like {PREFIXES[0]}platform, with what "
                "the provider calls it after the colon."
            ) from None
    return Group.objects.get_or_create(name=name)[0]


def give(
    to: User | Group, role: str, by: str, *, on: Cluster | Source | None = None, namespaces: Iterable[str] = ()
) -> Grant:
    """Let this be the role of a person or a group on a cluster, a recording or everything, in place of the one it had
    there. Raise Refused if the role cannot be given, or if nobody would be an administrator then."""
    names = sorted(set(namespaces))
    _check(role, on, names)
    with one_administrator_stays():
        Grant.objects.filter(**_thing(on), **_key(to), namespaces=names).delete()
        return Grant.objects.create(**_thing(on), **_key(to), namespaces=names, role=role, created_by=by)


def take(number: int) -> Grant | None:
    """Take a grant away and return it; None if there is none with this number. Raise Refused if nobody would be an
    administrator then."""
    with one_administrator_stays():
        grant = Grant.objects.select_related("user", "group", "cluster", "source").filter(pk=number).first()
        if grant is not None:
            Grant.objects.filter(pk=number).delete()
    return grant


def given_on(of: User | Group, on: Cluster | Source | None) -> list[Grant]:
    """Return the grants of a person or a group on exactly this thing, those of its namespaces among them."""
    return list(Grant.objects.filter(**_thing(on), **_key(of)).order_by("pk"))


def name_of(holder: User | Group) -> str:
    """Return the name of a person or a group."""
    return holder.name if isinstance(holder, Group) else holder.username


def holder_of(grant: Grant) -> User | Group:
    """Return the person or the group that has a grant. The database requires that there is one."""
    return cast("User | Group", grant.group or grant.user)


def described(grant: Grant) -> Mapping[str, object]:
    """Return what the audit trail and the log say of a grant."""
    thing = grant.cluster or grant.source
    return {
        "name": name_of(holder_of(grant)),
        "to": "group" if grant.group_id else "person",
        "role": grant.role,
        "on": thing.name if thing else "everything",
        "cluster": grant.cluster_id,
        "source": grant.source_id,
        "namespaces": ", ".join(grant.namespaces),
    }


def administrators() -> QuerySet[User]:
    """Return the people who may sign in and were made administrators, by themselves or by a group."""
    given = Grant.objects.filter(role=Grant.Role.ADMIN, cluster=None, source=None).order_by()
    members = User.groups.through.objects.filter(group__in=given.exclude(group=None).values("group"))
    by_either = Q(pk__in=given.exclude(user=None).values("user")) | Q(pk__in=members.values("user"))
    return User.objects.filter(by_either, is_active=True)


@contextmanager
def one_administrator_stays() -> Iterator[None]:
    """Undo what is done inside, and raise Refused, if there were administrators and it leaves none.

    Of two that run at the same time, one waits for the other.
    """
    with transaction.atomic():
        before = _administrators_now()
        yield
        _require(before)


def listen() -> None:
    """Refuse from now on to delete the account, or the group, of the last administrator."""
    for model in (User, Group):
        pre_delete.connect(_before_deletion, sender=model, dispatch_uid="causeline.giving")
        post_delete.connect(_after_deletion, sender=model, dispatch_uid="causeline.giving")


def _check(role: str, on: Cluster | Source | None, namespaces: list[str]) -> None:
    """Raise Refused if no such role can be given."""
    if role not in grants.ROLES:
        raise GrantRefused(f"{role[:50]} is no role; roles are {', '.join(grants.ROLES)}.")
    if on is not None and role == Grant.Role.ADMIN:
        raise GrantRefused("An administrator is one of everything. On a cluster or a recording, give editor instead.")
    if isinstance(on, Source) and on.cluster_id is not None:
        raise GrantRefused(f"{on.name} is what was observed of a cluster. Give the role on the cluster.")
    if not namespaces:
        return
    if on is None:
        raise GrantRefused("Say of which cluster or recording the namespaces are.")
    if role not in {Grant.Role.VIEWER, Grant.Role.RESPONDER}:
        raise GrantRefused("In namespaces, the role is viewer or responder.")
    if len(namespaces) > MOST_NAMESPACES:
        raise GrantRefused(f"A role is given in at most {MOST_NAMESPACES} namespaces at once.")
    if wrong := next((each for each in namespaces if not _NAMESPACE.fullmatch(each)), None):
        raise GrantRefused(f"{wrong[:63]!r} is not the name of a namespace.")


def _thing(on: Cluster | Source | None) -> dict[str, Cluster | Source | None]:
    return {
        "cluster": on if isinstance(on, Cluster) else None,
        "source": on if isinstance(on, Source) else None,
    }


def _key(of: User | Group) -> dict[str, User | Group | None]:
    return {"group": of if isinstance(of, Group) else None, "user": None if isinstance(of, Group) else of}


def _administrators_now() -> bool:
    """Return whether there are administrators, who stay the same until this transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
    return administrators().exists()


def _require(before: bool) -> None:
    if before and not administrators().exists():
        raise GrantRefused("Nobody would be an administrator then. Make somebody else an administrator first.")


def _before_deletion(instance: User | Group, **_: object) -> None:
    setattr(instance, _BEFORE, _administrators_now())


def _after_deletion(instance: User | Group, **_: object) -> None:
    _require(getattr(instance, _BEFORE))
