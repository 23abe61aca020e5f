"""These tests check that the last release can go on beside this version, on a database that this version has migrated.

During a rolling upgrade, processes of both versions run for a while. So migrations expand first: they leave what the
last release reads and writes, and only the next release may remove it. `bench/upgrading.py` tries it with the real
old version.
"""

import json

import pytest
from django.db import connection

from tests import released
from tests.inputs.recordings import SAMPLE, entries_of
from tests.rows.following import Followed
from timeline.models import Finding, Incident, Occurrence, Source
from timeline.storage.permitted.limits import Permitted, seeing

pytestmark = pytest.mark.django_db
BEFORE: dict[str, released.Table] = json.loads(released.FILE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def now(django_db_setup: None, django_db_blocker: object) -> dict[str, released.Table]:
    with django_db_blocker.unblock(), connection.cursor() as cursor:  # type: ignore[attr-defined]
        return released.tables(cursor)


def test_what_the_last_release_reads_is_there(now: dict[str, released.Table]) -> None:
    assert set(BEFORE) <= set(now)
    for table, before in BEFORE.items():
        columns = now[table]["columns"]
        kept = {
            name for name, column in columns.items() if column["type"] == before["columns"].get(name, column)["type"]
        }
        gone = before["columns"].keys() - kept
        assert not gone, f"{table} has lost or changed {gone}"


def test_what_the_last_release_writes_is_taken(now: dict[str, released.Table]) -> None:
    for table, before in BEFORE.items():
        known = before["columns"]
        for name, column in now[table]["columns"].items():
            old = known.get(name)
            if old is None:
                assert column["default"] or not column["required"], f"{table}.{name} is new and needs a default"
            else:
                assert column["required"] <= old["required"], f"{table}.{name} refuses NULL now"
                assert column["default"] >= (old["default"] and old["required"]), f"{table}.{name} has lost its default"
        rules = {rule["text"] for rule in before["rules"]}
        stricter = [
            rule["text"]
            for rule in now[table]["rules"]
            if rule["text"] not in rules and set(rule["columns"]) <= set(known)
        ]
        assert not stricter, f"{table} refuses rows of the last release: {stricter}"


def test_the_keys_by_which_the_last_release_finds_rows_are_there(now: dict[str, released.Table]) -> None:
    for table, before in BEFORE.items():
        keys = [rule["columns"] for rule in now[table]["rules"] if rule["sort"] in "pu"]
        lost = [rule["columns"] for rule in before["rules"] if rule["sort"] in "pu" and rule["columns"] not in keys]
        assert not lost, f"{table} has lost keys: {lost}"


def test_the_last_release_deletes_rows_that_tables_which_it_does_not_know_refer_to() -> None:
    signing_in = {"account_emailaddress", "dashboard_signin", "mfa_authenticator", "socialaccount_socialaccount"}
    kept = {"timeline_hold", *signing_in}  # what is held is not deleted, and the last release deletes no accounts
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint"
            " WHERE contype = 'f' AND confdeltype = 'a'"
        )
        found = cursor.fetchall()
    refuse = {table for table, referred in found if table not in BEFORE and referred in BEFORE}
    assert refuse - kept == set()


def test_what_the_last_release_writes_is_hidden_from_readers_of_namespaces_until_this_version_goes_on() -> None:
    """The last release writes neither `namespaces` nor `part`, so these may be those of an earlier state of a row."""
    live = Followed()
    live.commit(entries_of(SAMPLE))
    namespace = "vol-restart"
    models = (Finding, Occurrence, Incident)

    def seen() -> list[int]:
        with seeing(Permitted(namespaces={live.source.pk: frozenset([namespace])})):
            return [model._default_manager.filter(source=live.source).count() for model in models]

    before = seen()
    assert all(before)
    live.tell()  # a batch of the last release
    Finding.objects.filter(source=live.source, namespaces=[namespace]).update(document={"summary": "another one"})
    assert not any(seen())
    live.go_on(Source.objects.get(pk=live.source.pk))
    assert seen() == before
    assert not Finding.objects.filter(source=live.source, document__summary="another one").exists()
