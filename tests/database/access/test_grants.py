"""What the grants of a person and of the person's groups add up to."""

from collections.abc import Iterator
from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth.models import AnonymousUser, Group, User
from django.test import override_settings
from pytest_django import DjangoAssertNumQueries

from dashboard.access.roles import grants
from dashboard.models import Grant
from tests.people import grant, member
from timeline.models import Cluster, Source
from timeline.storage.seen.limits import EVERYTHING, Seen

pytestmark = pytest.mark.django_db
ACCOUNTS = override_settings(LOGIN_REQUIRED=True, TOKEN_REQUIRED=False)


@pytest.fixture(autouse=True)
def accounts() -> Iterator[None]:
    with ACCOUNTS:
        yield


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


def test_who_has_no_grant_sees_nothing(sources: list[Source]) -> None:
    user = member()
    assert grants.held_by(user).seen == Seen()
    assert grants.held_by(user).anywhere == ""


def test_role_on_everything(sources: list[Source]) -> None:
    user = member("responder")
    held = grants.held_by(user)
    assert grants.held_by(user).seen == EVERYTHING
    assert held.on_source(sources[0].pk) == held.on_cluster(1) == held.anywhere == "responder"


def test_role_on_a_cluster_is_on_all_its_sources(cluster: Cluster, sources: list[Source]) -> None:
    user = member("viewer", on=cluster)
    held = grants.held_by(user)
    assert grants.held_by(user).seen == Seen(
        whole=frozenset(each.pk for each in sources[:2]), clusters=frozenset([cluster.pk])
    )
    assert held.on_cluster(cluster.pk) == "viewer"
    assert not held.on_part(sources[2].pk)
    assert held.on_part_of_cluster(cluster.pk)


def test_cluster_without_a_source(cluster: Cluster) -> None:
    held = grants.held_by(member("editor", on=cluster))
    assert held.on_cluster(cluster.pk) == "editor"
    assert held.seen == Seen(clusters=frozenset([cluster.pk]))


def test_role_on_a_recording_is_on_nothing_else(sources: list[Source]) -> None:
    held = grants.held_by(member("admin", on=sources[2]))
    assert held.everywhere == ""
    assert held.seen == Seen(whole=frozenset({sources[2].pk}))


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


def test_namespaces_beside_a_role_on_the_whole_source(sources: list[Source]) -> None:
    user = member("viewer", on=sources[2])
    grant(user, "responder", on=sources[2], namespaces=["a"])
    held = grants.held_by(user)
    assert held.seen == Seen(whole=frozenset({sources[2].pk}))
    assert held.in_namespaces(sources[2].pk, ["a"]) == "responder"
    assert held.in_namespaces(sources[2].pk, ["a", "b"]) == "viewer"


def test_roles_of_groups_count_and_the_highest_wins(cluster: Cluster, sources: list[Source]) -> None:
    user = member("viewer", on=cluster)
    group = Group.objects.create(name="team")
    Grant.objects.create(group=group, role="editor", cluster=cluster, created_by="a test")
    Grant.objects.create(group=Group.objects.create(name="others"), role="admin", created_by="a test")
    user.groups.add(group)
    held = grants.held_by(user)
    assert held.on_cluster(cluster.pk) == held.on_source(sources[1].pk) == "editor"
    assert held.everywhere == ""


def test_who_uploaded_a_recording_is_its_editor(sources: list[Source]) -> None:
    user = member()
    Source.objects.filter(pk=sources[2].pk).update(owner=user)
    assert grants.held_by(user).on_source(sources[2].pk) == "editor"


def test_one_query_for_many_grants_and_only_once_for_a_user(
    cluster: Cluster, sources: list[Source], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    user = member()
    for number in range(50):
        grant(user, "viewer", on=cluster, namespaces=[f"n{number}"])
    with django_assert_num_queries(1):
        assert len(grants.held_by(user).seen.namespaces[sources[0].pk]) == 50
        grants.held_by(user)


def test_inactive_accounts_and_strangers_have_nothing() -> None:
    user = member("admin")
    user.is_active = False
    assert grants.held_by(user) == grants.NOTHING
    assert grants.held_by(AnonymousUser()) == grants.NOTHING


@override_settings(LOGIN_REQUIRED=False)
def test_without_accounts_everybody_is_an_administrator() -> None:
    assert grants.held_by(AnonymousUser()).seen == EVERYTHING
    assert grants.held_by(member()) == grants.ALL


@override_settings(DEFAULT_ROLE="viewer")
def test_the_default_role_is_what_every_account_has_at_least(cluster: Cluster) -> None:
    assert grants.held_by(member()).everywhere == "viewer"
    assert grants.held_by(member("admin")).everywhere == "admin"
    assert grants.held_by(AnonymousUser()) == grants.NOTHING


def test_accounts_of_the_version_before_keep_what_they_could_do() -> None:
    ada = User.objects.create_user("ada", is_staff=True)
    bob = User.objects.create_user("bob")
    kept = member("viewer", name="has a grant already")
    migration = import_module("dashboard.migrations.0009_grants_of_accounts")
    migration.give_roles(apps, None)
    migration.give_roles(apps, None)  # a second time changes nothing
    assert [grants.read(user.pk).everywhere for user in (ada, bob, kept)] == ["admin", "responder", "viewer"]
    assert Grant.objects.count() == 3


def test_the_fingerprint_tells_roles_apart(cluster: Cluster, sources: list[Source]) -> None:
    user = member("viewer", on=cluster)
    before = grants.read(user.pk).fingerprint
    assert grants.read(user.pk).fingerprint == before
    added = grant(user, "viewer", on=cluster, namespaces=["a"])
    after = grants.read(user.pk).fingerprint
    assert before != after
    added.delete()
    assert grants.read(user.pk).fingerprint == before
