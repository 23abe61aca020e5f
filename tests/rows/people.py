"""Accounts with roles, for tests."""

from typing import Any

from django.contrib.auth.models import User

from dashboard.models import Grant
from timeline.models import Cluster, Source

PASSWORD = "a long enough password"


def member(role: str = "", *, on: Source | Cluster | None = None, namespaces: Any = (), name: str = "") -> User:
    """Make an account, which has a role on a source, on a cluster, or on everything, unless the role is empty.

    With namespaces, it has the role only in these.
    """
    name = name or f"{role or 'nobody'}-{User.objects.count()}"
    user = User.objects.create_user(name, password=PASSWORD)
    if role:
        grant(user, role, on=on, namespaces=namespaces)
    return user


def grant(user: User, role: str, *, on: Source | Cluster | None = None, namespaces: Any = ()) -> Grant:
    """Give a role to an account."""
    return Grant.objects.create(
        user=user,
        role=role,
        cluster=on if isinstance(on, Cluster) else None,
        source=on if isinstance(on, Source) else None,
        namespaces=list(namespaces),
        created_by="a test",
    )
