"""The list of incidents and findings beside a timeline, and what limits it: a search, filters, a group in focus."""

import re
from typing import Any

from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import RETRIES
from tests.browser.everyone import EITHER, complaints_of_axe
from tests.browser.looking import TIMELINE, box_of, fits, opened
from tests.browser.timeline.conftest import AWAY, END, START
from tests.servers.running import WITH_TOKEN

ALL = "2 incidents · 4 symptoms · 7 findings"
WITH_HARMLESS = "4 incidents · 6 symptoms · 10 findings"
PLACE_OF_A_SIGN = (
    TIMELINE
    + """.then(({ parts: { picture, loader: { payload } }, store }) => {
  const { finding, from_lane: lane } = payload.arrows;
  const i = finding.findIndex((key, i) => lane[i] >= 0 && payload.dots.finding.includes(key));
  const dot = payload.dots.finding.indexOf(finding[i]);
  const { start, end } = store.view(), box = picture.figures.main.getBoundingClientRect();
  const x = box.x + (payload.dots.time[dot] - start) / (end - start) * box.width;
  return [x, box.y + picture.scenes.main.centres[payload.dots.lane[dot]] - 13];
})"""
)  # of a violation with an arrow


def test_a_sign_on_a_lane_shows_the_arrow_and_selects_the_violation(page: Page, recording: str) -> None:
    page.set_viewport_size({"width": 1280, "height": 1200})
    opened(page, f"{recording}?start={START}&end={END}")
    arrows = page.locator("#overlay .pill-label")
    expect(page.locator("#overlay .tick")).to_have_count(2)
    expect(arrows).to_have_count(0)
    x, y = page.evaluate(PLACE_OF_A_SIGN)
    page.mouse.move(x, y)
    expect(page.locator("#tip")).to_contain_text("info: Service ≈ 30 ms late")
    expect(arrows).to_have_count(1)
    page.mouse.move(x, y - 60)
    expect(arrows).to_have_count(0)
    page.mouse.click(x, y)
    expect(page.locator(".finding.selected")).to_contain_text("ring-weak-0 was created ≈ 30 ms before")


def test_the_list_goes_on_where_it_ends(page: Page, address: str) -> None:
    def by_two(route: Route) -> None:
        route.continue_(url=re.sub(r"limit=\d+", "limit=2", route.request.url))

    page.route(re.compile(r"/incidents\?"), by_two)
    opened(page, f"{address}&hidden=1")
    expect(page.locator("#findings-count")).to_have_text(WITH_HARMLESS)
    expect(page.locator(".incident").nth(3)).to_be_attached()  # what is in sight of the end brings the next page
    expect(page.locator(".part")).to_have_text(["In view · 1 incident · 2 symptoms · 5 findings", "Not in view"])
    selected = page.locator(".finding.selected")
    seen = []
    for _ in range(9):
        key = selected.get_attribute("data-finding") or ""
        seen.append(key)
        page.keyboard.press("n")
        expect(selected).not_to_have_attribute("data-finding", key)
    assert len(set(seen)) == 9
    expect(selected).to_have_attribute("data-finding", seen[0])  # after the last one it begins again
    page.keyboard.press("p")
    expect(selected).to_have_attribute("data-finding", seen[-1])


