"""These tests judge sources again that an older version has judged: from what is stored, and with nothing lost."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import orjson
import pytest
from django.db import connection, transaction
from django.db.models import F, Func, JSONField, Value
from django.test import Client

from collectors.analysis import analyse
from collectors.formats import Limits
from collectors.tasks import judge_again
from tests import DATA, ENGINE
from tests.database.storage import sources
from tests.database.storage.sources import again
from tests.inputs.recordings import SAMPLE
from tests.rows import stored
from tests.rows.stored import beside
from timeline import pipeline, rejudging
from timeline.judging.rulebook import ATTEMPTS, VERSION
from timeline.models import Cluster, Finding, Occurrence, Source, Track
from timeline.queries.incidents.finding import finding
from timeline.storage import exports, live, store
from timeline.storage.entries import chunks
from timeline.storage.judged import findings
from timeline.storage.people import acknowledgements

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    yield
    for source in Source.objects.all():
        store.discard_source(source)


def imported() -> Source:
    return sources.imported(SAMPLE)


def aged(source: Source) -> Source:
    """Change a source to what an older version would have stored.

    It has other texts, a finding that is no longer one, a missing finding, a superfluous life, no totals, no actors.
    """
    rows = list(Finding.objects.filter(source=source).order_by("identity"))
    for row in rows:
        row.document["why"] = row.document["summary"] = "Pod x was 755 µs late"
        row.save()
    rows[0].delete()
    rows[1].identity = "f" * 16
    rows[1].save(force_insert=True)
    Occurrence.objects.filter(source=source).update(words="755 µs late")
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMPORARY TABLE life AS SELECT * FROM timeline_track_{source.pk} LIMIT 1")
        cursor.execute("UPDATE life SET id = 100077, uid = 'older'")
        cursor.execute(f"INSERT INTO timeline_track_{source.pk} SELECT * FROM life")
        cursor.execute("DROP TABLE life")
    Track.objects.filter(source=source).update(creator="", writers=[], clues="")
    document = source.document | {"coverage": [], "changes": [], "namespaces": []}
    Source.objects.filter(pk=source.pk).update(judged=0, actors=[], document=document)
    source.refresh_from_db()
    return source


def document(source: Source) -> bytes:
    source.refresh_from_db()
    return orjson.dumps(exports.document(source))


@cache
def analyzed() -> bytes:
    return orjson.dumps(analyse([(SAMPLE, SAMPLE.name)], Limits()).document())


def test_a_recording_becomes_what_analyze_says_of_it_and_keeps_what_was_acknowledged(client: Client) -> None:
    source = imported()
    before, tables = stored.stored_of(source), stored.tables()
    known = Finding.objects.filter(source=source).order_by("-identity").values_list("identity", flat=True)[0]
    acknowledgements.acknowledge(source.pk, known, "ann", "we know")
    aged(source)
    assert document(source) != analyzed()
    pages = [f"/sources/{source.pk}/", f"/sources/{source.pk}/coverage/"]
    assert all("It is judged again in the background." in client.get(page).text for page in pages)
    Source.objects.filter(pk=source.pk).update(judging=VERSION, attempts=ATTEMPTS)
    assert all("Import the files anew." in client.get(page).text for page in pages)
    Source.objects.filter(pk=source.pk).update(judging=VERSION - 1)  # a later version tries again
    judge_again()
    assert all("An older version of Causeline" not in client.get(page).text for page in pages)
    assert document(source) == analyzed()
    assert (stored.stored_of(source), stored.tables()) == (before, tables)
    assert not Occurrence.objects.filter(source=source, words__contains="755").exists()
    assert not Track.objects.filter(source=source, uid="older").exists()
    assert finding(source.pk, known)["acknowledged"]
    assert source.judged == VERSION
    assert not rejudging.judge_next()


class Crash(BaseException):
    """This exception is not caught by any code."""


def test_a_crash_in_the_middle_loses_nothing_and_it_is_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    source = aged(imported())
    before, tables = stored.stored_of(source), stored.tables()

    def crash(*_: object) -> None:
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(store, "write_gaps", crash)  # by then tracks and findings are written
        with pytest.raises(Crash):
            judge_again()
    assert (stored.stored_of(source), stored.tables()) == (before, tables)
    judge_again()
    assert document(source) == analyzed()


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that lets something happen before a function of a module goes on."""

    def arrange(act: Callable[..., object], place: Any = pipeline, name: str = "judge_again") -> None:
        real = getattr(place, name)

        def acted(*given: Any) -> Any:
            act(*given)
            return real(*given)

        monkeypatch.setattr(place, name, acted)

    return arrange


