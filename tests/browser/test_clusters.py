"""A cluster is connected in the browser, seen to move, and let go; everybody can use the pages for that."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from collectors.replay import Replay, serve
from tests.browser.conftest import fits
from tests.browser.test_with_axe import complaints_of_axe, usable_everywhere
from tests.recordings import SAMPLE

SECRET = "t0ken-that-nobody-sees"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Replay]:
    """A recording as an API server that stands still at its beginning."""
    with serve([SAMPLE], token=SECRET, paused=True) as replay:
        yield replay


def ask(page: Page, replay: Replay, name: str) -> None:
    """The form is filled in, and the cluster has answered."""
    page.goto("/clusters/")
    page.get_by_role("textbox", name="Name").fill(name)
    page.get_by_role("textbox", name="Kubeconfig").fill(json.dumps(replay.kubeconfig))
    page.get_by_role("button", name="Check access").click()
    expect(page.get_by_role("heading", name="The cluster can be watched", exact=True)).to_be_visible()


def test_a_cluster_is_connected_by_everyone(page: Page, cluster: Replay) -> None:
    page.goto("/clusters/")
    usable_everywhere(page)
    ask(page, cluster, "by-everyone")
    assert SECRET not in page.content()
    page.get_by_text("What is watched, and how long it is kept").click()
    usable_everywhere(page)
    page.get_by_role("button", name="Connect", exact=True).press("Enter")
    expect(page.get_by_role("heading", name="by-everyone", level=1)).to_be_visible()
    page.get_by_role("button", name="Test the connection").click()
    expect(page.get_by_role("heading", name="The cluster can be watched")).to_be_visible()
    usable_everywhere(page)
    page.goto("/")
    row = page.locator(".cluster, tr[data-cluster]", has_text="by-everyone")
    expect(row).to_be_visible()
    usable_everywhere(page)
    expect(row.locator(".state").first).to_have_text("live")
    page.goto(f"{row.get_by_role('link', name='by-everyone').get_attribute('href')}coverage/")
    expect(page.get_by_role("heading", name="How it is watched")).to_be_visible()
    usable_everywhere(page)
    page.goto("/clusters/")
    page.locator("#clusters").get_by_role("link", name="by-everyone").click()
    page.get_by_role("checkbox", name="Also delete what was observed").check()
    page.get_by_role("button", name="Disconnect by-everyone").click()
    expect(page.get_by_role("heading", name="Disconnect by-everyone?")).to_be_visible()
    assert complaints_of_axe(page) == []
    fits(page)
    page.get_by_role("button", name="Disconnect by-everyone").click()
    expect(page.get_by_role("heading", name="Clusters", level=1)).to_be_visible()
    expect(page.get_by_role("button", name="Undo: restore by-everyone").last).to_be_visible()
    assert complaints_of_axe(page) == []
    fits(page)
    expect(page.get_by_role("link", name="by-everyone")).to_have_count(0)


def test_a_connected_cluster_is_seen_to_move_and_stays_as_a_recording(page: Page) -> None:
    with serve([SAMPLE], token=SECRET, paused=True, bookmark_seconds=1) as replay:
        ask(page, replay, "moving")
        page.get_by_role("button", name="Connect", exact=True).click()
        expect(page.get_by_role("heading", name="moving", level=1)).to_be_visible()
        page.goto("/")
        row = page.locator(".cluster, tr[data-cluster]", has_text="moving")
        expect(row.locator(".state").first).to_have_text("live")
        page.get_by_role("navigation", name="Site", exact=True).get_by_role("link", name="Clusters").click()
        page.locator("#clusters").get_by_role("link", name="moving").click()
        pods = page.locator("tr", has=page.get_by_role("rowheader", name="pods", exact=True))
        expect(pods).to_contain_text("watching")
        before = pods.locator("td").nth(3).inner_text()
        replay.control(play=True, speed=20)
        expect(pods.locator("td").nth(3)).not_to_have_text(before)  # the page was not loaded anew
        expect(page.locator("#incidents")).to_contain_text(re.compile(r"[1-9]\d* incidents? · \d+ findings?"))
        with page.expect_download() as download:
            page.get_by_role("link", name="Download everything observed").click()
        assert download.value.suggested_filename == "moving.jsonl.zst"
        page.get_by_role("button", name="Pause").click()
        expect(page.locator(".lead .state")).to_have_text("paused")
        page.get_by_role("button", name="Resume").click()
        expect(page.locator(".lead .state")).to_have_text("live")  # by itself
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        page.get_by_role("link", name="Add an audit log…").click()
        expect(page.get_by_label("It becomes").locator("option:checked")).to_have_text(
            "part of moving, as its audit log"
        )
        page.locator("#file").set_input_files(SAMPLE)
        added = page.locator(".upload", has_text=SAMPLE.name)
        expect(added).to_contain_text(re.compile(r"added to moving · [1-9]\d* new changes"))
        expect(added.get_by_role("link", name="Open timeline")).to_be_visible()
        page.goto("/clusters/")
        page.locator("#clusters").get_by_role("link", name="moving").click()
        page.get_by_role("button", name="Disconnect moving").click()
        page.get_by_role("button", name="Disconnect moving").click()
        expect(page.get_by_role("heading", name="Clusters", level=1)).to_be_visible()
        page.goto("/")
        left = page.locator(".recordings tr", has_text="moving")
        expect(left).to_contain_text("The cluster was disconnected on")
        left.get_by_role("button", name="Delete moving").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(left).to_have_count(0)