def test_an_incident_opens_and_closes_and_its_findings_lead_on(timeline: Page) -> None:
    chosen = timeline.locator(".finding.selected")
    expect(chosen.get_by_role("link", name="About service-gap")).to_have_attribute("href", "/rules/service-gap/")
    expect(chosen.get_by_role("link", name="This finding")).to_have_attribute("href", re.compile("/findings/"))
    lease = timeline.locator(".incident", has_text="elect on Lease volcano")
    name = lease.locator(".incident-name")
    expect(name).to_have_text(re.compile("^[0-9a-f]{6}$"))
    called = name.inner_text()
    expect(lease.locator(".finding")).to_have_count(0)
    lease.get_by_role("button", name="Workloads with different schedulers").click()
    expect(lease.locator(".finding.selected")).to_be_visible()
    lease.get_by_role("button", name="was held in turn").click()
    expect(lease.locator(".finding.selected")).to_contain_text("held by Deployment vs-online")
    expect(timeline.locator(".incident.open")).to_have_count(1)
    expect(name).to_have_text(called)
    expect(lease.get_by_role("link", name="This incident")).to_have_attribute("href", re.compile("/incidents/"))
    lease.get_by_role("button", name="Workloads with different schedulers").click()
    expect(timeline.locator(".incident.open")).to_have_count(0)
    expect(timeline).not_to_have_url(re.compile("finding="))

    timeline.get_by_role("button", name="Service ring was away under 3 Pods").click()
    timeline.get_by_role("button", name="2 Pods created before Service ring").click()
    for text in ("≈ 30 ms", "16–28 ms"):
        item = timeline.locator(".finding", has_text=f"{text} before")
        item.hover()
        item.get_by_role("button", name="Pin arrow").click()
    timeline.keyboard.press("r")
    expect(timeline).to_have_url(re.compile(r"arrows=\w+,\w+"))
    expect(timeline.locator(".pill-label")).to_have_count(2)
    curves = "data.find((trace) => trace.name === 'arrows').x.filter((x) => x === null).length + 1"
    timeline.wait_for_function(f"() => document.querySelector('#plot').{curves} === 2")
    timeline.reload()
    expect(timeline.locator(".pill-label")).to_have_count(2)
    chosen.get_by_role("definition").get_by_role("link", name="ring-").first.click()
    expect(timeline).to_have_url(re.compile("about="))


def test_symptoms_are_folded_below_their_incident_which_can_be_shown_alone(page: Page, recording: str) -> None:
    opened(page, recording)
    gone = page.locator(".incident", has_text="Service ring was away")
    symptoms = gone.get_by_role("list", name="Symptoms of this incident").locator(":scope > li")
    expect(symptoms).to_have_count(2)
    expect(symptoms.filter(has=page.locator(".finding"))).to_have_count(1)
    symptoms.filter(has_text="2 Pods created before").get_by_role("button", name="2 Pods created before").click()
    expect(symptoms.locator(".finding.selected")).to_contain_text("before its Service ring")
    expect(symptoms.filter(has_text="was away").locator(".finding")).to_have_count(0)

    gone.get_by_role("button", name="Show this incident alone").click()
    chip = page.get_by_role("button", name=re.compile("Remove the filter incident: Service ring was away"))
    expect(chip).to_be_visible()
    names = page.locator(".lane .lane-name")
    expect(names.first).to_have_text("ring")
    expect(page.locator(".group-name")).to_have_count(1)
    link = page.url
    expect(page).to_have_url(re.compile("incident="))
    page.locator(".incident", has_text="elect on Lease").get_by_role("button").first.click()
    expect(chip).to_be_hidden()  # the other incident has other lanes
    page.go_back()
    expect(chip).to_be_visible()
    page.goto(re.sub(r"\?.*(incident=\w+).*", r"?\1", link))
    expect(chip).to_be_visible()
    expect(gone.locator(".finding.selected")).to_contain_text("was away")
    expect(names.first).to_have_text("ring")
    chip.click()
    expect(chip).to_be_hidden()
    expect(page.locator(".group-name")).not_to_have_count(1)


def test_a_filter_that_does_not_match_the_selected_incident_says_so(page: Page, recording: str) -> None:
    page.goto(f"{recording}?namespace=nosuch&finding={AWAY}")
    panel = page.get_by_role("complementary", name="Incidents")
    expect(panel).to_contain_text("0 incidents")
    expect(panel.get_by_role("listitem").first).to_contain_text("No incident matches the filter")
    expect(panel.get_by_role("listitem").nth(1)).to_have_text("Selected, but the filter does not match it")
    expect(panel.locator(".incident.open")).to_contain_text("Service ring was away")
    expect(page.locator("#namespace")).to_have_value("nosuch")
    assert box_of(page, "#axis")["y"] >= box_of(page, ".tools")["y"] + box_of(page, ".tools")["height"]
    panel.get_by_role("button", name="Clear the filter").click()
    expect(panel).not_to_contain_text("does not match")
    expect(panel).to_contain_text("2 incidents")
    page.goto(f"{recording}?finding=6419c0285de6432f")
    expect(page.locator(".finding.selected .when")).to_have_text("07:52:11.3–27.4")  # it lasted so long


