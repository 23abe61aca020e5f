"""Find or make the account of somebody whom an identity provider or a proxy has signed in.

An account belongs to an identity: the provider's issuer and its identifier of the person. Names and e-mail addresses
are only shown, since they can change hands: a provider's `alice` never gets the account of a local user `alice`.
"""

import re
from collections.abc import Collection
from typing import NamedTuple

from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction

PROXY = "proxy"  # the provider of identities that proxies send; those of OpenID Connect have their issuer
MOST_GROUPS = 1_000  # of one person
_OTHERS = re.compile(r"[^\w.@+-]+")  # characters that no name of an account has
_LONGEST_NAME = 150  # characters of the name of a user or a group, in Django's tables
LONGEST_ID = 191  # characters of `SocialAccount.uid`


class Unknown(Exception):
    """What a provider or a proxy says does not identify anybody. The message is a sentence for people."""


class Identity(NamedTuple):
    """What a provider or a proxy says of somebody."""

    provider: str  # the issuer, or PROXY
    subject: str  # what the provider never gives to anybody else
    name: str  # a wish for the user name
    email: str
    full_name: str
    groups: Collection[str]
    prefix: str  # of the groups in Causeline: "oidc" or "proxy"


def account_of(identity: Identity) -> User:
    """Return the account of an identity, which is made at the first time, with its names and groups brought up to date.

    An account that was deactivated is returned, too. Raise Unknown if there is no subject, or one that is too long.
    """
    if not identifies(identity.subject):
        raise Unknown(f"The identifier of the person is not a text of 1 to {LONGEST_ID} printable characters.")
    held = SocialAccount.objects.select_related("user").filter(provider=identity.provider, uid=identity.subject).first()
    user = held.user if held else _made(identity)
    _rename(user, identity)
    take_groups(user, identity.prefix, identity.groups)
    return user


def identifies(subject: object) -> bool:
    """Return whether this can be the identifier of a person."""
    return isinstance(subject, str) and 0 < len(subject) <= LONGEST_ID and subject.isprintable()


def take_groups(user: User, prefix: str, names: Collection[str]) -> None:
    """Make the user a member of exactly these groups of a provider. Groups without the prefix stay as they are."""
    wanted = {
        f"{prefix}:{name}"
        for name in list(dict.fromkeys(names))[:MOST_GROUPS]
        if name and name.isprintable() and len(name) + len(prefix) < _LONGEST_NAME
    }
    held = dict(user.groups.filter(name__startswith=f"{prefix}:").values_list("name", "pk"))
    if lost := [pk for name, pk in held.items() if name not in wanted]:
        user.groups.remove(*lost)
    if missing := wanted - held.keys():
        Group.objects.bulk_create([Group(name=name) for name in sorted(missing)], ignore_conflicts=True)
        user.groups.add(*Group.objects.filter(name__in=missing))


def is_local(user: User) -> bool:
    """Return whether the account has a password of Causeline."""
    return bool(user.has_usable_password())


def _made(identity: Identity) -> User:
    """Make an account without a password. If two requests make it at the same time, both get the same one."""
    wish = _OTHERS.sub("-", User.normalize_username(identity.name)).strip("-") or "person"
    for number in range(1, 1_000):
        ending = "" if number == 1 else f"-{number}"
        name = wish[: _LONGEST_NAME - len(ending)] + ending
        if User.objects.filter(username__iexact=name).exists():
            continue
        try:
            with transaction.atomic():
                user = User(username=name)
                user.set_unusable_password()
                user.save()
                SocialAccount.objects.create(user=user, provider=identity.provider, uid=identity.subject)
                return user
        except IntegrityError:  # somebody else has just taken the name, or made this account
            if held := SocialAccount.objects.filter(provider=identity.provider, uid=identity.subject).first():
                return User.objects.get(pk=held.user_id)
    raise Unknown(f"There are too many accounts whose name begins with {wish[:40]}.")


def _rename(user: User, identity: Identity) -> None:
    first, _, last = identity.full_name.partition(" ")
    wanted = {
        "first_name": _printable(first)[:150],
        "last_name": _printable(last)[:150],
        "email": _printable(identity.email)[:254],
    }
    changed = [name for name, value in wanted.items() if getattr(user, name) != value]
    for name in changed:
        setattr(user, name, wanted[name])
    if changed:
        user.save(update_fields=changed)


def _printable(text: str) -> str:
    """Return a text without the characters that no name has. PostgreSQL does not store some of them."""
    return "".join(each for each in text if each.isprintable())
