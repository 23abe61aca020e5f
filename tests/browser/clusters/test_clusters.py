"""A cluster is connected in the browser, seen to move, and let go; everybody can use the pages for that."""

import json
import re

from playwright.sync_api import Page, expect

from collectors.replay import serve
from tests.browser.everyone import usable_everywhere
from tests.inputs.recordings import SAMPLE

SECRET = "t0ken-that-nobody-sees"


def test_a_cluster_is_connected_seen_to_move_and_stays_as_a_recording(page: Page) -> None:
    heading, dialog = page.get_by_role("heading", level=1), page.get_by_role("dialog")
    connected = page.locator("#clusters").get_by_role("link", name="moving")
    with serve([SAMPLE], token=SECRET, paused=True, bookmark_seconds=1) as replay:
        page.goto("/clusters/")
        usable_everywhere(page)
        page.get_by_role("textbox", name="Name").fill("moving")
        page.get_by_role("textbox", name="Kubeconfig").fill(json.dumps(replay.kubeconfig))
        page.get_by_role("button", name="Check access").click()
        expect(page.get_by_role("heading", name="The cluster can be watched", exact=True)).to_be_visible()
        assert SECRET not in page.content()
        page.get_by_text("What is watched, and how long it is kept").click()
        usable_everywhere(page)
        page.get_by_role("button", name="Connect", exact=True).press("Enter")
        expect(heading).to_have_text("moving")
        page.get_by_role("button", name="Test the connection").click()
        expect(page.get_by_role("heading", name="The cluster can be watched")).to_be_visible()
        usable_everywhere(page)
        page.goto("/")
        row = page.locator(".cluster, tr[data-cluster]", has_text="moving")
        expect(row.locator(".state").first).to_have_text("live")
        usable_everywhere(page)
        page.goto(f"{row.get_by_role('link', name='moving').get_attribute('href')}coverage/")
        expect(page.get_by_role("heading", name="How it is watched")).to_be_visible()
        usable_everywhere(page)

        page.get_by_role("navigation", name="Site", exact=True).get_by_role("link", name="Clusters").click()
        connected.click()
        pods = page.locator("tr", has=page.get_by_role("rowheader", name="pods", exact=True))
        expect(pods).to_contain_text("watching")
        before = pods.locator("td").nth(3).inner_text()
        replay.control(play=True, speed=20)
        expect(pods.locator("td").nth(3)).not_to_have_text(before)  # the page was not loaded anew
        expect(page.locator("#incidents")).to_contain_text(
            re.compile(r"[1-9]\d* incidents? · \d+ symptoms? · \d+ findings?")
        )
        with page.expect_download() as download:
            page.get_by_role("link", name="Download everything observed").click()
        assert download.value.suggested_filename == "moving.jsonl.zst"
        state = page.locator(".lead .state")
        page.get_by_role("button", name="Pause").click()
        expect(state).to_have_text("paused")
        page.get_by_role("button", name="Resume").click()
        expect(state).to_have_text("live")  # by itself
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
        connected.click()
        page.get_by_role("checkbox", name="Also delete what was observed").check()
        page.get_by_role("button", name="Disconnect moving").click()
        expect(page.get_by_role("heading", name="Disconnect moving?")).to_be_visible()
        usable_everywhere(page)
        page.get_by_role("button", name="Disconnect moving").click()
        expect(heading).to_have_text("Clusters")
        undo = page.get_by_role("button", name="Undo: restore moving").last
        expect(undo).to_be_visible()
        usable_everywhere(page)
        expect(connected).to_have_count(0)
        undo.click()
        expect(undo).to_have_count(0)
        page.goto("/clusters/")
        connected.click()
        for _ in range(2):
            page.get_by_role("button", name="Disconnect moving").click()
        expect(heading).to_have_text("Clusters")
        page.goto("/")
        left = page.locator(".recordings tr", has_text="moving")
        expect(left).to_contain_text("The cluster was disconnected on")
        left.get_by_role("button", name="Delete moving").click()
        dialog.get_by_role("button", name="Delete").click()
        expect(left).to_have_count(0)