def test_what_somebody_knows_of_is_hidden_and_counted_but_a_link_to_it_opens_it(page: Page, recording: str) -> None:
    api = f"/api{recording.rstrip('/')}"
    incidents = page.request.get(f"{api}/incidents", max_retries=RETRIES).json()["incidents"]
    held = next(each["id"] for each in incidents if "lease-contention" in each["rules"])
    reported = page.request.get(f"{api}/findings?incident={held}", max_retries=RETRIES).json()["findings"]
    by_token: dict[str, Any] = {"headers": WITH_TOKEN, "max_retries": RETRIES}
    note = {"incidents": [held], "note": "known"}
    assert page.request.post(f"{api}/acknowledgements", data=note, **by_token).ok
    count, known = page.locator("#findings-count"), page.locator(".incident.acknowledged")
    try:
        page.goto(recording)
        expect(count).to_have_text(ALL)
        expect(page.locator(".incident")).to_have_count(1)
        hidden = page.locator("#hidden-incidents")
        expect(hidden).to_contain_text("2 without harm · 1 acknowledged, not listed.")
        hidden.get_by_role("button", name="Show").click()
        expect(known).to_contain_text("elect on Lease volcano")
        expect(page.locator(".incident")).to_have_count(4)
        expect(count).to_have_text(WITH_HARMLESS)
        expect(page).to_have_url(re.compile("hidden=1"))
        hidden.get_by_role("button", name="Hide").click()
        expect(known).to_have_count(0)
        page.goto(f"{recording}?finding={reported[0]['key']}")
        expect(page.locator(".incident.open.acknowledged .finding.selected")).to_be_visible()
        expect(count).to_have_text(ALL)
    finally:
        assert page.request.delete(f"{api}/incidents/{held}/acknowledgement", **by_token).ok


def test_a_group_in_focus_limits_incidents_and_report(timeline: Page) -> None:
    count, ticks = timeline.locator("#findings-count"), timeline.locator("#minimap .tick")
    timeline.get_by_role("button", name="Focus").first.focus()
    timeline.keyboard.press("Enter")
    expect(count).to_have_text("1 incident · 2 symptoms · 5 findings")
    chip = timeline.get_by_role("button", name="Remove the filter focus: Job ring")
    expect(chip).to_be_visible()
    expect(timeline).to_have_url(re.compile(r"focus=\d+"))  # which the report of the view takes, too
    expect(timeline.locator(".group-name")).to_have_text(["vcj ring"])  # the lanes of others are hidden
    expect(ticks).to_have_count(4)  # of 8
    timeline.locator(".incident h3 button").first.click()  # selecting what is in the scope keeps the scope
    expect(timeline.locator(".finding.selected")).to_be_visible()
    expect(chip).to_be_visible()
    chip.click()
    expect(count).to_have_text(ALL)
    expect(ticks).to_have_count(8)
    expect(timeline.locator(".group-name")).not_to_have_count(1)
    timeline.go_back()
    expect(chip).to_be_visible()


def test_a_search_finds_objects_and_findings(timeline: Page) -> None:
    timeline.keyboard.press("/")
    field = timeline.get_by_role("combobox", name="Find an object or a finding")
    expect(field).to_be_focused()
    hits = timeline.get_by_role("listbox", name="Search results")
    option = hits.get_by_role("option")
    field.fill("ring-weak")
    expect(hits.get_by_role("option", selected=True)).to_contain_text("ring-weak-0")
    early = option.filter(has_text="created ≈ 30 ms before")
    expect(early).to_be_visible()
    field.press("Enter")
    expect(hits).to_be_hidden()
    expect(timeline.locator(".lane.current .lane-name")).to_have_text("ring-weak-0")
    expect(timeline.locator(".lane.current")).to_be_in_viewport()
    expect(timeline).to_have_url(re.compile("lane=Pod/vol-restart/ring-weak-0"))
    field.fill("30 ms")
    expect(early).to_be_visible()
    field.press("ArrowUp")
    field.press("ArrowDown")
    early.click()
    expect(timeline.locator(".finding.selected")).to_contain_text("created ≈ 30 ms before")
    field.fill("pods on node-004")
    expect(option.first).to_contain_text("on node-004")
    field.fill("controller-manager")
    option.filter(has_text="actor of").click()
    expect(timeline).to_have_url(re.compile("actor=system%3Akube-controller-manager"))
    field.fill("nothing-of-that-name")
    expect(hits).to_contain_text("Nothing matches")
    field.press("Escape")
    expect(hits).to_be_hidden()


