"""These tests check the audit trail: what is recorded of whom, that it stays as it is, and how it is read."""

import json
import re
import subprocess
import sys
from functools import partial
from typing import Any

import jsonschema
import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client
from pytest_django import Settings

from dashboard import tasks
from dashboard.access.tokens import tokens
from dashboard.access.trail import actions, audit_lines, change_log, trail
from dashboard.models import AuditRecord, Grant
from tests import ROOT
from tests.database.access import asking
from tests.database.access.asking import bearer, in_days
from tests.rows.people import PASSWORD, member
from timeline.models import Cluster, Source

pytestmark = pytest.mark.django_db
ADDRESS = "192.0.2.7"
signed_in = partial(asking.signed_in, REMOTE_ADDR=ADDRESS)


def reported(**wanted: Any) -> list[tuple[str, str, str]]:
    """Return who did what with which outcome, the oldest first."""
    found = AuditRecord.objects.filter(**wanted).order_by("id")
    return [(each.who, each.action, each.outcome) for each in found]


def test_signing_in_failing_and_signing_out_are_recorded() -> None:
    user = member("viewer", name="alice")
    client = Client(REMOTE_ADDR=ADDRESS)
    for password in ("wrong", PASSWORD):
        client.post("/login/", {"username": "alice", "password": password})
    client.post("/logout/")
    assert reported() == [
        ("", "sign-in failed", "refused"),
        ("alice", "sign in", "done"),
        ("alice", "sign out", "done"),
    ]
    failed, entered, _ = AuditRecord.objects.order_by("id")
    assert (failed.name, failed.address, failed.way) == ("alice", ADDRESS, "nobody")
    assert (entered.account, entered.role, entered.way) == (user.pk, "viewer", "account")
    assert PASSWORD not in str(list(AuditRecord.objects.values()))


def test_what_is_seen_is_recorded_once_for_each_person(sample: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trail, "time", lambda: 1_800_000_000.0)  # it is recorded again after ten minutes
    alice, bob = member("viewer", name="alice"), member("admin", name="bob")
    for client in (signed_in(alice), signed_in(bob)):
        for path in (f"/sources/{sample.pk}/", f"/api/sources/{sample.pk}/overview", f"/sources/{sample.pk}/coverage/"):
            assert client.get(path).status_code == 200
    trail.recent = trail._Recent()  # another process does not know what this one has recorded
    signed_in(alice).get(f"/sources/{sample.pk}/")
    assert reported(action="see") == [("alice", "see", "done"), ("bob", "see", "done")]
    row = AuditRecord.objects.filter(action="see").earliest("id")
    assert (row.source, row.name, row.role, row.address) == (sample.pk, "sample", "viewer", ADDRESS)
    identity = signed_in(alice).get(f"/api/sources/{sample.pk}/incidents").json()["incidents"][0]["id"]
    signed_in(alice).get(f"/sources/{sample.pk}/incidents/{identity}/")
    assert AuditRecord.objects.get(action="see incident").thing == f"incident {identity}"
    for path in (f"/api/sources/{sample.pk}/document", f"/sources/{sample.pk}/report", "/incidents/"):
        signed_in(bob).get(path)
    things = {(each.action, each.thing) for each in AuditRecord.objects.all()}
    assert {("export", ""), ("report", ""), ("list", "/incidents/")} <= things


def test_what_a_program_reads_with_its_token_is_recorded_without_the_text(sample: Source) -> None:
    text, row = tokens.issue("grafana", ["read"], expires=in_days(), by="alice")
    for path in (f"/api/sources/{sample.pk}/findings", "/api/incidents"):
        assert Client().get(path, headers=bearer(text)).status_code == 200
    who = f"grafana ({row.prefix}…)"
    assert reported(way="token") == [(who, "see", "done"), (who, "list", "done")]
    assert text not in str(list(AuditRecord.objects.values()))


