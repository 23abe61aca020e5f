"""These tests give, explain and take away roles on the page Access and with the commands, as administrators do."""

import json

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from dashboard.access.roles import giving, grants
from dashboard.access.signing_in import people
from dashboard.models import AuditRecord, Grant
from dashboard.web.views.people import roles as access
from tests.database.access.asking import signed_in
from tests.database.storage.sources import ran
from tests.rows.people import grant, member
from timeline.models import Cluster, Source

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> Client:
    return signed_in(member("admin", name="ada"))


def page(client: Client, query: str = "") -> str:
    answer = client.get(f"/access/{query}")
    assert answer.status_code == 200
    return answer.content.decode()


def test_administrators_give_a_role_see_why_and_take_it_away(ada: Client) -> None:
    bob, prod = member(name="bob"), Cluster.objects.create(name="prod")
    assert "no role: sees nothing" in page(ada)
    form = {"name": "bob", "kind": "person", "role": "responder", "on": f"cluster-{prod.pk}"}
    answer = ada.post("/access/", form, follow=True)
    assert answer.redirect_chain == [("/access/?person=bob", 302)]
    shown = answer.content.decode()
    assert "<strong>responder</strong> of <bdi>the cluster prod</bdi>" in shown and "given by ada on" in shown
    assert grants.read(bob.pk).on_cluster(prod.pk) == "responder"
    given = Grant.objects.get(user=bob)
    asked = ada.get(f"/access/grants/{given.pk}/").content.decode()
    assert "bob is responder of the cluster prod, given by ada" in asked and Grant.objects.filter(user=bob).exists()
    answer = ada.post(f"/access/grants/{given.pk}/", follow=True)
    assert "No role" in answer.content.decode() and not Grant.objects.filter(user=bob).exists()
    assert ada.post(f"/access/grants/{given.pk}/").status_code == 404
    recorded = AuditRecord.objects.filter(action__in=["grant", "revoke"], outcome="done").order_by("pk")
    assert [(row.action, row.who, row.name, row.cluster, row.details["role"]) for row in recorded] == [
        ("grant", "ada", "bob", prod.pk, "responder"),
        ("revoke", "ada", "bob", prod.pk, "responder"),
    ]


def test_a_person_sees_every_reason(ada: Client, settings: Settings) -> None:
    bob = member("viewer", name="bob")
    people.take_groups(bob, "oidc", ["platform", "others"])
    giving.give(Group.objects.get(name="oidc:platform"), "editor", "ada")
    Source.objects.create(name="mine", owner=bob)
    settings.DEFAULT_ROLE = "viewer"
    shown = page(ada, "?person=bob")
    assert "by the group oidc:platform, given by ada" in shown and 'href="?group=oidc%3Aplatform"' in shown
    assert "<strong>editor</strong> of <bdi>one recording</bdi>" in shown and "by having uploaded it" in shown
    assert "by the setting CAUSELINE_DEFAULT_ROLE" in shown and "Everybody who signs in is viewer" in page(ada)
    group = page(ada, "?group=oidc:platform")
    assert "1 member who may sign in" in group and 'href="?person=bob"' in group


def test_a_group_is_given_a_role_by_name(ada: Client) -> None:
    answer = ada.post("/access/", {"name": " oidc:sre ", "kind": "group", "role": "admin", "on": ""}, follow=True)
    assert "Nobody who has signed in is in it." in answer.content.decode()
    assert "oidc:sre" in page(ada, "?show=groups") and "oidc:sre" not in page(ada)
    assert ada.post("/access/", {"name": "oidc:others", "kind": "group", "role": "owner"}).status_code == 400
    assert not Group.objects.filter(name="oidc:others").exists()
    bob = member(name="bob")
    people.take_groups(bob, "oidc", ["sre"])
    Grant.objects.filter(user__username="ada").delete()
    assert "Administrators are so by groups only" in page(signed_in(bob)), "they read of the way back"


@pytest.mark.parametrize(
    ("form", "why"),
    [
        ({"name": "nobody"}, "There is no account with the name nobody"),
        ({"name": ""}, "Say to whom"),
        ({"name": "ada", "role": "viewer"}, "Nobody would be an administrator then"),
        ({"name": "ada", "on": "cluster-7"}, "does not exist any more"),
        ({"name": "ada", "on": "source-x"}, "does not exist any more"),
        ({"name": "sre", "kind": "group"}, "There is no group with the name sre"),
        ({"name": "<b>\0"}, "There is no account with the name &lt;b&gt;"),
    ],
)
def test_what_cannot_be_given_is_answered_with_reason_and_form(ada: Client, form: dict[str, str], why: str) -> None:
    answer = ada.post("/access/", {"kind": "person", "role": "editor", "on": "", **form})
    shown = answer.content.decode()
    assert answer.status_code == 400 and why in shown and "Give a role" in shown
    assert Grant.objects.count() == 1


