"""The page of a cluster's log store can be read in both themes, wide and on a phone, and follows a pull."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Browser, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from tests import DATA
from tests.browser.everyone import WIDE, usable_everywhere
from tests.inputs.recordings import observations_of
from tests.rows.following import Followed
from timeline.models import LogStore, Pull

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
ONE = datetime(2026, 11, 21, 13, tzinfo=UTC)


@pytest.fixture(scope="module", autouse=True)
def database_beside_a_loop() -> Iterator[None]:
    """Playwright runs a loop in this thread, in which the test and its fixtures use the database, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "on")
        yield


@pytest.mark.django_db(transaction=True)
def test_the_page_can_be_used_by_everyone(browser: Browser, live_server: LiveServer, settings: Settings) -> None:
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}  # as Django's test server serves them
    settings.STORAGES = settings.STORAGES | {"staticfiles": plain}
    fields = {"url": "https://loki.example.org", "query": '{job="audit"}'}
    error = "Loki answers 403: no such right."
    followed = Followed()
    store = LogStore.objects.create(
        cluster=followed.cluster, kind="loki", fields=fields, continuous=True, reached=ONE, error=error, error_at=ONE
    )
    about = {"store": store, "since": NOON, "until": ONE}
    Pull.objects.create(**about, state="failed", error=error, continuous=True)
    note = "Loki's index counts whole chunks of the streams, so the window may have less."
    asked = Pull.objects.create(**about, state="ready", cost_bytes=12_000_000, cost_records=4_200, cost_note=note)
    page = browser.new_page(base_url=live_server.url, viewport=WIDE)
    try:
        page.goto(f"/clusters/{followed.cluster.pk}/log-store/")
        expect(page.get_by_role("button", name="Pull it")).to_be_visible()
        usable_everywhere(page)
        Pull.objects.filter(pk=asked.pk).update(state="pulling", records=1_200, bytes=3_000_000, reached=NOON)
        expect(page.get_by_text("1,200 records")).to_be_visible()  # the page renews itself
        followed.commit(observations_of(DATA / "deletion.jsonl"))
        page.goto(f"/sources/{followed.source.pk}/?start=1795247746000000&end=1795247747000000")
        expect(page.locator("#range")).to_contain_text("07:55:46")
        page.get_by_label("Menu", exact=True).click()
        page.get_by_role("link", name="Get audit log").click()
        expect(page.get_by_label("From (UTC)")).to_have_value("2026-11-21T07:25:46Z")
        expect(page.get_by_label("Until (UTC)")).to_have_value("2026-11-21T08:25:46Z")
    finally:
        page.close()