def test_each_change_is_recorded_with_what_it_changed(sample: Source) -> None:
    client = signed_in(member("admin", name="alice"))
    for name in ("renamed", "sample"):
        assert client.patch(f"/api/sources/{sample.pk}", {"name": name}, "application/json").status_code == 200
    renamed = AuditRecord.objects.filter(action="rename").order_by("id")
    assert [(each.name, each.source, each.status) for each in renamed] == [
        ("renamed", sample.pk, 200), ("sample", sample.pk, 200)]  # fmt: skip
    cluster = Cluster.objects.create(name="prod")
    client.post(f"/clusters/{cluster.pk}/", {"act": "pause", "kubeconfig": "token: planted-secret"})
    paused = AuditRecord.objects.get(action="change cluster")
    assert (paused.cluster, paused.name, paused.details["act"]) == (cluster.pk, "prod", "pause")
    assert "planted-secret" not in str(list(AuditRecord.objects.values()))


def test_what_is_refused_to_strangers_is_recorded_once() -> None:
    for _ in range(3):
        assert Client(REMOTE_ADDR=ADDRESS).post("/clusters/1/", {"act": "pause"}).status_code == 302
        assert Client(REMOTE_ADDR=ADDRESS).delete("/api/sources/1").status_code == 401
    assert reported() == [("", "change cluster", "refused"), ("", "delete", "refused")]