def test_a_role_is_given_in_namespaces(ada: Client) -> None:
    bob, prod = member(name="bob"), Cluster.objects.create(name="prod")
    form = {"person": "bob", "role": "viewer", "on": f"cluster-{prod.pk}", "namespaces": "b, a"}
    assert 'name="namespaces"' in page(ada)
    assert ada.post("/access/", form).status_code == 302
    assert grants.read(bob.pk).cluster_namespaces == {prod.pk: {"a": "viewer", "b": "viewer"}}
    asked = ada.get(f"/access/grants/{Grant.objects.get(user=bob).pk}/").content.decode()
    assert "viewer of the cluster prod in a, b" in asked
    record = AuditRecord.objects.get(action="grant")
    details = {"to": "person", "role": "viewer", "on": "prod", "namespaces": "a, b"}
    assert (record.cluster, record.details) == (prod.pk, details)


def test_the_last_administrator_is_kept_and_another_may_step_back(ada: Client) -> None:
    own = Grant.objects.get(user__username="ada")
    answer = ada.post(f"/access/grants/{own.pk}/")
    assert answer.status_code == 409 and b"Nobody would be an administrator then" in answer.content
    member("admin", name="eve")
    grant(own.user, "viewer")  # type: ignore[arg-type]
    assert ada.post(f"/access/grants/{own.pk}/").headers["Location"] == "/"
    assert ada.get("/access/").status_code == 403


def test_people_are_found_by_any_name_page_by_page_with_a_fixed_number_of_queries(
    ada: Client, monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    monkeypatch.setattr(access, "PAGE", 3)
    for number in range(7):
        user = member("viewer", name=f"user-{number}")
        user.last_name, user.email = f"Last{number}", f"{number}@example.test"
        user.save()
    with django_assert_max_num_queries(25):
        shown = page(ada, "?find=user")
    assert "user-2" in shown and "user-3" not in shown and "?find=user&amp;page=2" in shown
    shown = page(ada, "?find=user&page=3")
    assert "user-6" in shown and "Next" not in shown and "?find=user&amp;page=2" in shown
    assert "user-4" in page(ada, "?find=last4") and "user-5" in page(ada, "?find=5@example")
    assert "Nobody has such a name" in page(ada, "?find=%00")
    assert "nobody on this page" in page(ada, "?page=99")


def test_commands_give_explain_and_take_away(capsys: pytest.CaptureFixture[str]) -> None:
    bob, prod = member(name="bob"), Cluster.objects.create(name="prod")
    assert ran("grant", "bob", "--role", "admin") == 0
    assert ran("grant", "--group", "--role=editor", "--on=prod", "--", "oidc:sre") == 0
    people.take_groups(bob, "oidc", ["sre"])
    said = capsys.readouterr().err
    assert "bob is admin of everything." in said and "oidc:sre is editor of the cluster prod." in said
    call_command("causeline", "rights", "bob")
    reported = capsys.readouterr().out
    assert (
        "bob has these roles:" in reported and "editor of the cluster prod: by the group oidc:sre, given by" in reported
    )
    call_command("causeline", "rights", "bob", "--output=json")
    read = json.loads(capsys.readouterr().out)
    assert (read["schema"], read["name"], read["administrator"]) == ("causeline.rights/v1", "bob", True)
    assert [(each["role"], each["cluster"], each["by_group"]) for each in read["roles"]] == [
        ("admin", None, None),
        ("editor", prod.pk, "oidc:sre"),
    ]
    call_command("causeline", "rights", "--group", "oidc:sre")
    assert "oidc:sre, a group with 1 member who may sign in, has these roles:" in capsys.readouterr().out
    assert ran("revoke", "--group", "--on=prod", "--yes", "oidc:sre") == 0
    assert not Grant.objects.filter(cluster=prod).exists()
    assert ran("revoke", "--yes", "bob") == 2
    assert "Nobody would be an administrator then" in capsys.readouterr().err
    actions = AuditRecord.objects.order_by("pk").values_list("action", "way", "name")
    assert list(actions) == [
        ("grant", "command", "bob"),
        ("grant", "command", "oidc:sre"),
        ("revoke", "command", "oidc:sre"),
    ]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["grant", "nobody", "--role=viewer"], "There is no account with the name nobody."),
        (["grant", "bob", "--role=admin", "--on=prod"], "An administrator is one of everything."),
        (["grant", "bob", "--role=editor", "--on=prod", "--namespace=a"], "the role is viewer or responder"),
        (["grant", "bob", "--role=viewer", "--on=twice"], "Several things have the name twice."),
        (["grant", "bob", "--role=viewer", "--on=gone"], "There are: prod, twice, twice"),
        (["revoke", "bob", "--on=prod", "--yes"], "bob was given no such role."),
        (["rights", "--group", "sre"], "There is no group with the name sre."),
    ],
)
def test_commands_say_what_is_wrong(command: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    member(name="bob")
    for name in ("prod", "twice"):
        Cluster.objects.create(name=name)
    Source.objects.create(name="twice", ready=True)
    assert ran(*command) == 2
    assert why in capsys.readouterr().err.replace("\n", " ")
    assert not Grant.objects.exists()


def test_a_thing_is_named_exactly() -> None:
    bob, prod = member(name="bob"), Cluster.objects.create(name="same")
    recording = Source.objects.create(name="same", ready=True)
    for on, role in (
        ("cluster/same", "viewer"),
        ("recording/same", "editor"),
        (f"recording/{recording.pk}", "responder"),
    ):
        assert ran("grant", "bob", f"--role={role}", f"--on={on}") == 0
    held = grants.read(bob.pk)
    assert (held.on_cluster(prod.pk), held.on_source(recording.pk)) == ("viewer", "responder")
