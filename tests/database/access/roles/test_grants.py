"""What the grants of a person and of the person's groups add up to."""

from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import AnonymousUser, Group, User
from pytest_django import DjangoAssertNumQueries, Settings

from dashboard.access.roles import grants
from dashboard.models import Grant
from tests.people import grant, member
from timeline.models import Cluster, Source
from timeline.storage.seen.limits import EVERYTHING, Seen

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
    assert (nobody.seen, nobody.anywhere) == (Seen(), "")
    assert everywhere.seen == EVERYTHING
    assert everywhere.on_source(sources[0].pk) == everywhere.on_cluster(1) == everywhere.anywhere == "responder"
    held = grants.held_by(member("viewer", on=cluster))
    assert held.seen == Seen(whole=frozenset(each.pk for each in sources[:2]), clusters=frozenset([cluster.pk]))
    assert held.on_cluster(cluster.pk) == "viewer" and held.on_part_of_cluster(cluster.pk)
    assert not held.on_part(sources[2].pk)
    held = grants.held_by(member("admin", on=sources[2]))
    assert (held.everywhere, held.seen) == ("", Seen(whole=frozenset({sources[2].pk})))
    empty = Cluster.objects.create(name="without a source")
    held = grants.held_by(member("editor", on=empty))
    assert (held.on_cluster(empty.pk), held.seen) == ("editor", Seen(clusters=frozenset([empty.pk])))
    uploader = member()
    Source.objects.filter(pk=sources[2].pk).update(owner=uploader)
    assert grants.held_by(uploader).on_source(sources[2].pk) == "editor"


def test_namespaces_beside_a_role_on_the_whole_source(sources: list[Source]) -> None:
    user, key = member("viewer", on=sources[2]), sources[2].pk
    grant(user, "responder", on=sources[2], namespaces=["a"])
    held = grants.held_by(user)
    assert held.seen == Seen(whole=frozenset({key}))
    assert [held.in_namespaces(key, names) for names in (["a"], ["a", "b"])] == ["responder", "viewer"]


def test_inactive_accounts_and_strangers_have_nothing_without_accounts_everybody_is_an_administrator(
    settings: Settings,
) -> None:
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
    assert held.seen == Seen(namespaces={sources[0].pk: names, sources[1].pk: names})
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


def test_accounts_of_the_version_before_keep_what_they_could_do() -> None:
    ada = User.objects.create_user("ada", is_staff=True)
    bob = User.objects.create_user("bob")
    kept = member("viewer", name="has a grant already")
    migration = import_module("dashboard.migrations.0009_grants_of_accounts")
    migration.give_roles(apps, None)
    migration.give_roles(apps, None)  # a second time changes nothing
    assert [grants.read(user.pk).everywhere for user in (ada, bob, kept)] == ["admin", "responder", "viewer"]
    assert Grant.objects.count() == 3