def test_one_that_fails_keeps_no_other_from_its_turn_and_is_given_up(meanwhile: Callable[..., None]) -> None:
    broken, well = aged(imported()), aged(imported())

    def fail(source: Source, *_: object) -> None:
        if source.pk == broken.pk:
            raise ValueError("its entries cannot be read")

    meanwhile(fail)
    judge_again()
    assert document(well) == analyzed()
    broken.refresh_from_db()
    assert (broken.judged, broken.attempts) == (0, ATTEMPTS)
    Source.objects.filter(pk=broken.pk).update(judging=VERSION - 1)
    assert rejudging.waiting().get() == broken


@pytest.mark.parametrize("when", ["before it is read", "before it is written"])
def test_one_that_is_deleted_meanwhile_stays_away(meanwhile: Callable[..., None], when: str) -> None:
    before = stored.tables()  # tests of aborted imports leave tables behind
    source, other = aged(imported()), aged(imported())
    known = source.pk

    def delete(*_: object) -> None:
        if Source.objects.filter(pk=known).exists():
            beside(lambda: store.discard_source(Source.objects.get(pk=known), patience=5))

    meanwhile(delete, *((chunks, "observations") if "read" in when else ()))
    judge_again()
    assert not Source.objects.filter(pk=known).exists()
    assert stored.tables() == before | stored.tables_of(other)
    assert document(other) == analyzed()


def test_one_that_is_imported_again_meanwhile_has_what_was_added(meanwhile: Callable[..., None]) -> None:
    source = aged(imported())
    meanwhile(lambda *_: beside(lambda: sources.imported(DATA / "deletion.jsonl", into=again(source))))
    judge_again()
    source.refresh_from_db()
    assert source.judged == VERSION
    assert source.inputs == [SAMPLE.name, "deletion.jsonl"]


def test_two_workers_judge_one_after_the_other(meanwhile: Callable[..., None]) -> None:
    aged(imported())
    sentences: list[object] = []
    meanwhile(lambda *_: beside(lambda: sentences.append(rejudging.judge_next())))
    assert rejudging.judge_next()
    assert sentences == [False]
    beside(lambda: sentences.append(rejudging._alone().__enter__()))
    assert sentences == [False, True]


def watched() -> Source:
    """Return a cluster's source as an older version left it, with a finding that is no longer one."""
    source = sources.watched(ENGINE / "jobs-watch", 97)
    more = Finding.objects.filter(source=source).earliest("identity")
    more.identity = "f" * 16
    more.save(force_insert=True)
    other = Func(F("document"), Value(["summary"]), Value("755 µs late", JSONField()), function="jsonb_set")
    Finding.objects.filter(source=source).update(document=other)
    Source.objects.filter(pk=source.pk).update(judged=0)
    with transaction.atomic():
        findings.write_occurrences(source)
    return source


def texts(source: Source) -> list[str]:
    rows = Finding.objects.filter(source=source, withdrawn=False).values_list("document", flat=True)
    return [each["summary"] for each in rows]


def test_a_source_that_goes_on_is_judged_again_when_a_worker_takes_it_over() -> None:
    source = watched()
    count = len(texts(source))
    judge_again()
    assert set(texts(source)) == {"755 µs late"}  # a worker holds it or will take it
    live.open_again(again(source))
    assert len(texts(source)) == count - 1
    assert "755 µs late" not in texts(source)
    (gone,) = Finding.objects.filter(source=source, withdrawn=True)
    assert gone.identity == "f" * 16
    assert "newer version" in gone.document["status_reason"]
    assert not Occurrence.objects.filter(source=source, words__contains="755").exists()
    assert again(source).judged == VERSION


@pytest.mark.parametrize("disconnected", [False, True])
def test_a_source_that_has_ended_is_judged_again_by_the_task(disconnected: bool) -> None:
    source = watched()
    if disconnected:
        Cluster.objects.all().delete()
    else:
        live.begin(Cluster.objects.get(), "Its revisions went back.")
    judge_again()
    assert texts(source) and "755 µs late" not in texts(source)
    assert again(source).judged == VERSION