def test_filters_stand_in_words_and_can_be_taken_back(timeline: Page) -> None:
    count, names = timeline.locator("#findings-count"), timeline.locator("#labels .lane-name")
    name, rule = timeline.get_by_role("textbox", name="Name contains"), timeline.get_by_label("Rule")
    lanes = timeline.locator("#lanes-count").inner_text()
    timeline.get_by_role("button", name="Filter", exact=True).click()
    timeline.get_by_label("Show noise").check()
    expect(timeline.locator("#lanes-count")).not_to_have_text(lanes)
    expect(timeline).to_have_url(re.compile("noise=1"))
    timeline.get_by_label("Show noise").uncheck()
    name.press_sequentially("steady")
    rule.focus()
    rule.select_option("service-gap")  # at once, before the name was sent
    expect(timeline).to_have_url(re.compile("name=steady&rule=service-gap"))
    expect(name).to_have_value("steady")
    expect(names).to_have_text(["ring-steady-2", "ring-steady-1", "ring-steady-0"])
    timeline.get_by_label("Severity").select_option("warning")
    timeline.get_by_label("Actor", exact=True).select_option("admin")
    timeline.get_by_label("Only lanes that change from here on").check()
    expect(timeline).to_have_url(re.compile("name=steady&rule=service-gap&severity=warning&actor=admin&active=1"))
    expect(count).to_have_text("1 incident · 2 symptoms · 5 findings")
    timeline.keyboard.press("Escape")
    taken = timeline.get_by_role("group", name="Filters in force")
    taken.get_by_role("button", name="only what changes from here on").click()
    expect(names).to_have_count(3)
    taken.get_by_role("button", name="Clear all").click()
    expect(taken).to_be_hidden()
    expect(count).to_have_text(ALL)


def test_kinds_and_namespaces_filter_the_lanes_and_what_matches_nothing_says_so(page: Page, recording: str) -> None:
    page.goto(f"{recording}?name=no-such-name")
    notice = page.locator("#notice")
    expect(notice).to_contain_text("No object matches the filter")
    expect(page.locator("#finding-list")).to_contain_text("No incident matches the filter")
    notice.get_by_role("button", name="Clear the filter").click()
    expect(page.locator(".lane").first).to_be_visible()
    expect(notice).to_be_hidden()

    other = page.locator(".lane-name", has_text="vs-online")
    page.goto(recording)
    page.locator("[data-kind=Pods]").click()
    expect(page.locator(".lane .badge").filter(has_not_text="pod")).to_have_count(0)
    expect(page.locator(".lane-name", has_text="ring-weak-0")).to_be_visible()
    page.get_by_role("button", name="without a change").click()
    expect(other.first).to_be_attached()
    page.locator("#namespace").select_option("vol-restart")
    expect(other).to_have_count(0)
    expect(page).to_have_url(re.compile("kinds=Pods&namespace=vol-restart"))
    page.go_back()
    expect(other.first).to_be_attached()
    page.locator("[data-kind=Services]").click()
    expect(page.locator(".lane .badge", has_text="svc").first).to_be_visible()


def test_the_help_names_every_key_of_the_page_and_single_keys_can_be_switched_off(timeline: Page) -> None:
    timeline.keyboard.press("?")
    dialog = timeline.get_by_role("dialog", name="Keys")
    named = dialog.locator("kbd").all_inner_texts()
    names = {"←": "ArrowLeft", "→": "ArrowRight", "↑": "ArrowUp", "↓": "ArrowDown", "Esc": "Escape"}
    names |= {"Page ↑": "PageUp", "Page ↓": "PageDown"}
    keys = timeline.evaluate(TIMELINE + ".then(({ keys }) => Object.keys(keys))")
    assert {names.get(each, each) for each in named} == {*keys, "z", "?"}
    timeline.get_by_label("Single-key shortcuts").uncheck()
    timeline.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    before = timeline.locator("#range").inner_text()
    timeline.keyboard.press("r")
    timeline.keyboard.press("t")
    timeline.wait_for_timeout(300)
    expect(timeline.locator("#range")).to_have_text(before)
    expect(timeline.locator("#bench")).to_be_visible()
    timeline.keyboard.press("ArrowRight")
    expect(timeline.locator("#range")).not_to_have_text(before)


