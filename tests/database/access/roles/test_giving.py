"""These tests give roles and take them away, and try to take away the last administrator."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, transaction

from dashboard.access.roles import giving, grants
from dashboard.access.signing_in import people
from dashboard.models import Grant
from tests.people import member
from timeline.models import Cluster, Source

pytestmark = pytest.mark.django_db
Act = Callable[[], object]
LAST = "Nobody would be an administrator then"


def test_a_role_takes_the_place_of_the_one_on_the_same_thing() -> None:
    alice, prod = member(name="alice"), Cluster.objects.create(name="prod")
    recording = Source.objects.create(name="recording")
    giving.give(alice, "viewer", "ada")
    giving.give(alice, "editor", "ada", on=prod)
    giving.give(alice, "responder", "ada", on=recording)
    giving.give(alice, "responder", "ada", on=prod)
    held = grants.read(alice.pk)
    assert (held.everywhere, held.on_cluster(prod.pk), held.on_source(recording.pk)) == (
        "viewer",
        "responder",
        "responder",
    )
    assert Grant.objects.filter(user=alice).count() == 3


def test_what_cannot_be_given_is_refused_with_the_reason() -> None:
    alice, prod = member(name="alice"), Cluster.objects.create(name="prod")
    observed = Source.objects.create(name="prod", cluster=prod)
    for role, on, namespaces, why in (
        ("owner", None, [], "owner is no role; roles are viewer, responder, editor, admin"),
        ("admin", prod, [], "An administrator is one of everything"),
        ("viewer", observed, [], "Give the role on the cluster"),
        ("viewer", None, ["a"], "of which cluster or recording"),
        ("editor", prod, ["a"], "viewer or responder"),
        ("viewer", prod, ["a", "B c"], "'B c' is not the name of a namespace"),
        ("viewer", prod, [f"n{number}" for number in range(1001)], "at most 1000"),
    ):
        with pytest.raises(giving.Refused, match=why):
            giving.give(alice, role, "ada", on=on, namespaces=namespaces)
    assert not Grant.objects.exists()
    assert giving.give(alice, "viewer", "ada", on=prod, namespaces=["b", "a", "b"]).namespaces == ["a", "b"]
    giving.give(alice, "responder", "ada", on=prod, namespaces=["a", "b"])
    assert [grant.role for grant in giving.given_on(alice, prod)] == ["responder"]


@pytest.mark.parametrize("name", ["platform", "oidc:", "oidc:a\0b", "oidc:" + "x" * 150, "ldap:platform"])
def test_other_groups_have_to_exist(name: str) -> None:
    with pytest.raises(giving.Refused, match="There is no group with the name"):
        giving.group_to_be(name)
    assert not Group.objects.exists()


@pytest.mark.parametrize("way", ["revoked", "lowered", "deleted", "deleted with all", "deactivated"])
def test_the_last_administrator_stays(way: str) -> None:
    ada = member("admin", name="ada")
    member("editor", name="bob")
    act: Act = {
        "revoked": lambda: giving.take(Grant.objects.get(user=ada).pk),
        "lowered": lambda: giving.give(ada, "editor", "ada"),
        "deleted": lambda: User.objects.get(pk=ada.pk).delete(),
        "deleted with all": lambda: User.objects.all().delete(),
        "deactivated": lambda: call_command("deactivate", "ada"),
    }[way]
    eve = member("admin", name="eve")
    User.objects.filter(pk=eve.pk).update(is_active=False)  # who cannot sign in is no administrator
    with pytest.raises((giving.Refused, CommandError), match=LAST), transaction.atomic():
        act()
    assert giving.administrators().get() == ada and User.objects.count() == 3
    if way != "deleted with all":
        call_command("activate", "eve")
        act()
        assert giving.administrators().get() == eve


def test_a_group_counts_while_somebody_who_may_sign_in_is_in_it() -> None:
    ada, group = member("admin", name="ada"), giving.group_to_be("oidc:platform")
    giving.give(group, "admin", "ada")  # before anybody in it signs in
    with pytest.raises(giving.Refused, match=LAST):
        giving.give(ada, "viewer", "ada")
    bob = member(name="bob")
    people.take_groups(bob, "oidc", ["platform"])
    giving.give(ada, "viewer", "ada")
    assert giving.administrators().get() == bob and grants.read(bob.pk).everywhere == "admin"
    for refused in (bob, group):
        with pytest.raises(giving.Refused, match=LAST), transaction.atomic():
            refused.delete()
    with pytest.raises(CommandError, match=LAST):
        call_command("deactivate", "bob")
    people.take_groups(bob, "oidc", [])  # the provider decides, and whoever was removed there loses the rights
    assert not giving.administrators().exists()
    giving.give(ada, "admin", "the command line")


@pytest.mark.django_db(transaction=True)
def test_of_two_administrators_who_are_taken_away_at_the_same_time_one_stays() -> None:
    ada, eve = member("admin", name="ada"), member("admin", name="eve")
    together = Barrier(2)

    def lowered(user: User) -> str:
        try:
            together.wait(10)
            giving.give(user, "viewer", "somebody")
            return "done"
        except giving.Refused:
            return "refused"
        finally:
            connection.close()

    def deactivated(user: User) -> str:
        try:
            with giving.one_administrator_stays():
                User.objects.filter(pk=user.pk).update(is_active=False)
                together.wait(10)  # the other one has begun, and waits for this transaction
            return "done"
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.submit(deactivated, ada), pool.submit(lowered, eve)
        assert (first.result(), second.result()) == ("done", "refused")
    assert giving.administrators().get() == eve
