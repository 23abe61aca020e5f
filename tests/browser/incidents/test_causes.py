"""Why something happened: the cause of an incident, an act on an old copy, and runs that went well beside one that did
not."""

import re

from playwright.sync_api import Page, expect

from dashboard.services.launcher import CAUSE
from tests import DATA, RULES
from tests.browser.conftest import imported
from tests.browser.everyone import EITHER, complaints_of_axe, usable_everywhere

EXCESS = RULES / "stale-view/fires-after-its-job-was-complete.jsonl"
BECAUSE = "Because job-controller created Pod report-0-r9wx8 when Job report-0 was Complete."


def test_the_timeline_and_the_page_of_an_incident_say_its_cause(page: Page, site: str) -> None:
    page.goto(imported(site, "why.jsonl.zst", CAUSE.read_bytes()))
    shown = page.locator(".incident.open")
    expect(shown.locator(".because")).to_have_count(1)  # the finding says the same, and does not repeat it
    expect(shown.locator(".because")).to_contain_text(BECAUSE)
    known = page.locator(".incident:not(.open)", has_text="cause known")
    expect(known).to_have_count(0)
    shown.get_by_role("button", name="job-controller acted on old copies").first.click()
    expect(known).to_have_count(1)
    known.get_by_role("button").first.click()
    page.get_by_role("link", name="This incident").click()
    cause = page.get_by_role("region", name="Cause", exact=True)
    expect(cause).to_contain_text(BECAUSE)
    expect(cause.get_by_role("listitem")).to_have_count(3)
    usable_everywhere(page)
    cause.get_by_role("link", name="Job report-0 was Complete").click()
    expect(page.locator("li:target, .asked")).to_contain_text("581")


def test_an_act_shows_its_copy_beside_what_stood(page: Page, site: str) -> None:
    recording = imported(site, EXCESS.name, EXCESS.read_bytes())
    page.goto(f"{recording}actors/?order=lag")
    row = page.get_by_role("row", name=re.compile("job-controller"))
    expect(row).to_contain_text("stale")
    usable_everywhere(page)
    row.get_by_role("link", name="job-controller").click()
    expect(page.locator("#filtered")).to_contain_text("system:kube-controller-manager")

    page.goto(f"{recording}incidents/")
    page.get_by_role("link", name=re.compile("job-controller acted on old copies of Jobs")).first.click()
    view = page.get_by_role("region", name="What job-controller had seen of Job report-0")
    expect(view.get_by_role("img", name=re.compile("^Revisions of Job report-0"))).to_be_visible()
    expect(view.locator(".view-copy")).to_contain_text("From its copy, revision 481, to what stood, revision 581")
    usable_everywhere(page)
    refused = view.get_by_role("button", name=re.compile("update refused")).first
    refused.press("Enter")
    expect(refused).to_have_attribute("aria-pressed", "true")
    expect(view.locator(".view-copy")).to_contain_text("All changes of Job report-0")
    page.get_by_role("link", name="Show on the timeline").click()
    seen = page.get_by_role("button", name="seen by job-controller")
    seen.press("Enter")
    panel = page.get_by_role("dialog", name=re.compile("job-controller: "))
    expect(panel.locator(".diff")).to_contain_text("type: Complete")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(seen).to_be_focused()
    page.locator("#overlay .view-act.old").last.hover(force=True)
    expect(page.locator("#tip")).to_contain_text("of Job report-0")
    expect(page.locator("#tip .diff")).to_contain_text("reason: CompletionsReached")
    assert complaints_of_axe(page, EITHER) == []


def test_an_object_is_compared_with_others_like_it(page: Page, site: str) -> None:
    jobs = imported(site, "stale-jobs.jsonl.zst", (DATA / "compare/stale-jobs.jsonl.zst").read_bytes())
    found = page.request.get(f"/api{jobs}search?q=queue").json()["objects"]
    (queue,) = (each["track"] for each in found if (each["kind"], each["namespace"]) == ("Job", "nightly"))
    page.goto(f"{jobs}objects/{queue}/")
    page.get_by_role("link", name="Compare with…").click()
    expect(page.get_by_role("heading", name="Which of these went well?")).to_be_visible()
    usable_everywhere(page)
    for name in ("nightly-before", "nightly-after"):
        page.get_by_role("checkbox", name=f"queue {name} ").check()
    page.get_by_role("button", name="Compare", exact=True).press("Enter")
    expect(page.get_by_role("heading", name=re.compile("Job queue in nightly: [0-9]+ differences"))).to_be_visible()
    expect(page.locator(".steps-of-runs .moved")).to_have_count(2)
    usable_everywhere(page)
    page.get_by_text("Which steps").press("Enter")
    expect(page.get_by_text("last Pod ready").first).to_be_visible()