def test_the_help_explains_the_marks_in_view_and_the_others_when_asked(timeline: Page) -> None:
    timeline.get_by_label("Menu", exact=True).click()
    timeline.get_by_role("button", name="Keys and marks").click()
    every = "[...document.querySelectorAll('#overlay [data-mark]')].map((each) => each.dataset.mark)"
    drawn = timeline.evaluate(every)
    names = {
        "scheduled": "scheduled",
        "started": "running",
        "ready": "ready",
        "taken": "lease taken",
        "deleted": "deleted",
    }
    marks = timeline.locator("#marks")
    for mark, words in names.items():
        expect(marks.get_by_text(words, exact=True)).to_be_visible(visible=mark in drawn)
    timeline.get_by_role("button", name="Also what is not in view").click()
    for words in names.values():
        expect(marks.get_by_text(words, exact=True)).to_be_visible()


def test_the_tour_speaks_of_what_is_on_the_page_and_can_be_left(timeline: Page) -> None:
    card = timeline.get_by_role("dialog", name="Incidents")
    timeline.get_by_label("Menu", exact=True).click()
    timeline.get_by_role("button", name="Tour of this page").click()
    expect(card).to_contain_text("1 of 8")
    fits(timeline)
    assert complaints_of_axe(timeline, EITHER) == []
    timeline.keyboard.press("Escape")
    expect(card).to_be_hidden()
    expect(timeline.get_by_label("Menu", exact=True)).to_be_focused()
    timeline.goto(f"{timeline.url}#tour")
    timeline.reload()
    for place in range(1, 9):
        expect(timeline.locator("#tour-place")).to_have_text(f"{place} of 8")
        timeline.locator("#tour-next").click()
    expect(timeline.locator("#tour")).to_be_hidden()
    expect(timeline.locator(".toured")).to_have_count(0)


def test_a_search_knows_times_and_terms_and_is_saved_in_the_browser(timeline: Page) -> None:
    field, options = (
        timeline.get_by_role("combobox", name="Find an object or a finding"),
        timeline.get_by_role("option"),
    )
    tokens, chosen = timeline.locator(".token"), timeline.locator("#hits [aria-selected=true]")
    field.fill("node:node-00")
    expect(chosen).to_contain_text("node:node-002")  # a value that has to be whole is completed first
    field.press("ArrowDown")
    field.press("Enter")
    expect(field).to_have_value("node:node-003 ")
    field.press_sequentially("kind:pod")
    expect(chosen).to_contain_text("Show only what matches")
    assert complaints_of_axe(timeline) == []
    options.filter(has_text="Save this search").click()
    field.click()
    expect(options.filter(has_text="Forget this search")).to_be_visible()
    field.press("Enter")
    expect(tokens).to_contain_text(["kind: Pods", "node: node-003"])
    expect(timeline).to_have_url(re.compile("kinds=Pods&node=node-003"))
    expect(timeline.locator(".lane-name", has_text="ring-steady-0")).to_be_visible()
    expect(timeline.locator(".lane-name", has_text="ring-steady-2")).to_have_count(0)
    timeline.go_back()
    expect(tokens).to_have_count(0)
    field.fill("")
    options.filter(has_text="node:node-003 kind:pod").click()
    expect(field).to_have_value("node:node-003 kind:pod")
    field.fill("severity:bad")
    expect(timeline.locator("#hits")).to_contain_text("severity: is one of error, warning, info")
    field.fill("07:52:10 to 07:52:20")
    expect(chosen).to_have_text(re.compile("Go to 2026-11-21 07:52:10.000 to 07:52:20.000 UTC"))
    field.press("Enter")
    expect(timeline.locator("#range")).to_have_text("07:52:10.000 – 07:52:20.000")
    field.fill("since:07:52:05 kind:pod until:07:52:06")
    expect(chosen).to_contain_text("Show only what matches")
    field.press("Enter")
    expect(timeline.locator("#range")).to_have_text("07:52:05.000 – 07:52:06.000")
    expect(tokens).to_contain_text(["kind: Pods"])
