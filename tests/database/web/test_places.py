"""These tests hold places for the answers that are made for one reader at once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from django.test import Client

from dashboard.web import places
from dashboard.web.places import Busy, place
from timeline.models import Source, Track


def test_a_reader_waits_for_a_place_and_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "WAITING", 1)
    free, came = Event(), Event()

    def later() -> None:
        with place("alice"):
            came.set()

    with ThreadPoolExecutor() as threads:
        with place("alice"), place("alice"):
            waiting = threads.submit(later)
            while not places._waiting:
                free.wait(0.01)
            with pytest.raises(Busy), place("alice"):  # one waits already
                pass
            with place("bob"):
                pass
            assert not came.is_set()
        waiting.result(timeout=20)
    assert came.is_set() and not places._made and not places._waiting


@pytest.mark.django_db
def test_too_many_requests_for_whole_objects_are_refused(
    client: Client, sample: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "SECONDS", 0.01)
    track = Track.objects.filter(source=sample)[0]
    pages = [f"/sources/{sample.pk}/objects/{track.id}/", f"/api/sources/{sample.pk}/tracks/{track.id}/change"]
    assert [client.get(each).status_code for each in pages] == [200, 200]
    with place("127.0.0.1"), place("127.0.0.1"):
        for each in pages:
            answer = client.get(each)
            assert answer.status_code == 429 and "Too many of your requests" in answer.content.decode()
        assert client.get("/livez").status_code == 200
    assert [client.get(each).status_code for each in pages] == [200, 200]