def test_nothing_is_changed_without_its_record_and_nothing_recorded_that_was_not_changed(
    sample: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = signed_in(member("admin", name="alice"), raise_request_exception=False)
    cluster = Cluster.objects.create(name="prod")

    def tried() -> None:
        assert client.patch(f"/api/sources/{sample.pk}", {"name": "renamed"}, "application/json").status_code == 500
        assert client.post(f"/clusters/{cluster.pk}/", {"act": "pause"}).status_code == 500
        cluster.refresh_from_db()
        assert Source.objects.get(pk=sample.pk).name == sample.name and not cluster.paused

    with monkeypatch.context() as patch:  # the record cannot be written
        patch.setattr(trail, "_INSERT", "INSERT INTO dashboard_nothing VALUES (%(action)s)")
        tried()
    assert reported(action__in=["rename", "change cluster"]) == []
    with monkeypatch.context() as patch:  # the process fails once the change and the record are made
        written = trail.record

        def fail(action: str, *rest: Any, must: bool = False, **more: Any) -> None:
            written(action, *rest, must=must, **more)
            if must:
                raise RuntimeError

        patch.setattr(trail, "record", fail)
        tried()
    assert reported()[1:] == [("alice", "rename", "failed"), ("alice", "change cluster", "failed")]
    assert client.post(f"/clusters/{cluster.pk}/", {"act": "pause"}).status_code == 302
    cluster.refresh_from_db()
    assert cluster.paused and reported()[3:] == [("alice", "change cluster", "done")]


def test_a_command_changes_nothing_without_its_record(monkeypatch: pytest.MonkeyPatch) -> None:
    change_log.note_command("unlock", name="alice")
    (row,) = AuditRecord.objects.all()
    assert (row.way, row.action, row.name) == ("command", "unlock", "alice") and row.who
    member("viewer", name="alice")
    member("admin", name="root")
    monkeypatch.setattr(trail, "_INSERT", "INSERT INTO dashboard_nothing VALUES (%(action)s)")
    for command in (["deactivate", "alice"], ["grant", "alice", "--role=editor"]):
        with pytest.raises(DatabaseError):
            call_command("causeline", *command)
    assert User.objects.get(username="alice").is_active
    assert [each.role for each in Grant.objects.filter(user__username="alice")] == ["viewer"]


def test_a_record_stays_as_it_is_until_it_is_old(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    settings.AUDIT_DAYS = 30
    for _ in range(3):
        trail.record("see", trail.NOBODY)
    for statement in (AuditRecord.objects.all().delete, lambda: AuditRecord.objects.update(who="mallory")):
        with pytest.raises(DatabaseError, match="records of the audit trail"), transaction.atomic():
            statement()
    assert reported() == [("", "see", "done")] * 3
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE dashboard_auditrecord DISABLE TRIGGER dashboard_auditrecord_stays")
        AuditRecord.objects.filter(pk=AuditRecord.objects.earliest("id").pk).update(at=in_days(-31))
        cursor.execute("ALTER TABLE dashboard_auditrecord ENABLE TRIGGER dashboard_auditrecord_stays")
    tasks.clear_sessions()
    assert AuditRecord.objects.count() == 2
    with pytest.raises(RuntimeError), transaction.atomic():
        change_log.note("grant", by="alice", role="admin")
        assert reported(action="grant") == [("alice", "grant", "done")]
        raise RuntimeError
    assert reported(action="grant") == [], "a record belongs to the transaction of what it tells"
    trail.record("x" * 65, trail.Actor("alice", "account"))
    assert '"who": "alice"' in caplog.text and "could not be stored" in caplog.text
    assert AuditRecord.objects.count() == 2


def test_administrators_read_filter_and_page(sample: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.web.views.people.audit_trail.PAGE", 2)
    for at in range(5):
        trail.record("rename", trail.Actor("carol", "account", role="editor"), name=f"<b>{at}</b>", source=sample.pk)
    trail.record("delete", trail.Actor("dave", "account"), outcome="refused", status=403)
    client = signed_in(member("admin", name="root"))
    first = client.get("/audit-trail/?who=carol").content.decode()
    assert "&lt;b&gt;4&lt;/b&gt;" in first and "&lt;b&gt;2&lt;/b&gt;" not in first and "dave" not in first
    following = first.split('<a href="')[-1].split('"')[0].replace("&amp;", "&")
    second = client.get(f"/audit-trail/{following}").content.decode()
    assert "&lt;b&gt;2&lt;/b&gt;" in second and "&lt;b&gt;4&lt;/b&gt;" not in second
    assert "answered 403" in client.get("/audit-trail/?action=delete").content.decode()
    for wrong in ("since=soon", "source=x", "before=x", f"who={'x' * 201}", "name=a%00"):
        assert client.get(f"/audit-trail/?{wrong}").status_code == 400, wrong
    assert client.get("/audit-trail/export?since=soon").status_code == 400
    assert "No record matches" in client.get("/audit-trail/?until=2001-01-01").content.decode()


def test_lines_follow_their_schema(capfdbinary: Any) -> None:
    trail.record("see", trail.Actor("älice", "account", 7, "viewer"), source=5, details={"act": "x", "route": 3})
    trail.record("delete", trail.NOBODY, status=500, outcome="failed")
    schema = json.loads(audit_lines.schema())
    written = [json.loads(each) for each in b"".join(trail.lines(trail.Wanted())).splitlines()]
    assert [each["action"] for each in written] == ["see", "delete"]
    for each in written:
        jsonschema.validate(each, schema)
    call_command("causeline", "audit-trail", "--since=2020-01-01", "--who=älice")
    (printed,) = capfdbinary.readouterr().out.splitlines()
    assert json.loads(printed) == written[0]
    for wrong in (["--since=soon"], ["--action=none"], ["--source=x"]):
        with pytest.raises(SystemExit):
            call_command("causeline", "audit-trail", *wrong)


def test_the_schema_is_printed_without_a_database() -> None:
    command = [sys.executable, "-m", "dashboard.cli", "schema", "audit"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == audit_lines.schema()


def test_each_change_is_recorded_and_each_action_is_documented() -> None:
    declares = [(route, need) for route, methods in asking.declared().items() for need in methods.values()]
    assert {route for route, need in declares if need.changes and need.action is None} == {"login/", "logout/"}, (
        "these tell of sign-ins themselves"
    )
    assert {need.action for _, need in declares} - {None} <= set(actions.ACTIONS)
    page = (ROOT / "docs/how-to/share-and-audit.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([^`]+)` \| (.+) \|$", page, re.MULTILINE) == list(actions.ACTIONS.items())
