"""These tests give roles, take them away, and add up what the grants of a person and of its groups are."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User
from django.core.management import call_command
from django.db import connection, transaction
from pytest_django import DjangoAssertNumQueries, Settings

from dashboard.access.roles import giving, grants
from dashboard.access.signing_in import people
from dashboard.models import Grant
from tests.database.storage.sources import ran
from tests.rows.people import grant, member
from timeline.models import Cluster, Source
from timeline.storage.permitted.limits import EVERYTHING, Permitted

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="prod")


@pytest.fixture
def sources(cluster: Cluster) -> list[Source]:
    """Two sources of one cluster, since its etcd was restored, and a recording."""
    return [
        Source.objects.create(name="before", cluster=cluster),
        Source.objects.create(name="after", cluster=cluster),
        Source.objects.create(name="recording"),
    ]


def test_a_role_is_on_what_it_was_given_for_and_on_nothing_else(cluster: Cluster, sources: list[Source]) -> None:
    nobody, everywhere = grants.held_by(member()), grants.held_by(member("responder"))
    assert (nobody.seen, nobody.anywhere) == (Permitted(), "")
    assert everywhere.seen == EVERYTHING
    assert everywhere.on_source(sources[0].pk) == everywhere.on_cluster(1) == everywhere.anywhere == "responder"
    held = grants.held_by(member("viewer", on=cluster))
    assert held.seen == Permitted(whole=frozenset(each.pk for each in sources[:2]), clusters=frozenset([cluster.pk]))
    assert held.on_cluster(cluster.pk) == "viewer" and held.on_part_of_cluster(cluster.pk)
    assert not held.on_part(sources[2].pk)
    held = grants.held_by(member("admin", on=sources[2]))
    assert (held.everywhere, held.seen) == ("", Permitted(whole=frozenset({sources[2].pk})))
    empty = Cluster.objects.create(name="without a source")
    held = grants.held_by(member("editor", on=empty))
    assert (held.on_cluster(empty.pk), held.seen) == ("editor", Permitted(clusters=frozenset([empty.pk])))
    uploader = member()
    Source.objects.filter(pk=sources[2].pk).update(owner=uploader)
    assert grants.held_by(uploader).on_source(sources[2].pk) == "editor"


def test_namespaces_beside_a_role_on_the_whole_source(sources: list[Source]) -> None:
    user, key = member("viewer", on=sources[2]), sources[2].pk
    grant(user, "responder", on=sources[2], namespaces=["a"])
    held = grants.held_by(user)
    assert held.seen == Permitted(whole=frozenset({key}))
    assert [held.in_namespaces(key, names) for names in (["a"], ["a", "b"])] == ["responder", "viewer"]


def test_strangers_have_nothing_and_without_accounts_everybody_is_an_administrator(settings: Settings) -> None:
    user = member("admin")
    user.is_active = False
    settings.DEFAULT_ROLE = "viewer"  # what every account has at least
    assert [grants.held_by(member(role)).everywhere for role in ("", "admin")] == ["viewer", "admin"]
    assert grants.held_by(user) == grants.held_by(AnonymousUser()) == grants.NOTHING
    settings.LOGIN_REQUIRED = False
    assert grants.held_by(AnonymousUser()).seen == EVERYTHING
    assert grants.held_by(member()) == grants.ALL


def test_fingerprints_tell_the_roles_of_many_apart(cluster: Cluster, sources: list[Source]) -> None:
    users = [
        member(),
        member("admin"),
        member("viewer", on=cluster, namespaces=["a", "b"]),
        member("editor", on=Cluster.objects.create(name="empty")),
        member("viewer", on=sources[2]),
    ]
    Source.objects.create(name="own", ready=True, owner=users[0])
    team = Group.objects.create(name="team")
    team.user_set.add(users[1], users[2])
    Grant.objects.create(group=team, role=Grant.Role.RESPONDER, cluster=cluster, created_by="a test")
    found = grants.fingerprints([each.pk for each in users])
    assert found == {each.pk: grants.read(each.pk).fingerprint for each in users}
    assert len({*found.values()}) == len(users)
    added = grant(users[4], "viewer", on=cluster, namespaces=["a"])
    assert grants.read(users[4].pk).fingerprint != found[users[4].pk]
    added.delete()
    assert grants.read(users[4].pk).fingerprint == found[users[4].pk]


def test_namespaces_of_a_cluster(cluster: Cluster, sources: list[Source]) -> None:
    user = member("viewer", on=cluster, namespaces=["a", "b"])
    grant(user, "responder", on=cluster, namespaces=["b", "c"])
    held = grants.held_by(user)
    names = frozenset("abc")
    assert held.seen == Permitted(namespaces={sources[0].pk: names, sources[1].pk: names})
    assert held.on_cluster(cluster.pk) == held.on_source(sources[0].pk) == ""
    assert held.on_part_of_cluster(cluster.pk)
    assert held.on_part(sources[0].pk)
    assert held.in_namespaces(sources[0].pk, ["b", "c"]) == "responder"
    assert held.in_namespaces(sources[0].pk, ["a", "c"]) == "viewer"
    assert held.in_namespaces(sources[0].pk, ["a", ""]) == ""
    assert held.in_namespaces(sources[2].pk, ["a"]) == ""
    assert held.anywhere == "responder"


def test_roles_of_groups_count_and_the_highest_wins(cluster: Cluster, sources: list[Source]) -> None:
    user = member("viewer", on=cluster)
    group = Group.objects.create(name="team")
    Grant.objects.create(group=group, role="editor", cluster=cluster, created_by="a test")
    Grant.objects.create(group=Group.objects.create(name="others"), role="admin", created_by="a test")
    user.groups.add(group)
    held = grants.held_by(user)
    assert held.on_cluster(cluster.pk) == held.on_source(sources[1].pk) == "editor"
    assert held.everywhere == ""


def test_one_query_for_many_grants_and_only_once_for_a_user(
    cluster: Cluster, sources: list[Source], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    user = member()
    for number in range(50):
        grant(user, "viewer", on=cluster, namespaces=[f"n{number}"])
    with django_assert_num_queries(1):
        assert len(grants.held_by(user).seen.namespaces[sources[0].pk]) == 50
        grants.held_by(user)


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
        with pytest.raises(giving.GrantRefused, match=why):
            giving.give(alice, role, "ada", on=on, namespaces=namespaces)
    assert not Grant.objects.exists()
    assert giving.give(alice, "viewer", "ada", on=prod, namespaces=["b", "a", "b"]).namespaces == ["a", "b"]
    giving.give(alice, "responder", "ada", on=prod, namespaces=["a", "b"])
    assert [grant.role for grant in giving.given_on(alice, prod)] == ["responder"]


@pytest.mark.parametrize("name", ["platform", "oidc:", "oidc:a\0b", "oidc:" + "x" * 150, "ldap:platform"])
def test_other_groups_have_to_exist(name: str) -> None:
    with pytest.raises(giving.GrantRefused, match="There is no group with the name"):
        giving.group_to_be(name)
    assert not Group.objects.exists()


@pytest.mark.parametrize("way", ["revoked", "lowered", "deleted", "deleted with all", "deactivated"])
def test_the_last_administrator_stays(way: str, capsys: pytest.CaptureFixture[str]) -> None:
    ada = member("admin", name="ada")
    member("editor", name="bob")
    act: Act = {
        "revoked": lambda: giving.take(Grant.objects.get(user=ada).pk),
        "lowered": lambda: giving.give(ada, "editor", "ada"),
        "deleted": lambda: User.objects.get(pk=ada.pk).delete(),
        "deleted with all": lambda: User.objects.all().delete(),
        "deactivated": lambda: deactivated("ada", capsys),
    }[way]
    eve = member("admin", name="eve")
    User.objects.filter(pk=eve.pk).update(is_active=False)  # who cannot sign in is no administrator
    with pytest.raises(giving.GrantRefused, match=LAST), transaction.atomic():
        act()
    assert giving.administrators().get() == ada and User.objects.count() == 3
    if way != "deleted with all":
        call_command("causeline", "activate", "eve")
        act()
        assert giving.administrators().get() == eve


def deactivated(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Deactivate an account on the command line, and raise what is printed if that is refused."""
    if ran("deactivate", name):
        raise giving.GrantRefused(capsys.readouterr().err)


def test_a_group_counts_while_somebody_who_may_sign_in_is_in_it(capsys: pytest.CaptureFixture[str]) -> None:
    ada, group = member("admin", name="ada"), giving.group_to_be("oidc:platform")
    giving.give(group, "admin", "ada")  # before anybody in it signs in
    with pytest.raises(giving.GrantRefused, match=LAST):
        giving.give(ada, "viewer", "ada")
    bob = member(name="bob")
    people.take_groups(bob, "oidc", ["platform"])
    giving.give(ada, "viewer", "ada")
    assert giving.administrators().get() == bob and grants.read(bob.pk).everywhere == "admin"
    for refused in (bob, group):
        with pytest.raises(giving.GrantRefused, match=LAST), transaction.atomic():
            refused.delete()
    with pytest.raises(giving.GrantRefused, match=LAST):
        deactivated("bob", capsys)
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
        except giving.GrantRefused:
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
