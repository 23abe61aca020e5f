"""The logs of programs on the timeline: lanes below their Pods, lines in the panel, and the search."""

import io
import json
import re
import tarfile

import pytest
from playwright.sync_api import Page, Route, expect

from tests import DATA, RULES
from tests.browser.conftest import imported
from tests.browser.everyone import EITHER, PHONE, complaints_of_axe
from tests.browser.looking import box_of, happens, settled
from tests.inputs.recordings import lines_of

IN_POD = "bundle/namespaces/shop/pods/web-0/app/app/logs/current.log"
START = 1_795_348_800_000_000  # 2026-11-22T12:00:00Z
PLANTED = '<img src=x onerror="document.title=1"> \u202eabout'


def pod(name: str, second: int) -> str:
    about = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "resourceVersion": str(10 + second)}
    about["creationTimestamp"] = f"2026-11-22T12:00:{second:02}Z"
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": {}, "status": {}})


def said(time: str, text: str, level: str = "info") -> str:
    return json.dumps({"time": f"2026-11-22T12:{time}Z", "level": level, "msg": text})


def packed(files: dict[str, bytes]) -> bytes:
    """Return an archive of these files."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name, content in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return made.getvalue()


@pytest.fixture(scope="module")
def with_logs(site: str) -> str:
    """The path of the timeline of two Pods, the log of one of them, and another log."""
    many = [said(f"00:{20 + number // 50:02}.{number % 50 * 20:03}", f"step {number}") for number in range(150)]
    lines = [
        said("00:05.25", f"about shop/web-0 {PLANTED}", "warn"),
        *many,
        said("00:58.5", "the only needle", "error"),
    ]
    files = {
        "bundle/pods.json": "\n".join([pod("web-0", 1), pod("web-1", 59)]),
        IN_POD: "\n".join(lines),
        "bundle/kube-vip.log": "\n".join([said("00:30", "alone on its lane"), said("00:31", "and again")]),
    }
    return imported(site, "bundle.tar.gz", packed({name: content.encode() for name, content in files.items()}))


def middle_of(page: Page, mark: str) -> tuple[float, float]:
    box = box_of(page, mark)
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_log_is_folded_below_its_pod_and_each_line_can_be_read(page: Page, with_logs: str) -> None:
    page.goto(with_logs)
    toggle = page.get_by_role("button", name="log of app in web-0")
    expect(toggle).to_have_attribute("aria-expanded", "false")
    expect(page.locator(".log-lane")).to_have_count(0)
    toggle.click()
    expect(page.locator(".log-lane")).to_contain_text("app")
    for level in "warning", "error":
        expect(page.locator(f".log-mark.{level}")).to_have_count(1)
    settled(page)
    page.mouse.move(*middle_of(page, ".log-mark:not(.warning, .error)"))
    expect(page.locator("#tip")).to_contain_text("lines")
    page.mouse.click(*middle_of(page, ".log-mark.warning"))
    panel = page.get_by_role("dialog", name="Log shop/web-0/app")
    line = panel.locator(".log-whole")
    expect(line).to_contain_text('<img src=x onerror="document.title=1">')
    expect(line).to_contain_text("\ufffdabout")
    expect(panel).to_contain_text("1 of 152")
    expect(panel).to_contain_text("current.log:1")
    subject = panel.get_by_role("link", name="Pod shop/web-0")
    expect(subject).to_have_attribute("href", re.compile(r"^/sources/\d+/objects/\d+/$"))
    page.keyboard.press(".")
    expect(line).to_have_text("step 0")
    assert "line=" in settled(page) and "logs=" in settled(page)
    page.reload()
    expect(line).to_have_text("step 0")
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    page.get_by_role("button", name="logs").click()
    expect(page.locator(".log-lane").nth(1)).to_contain_text("kube-vip.log")
    page.locator(".log-name").first.click()
    expect(page.locator("#line")).to_be_visible()
    assert complaints_of_axe(page, EITHER) == []
    page.keyboard.press("Escape")
    page.set_viewport_size(PHONE)
    page.get_by_role("button", name="Timeline").click()
    expect(page.locator(".log-mark").first).to_be_visible()
    page.locator(".log-name").first.click()
    expect(page.locator("#line")).to_be_visible()
    assert complaints_of_axe(page) == []


def test_the_search_finds_a_line_and_shows_it_in_its_place(page: Page, with_logs: str) -> None:
    page.goto(f"{with_logs}?start={START}&end={START + 10_000_000}")
    expect(page.get_by_role("button", name="log of app in web-0")).to_be_visible()
    page.locator("#search").fill("only NEEDLE")
    page.get_by_role("option", name="the only needle").click()
    expect(page.locator("#line .log-whole")).to_have_text("the only needle")
    expect(page.locator(".log-mark.error")).to_be_visible()
    expect(page.locator("#search")).not_to_be_focused()


def test_a_log_alone_is_open_and_says_what_the_rules_need(page: Page, site: str) -> None:
    address = imported(site, "alone.log", "\n".join([said("00:30", "one"), said("00:40", "other")]).encode())
    held: list[Route] = []
    page.route(re.compile(r"/logs$"), lambda route: held.append(route))
    page.goto(address)
    expect(page.locator("#notice")).to_have_text("No object existed in this range.")
    happens(page, lambda: bool(held))
    held[0].continue_()  # which logs there are may become known after the window
    expect(page.locator(".log-mark")).to_have_count(2)
    expect(page.locator("#notice")).to_contain_text("The rules need an audit log, a watch or a list")
    page.get_by_role("button", name="logs").click()
    expect(page.locator(".log-mark")).to_have_count(0)
    assert "logs=" not in settled(page)


def service(name: str, time: str) -> str:
    about = {"name": name, "namespace": "shopfront", "uid": name, "resourceVersion": "9"}
    about["creationTimestamp"] = f"2026-11-22T{time}Z"
    return json.dumps({"apiVersion": "v1", "kind": "Service", "metadata": about, "spec": {}})


def test_the_log_that_proves_a_finding_is_open_below_its_lane_while_it_is_selected(page: Page, site: str) -> None:
    services = "\n".join([service("app2", "06:19:30"), service("later", "06:20:30")])
    log = b"\n".join(lines_of(DATA / "logs" / "kube-vip.log.zst"))
    page.goto(imported(site, "overlooked.tar.gz", packed({"services.json": services.encode(), "kube-vip.log": log})))
    expect(page.locator(".incident")).to_contain_text("ongoing when the recording ends")
    expect(page.locator("[data-lane='Service/shopfront/app2'] + .log-lane")).to_contain_text("kube-vip.log")
    expect(page.locator(".evidence.line")).to_have_count(2)
    settled(page)
    page.mouse.move(*middle_of(page, ".evidence.line"))
    expect(page.locator("#tip")).to_contain_text("proves the selected finding")
    page.mouse.click(*middle_of(page, ".evidence.line"))
    expect(page.locator("#line .log-whole")).to_contain_text("service shopfront/app2: local endpoint(s) [1]")
    page.keyboard.press("Escape")
    assert "logs=" not in settled(page)
    page.get_by_role("button", name="log of", exact=False).click()
    expect(page.locator(".log-lane")).to_have_count(0)
    page.locator(".incident h3 button").first.click()
    expect(page.locator(".evidence")).to_have_count(0)
    page.locator(".incident h3 button").first.click()
    expect(page.locator(".log-lane")).to_have_count(1)


def test_a_refused_request_that_proves_a_finding_is_marked_on_the_lane_of_its_object(page: Page, site: str) -> None:
    page.goto(imported(site, "refused.jsonl", (RULES / "stale-write/fires-the-copy-stands-still.jsonl").read_bytes()))
    expect(page.locator(".evidence")).to_have_count(1)
    settled(page)
    page.mouse.move(*middle_of(page, ".evidence"))
    expect(page.locator("#tip")).to_contain_text("refused: it named revision")
