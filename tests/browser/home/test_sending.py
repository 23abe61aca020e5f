"""Sending goes on: when the network was away, the page was loaded anew, or a server or a worker was killed."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Request, expect

from tests.browser.conftest import lasting, lent
from tests.browser.home.conftest import FOUND, choose
from tests.browser.looking import happens
from tests.inputs.recordings import SAMPLE
from tests.servers.running import Running, running

SLOW = 700_000  # bytes a second
STALLED = 1_000  # bytes a second: it is not sent before a test has done what it does meanwhile
LONG = 300_000  # ms that a test waits for an import
Network = Callable[..., None]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("own"), "web", "worker", "beat") as started:
        yield started


@pytest.fixture(scope="module")
def shared(browser: Browser, own: Running) -> Iterator[BrowserContext]:
    with lasting(browser, own.address) as context:
        yield context


@pytest.fixture
def page(shared: BrowserContext) -> Iterator[Page]:
    with lent(shared) as context:
        page = context.new_page()
        page.on("dialog", lambda dialog: dialog.accept())  # whether to leave while something is being sent
        page.goto("/")
        yield page


@pytest.fixture
def long(tmp_path: Path) -> Path:
    """Five megabytes."""
    path = tmp_path / f"{tmp_path.name}.jsonl"
    path.write_bytes(zstandard.decompress(SAMPLE.read_bytes(), max_output_size=1 << 24))
    return path


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Return a file that is not part of the upload."""
    path = tmp_path / "other.jsonl"
    path.write_bytes(b"{}\n")
    return path


@pytest.fixture
def network(page: Page) -> Network:
    """Sets how quick the network of the page is, and whether there is any."""
    session = page.context.new_cdp_session(page)

    def be(*, offline: bool = False, upload: int = -1) -> None:
        speed = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": upload}
        session.send("Network.emulateNetworkConditions", {"offline": offline, **speed})

    be(upload=SLOW)
    return be


def sends(page: Page, network: Network, path: Path) -> Locator:
    """The row of a file of which a part has arrived; the rest stays where it is until the network is quick again."""
    choose(page, path)
    row = page.locator(".upload", has_text=path.name)
    expect(row).to_contain_text("sending · ")
    happens(page, lambda: float(row.locator("progress").evaluate("bar => bar.value")) >= 0.25)
    network(upload=STALLED)
    return row


def breaks_off(page: Page, network: Network, path: Path) -> Locator:
    """The row of a file that was being sent when the page was loaded anew."""
    sends(page, network, path)
    page.reload()
    row = page.locator(".upload", has_text=path.name)
    expect(row).to_contain_text("interrupted at")
    return row


def choose_again(page: Page, row: Locator, path: Path) -> None:
    with page.expect_file_chooser() as chooser:
        row.get_by_role("button", name="Choose again…").click()
    chooser.value.set_files(path)


def cancel(page: Page, row: Locator) -> None:
    with page.expect_response("**/cancel"):
        row.get_by_role("button", name="Cancel").click()


def offsets_of(page: Page) -> list[int]:
    """Where the pieces begin that are sent from now on."""
    found: list[int] = []

    def note(request: Request) -> None:
        if request.method == "PUT":
            found.append(int(request.headers["upload-offset"]))

    page.on("request", note)
    return found


def test_it_goes_on_by_itself_when_the_network_is_back(page: Page, network: Network, long: Path) -> None:
    row = sends(page, network, long)
    offsets = offsets_of(page)
    network(offline=True)
    expect(row).to_contain_text("waiting for the connection")
    expect(row).to_contain_text("The upload continues by itself")
    network()
    expect(row).to_contain_text(FOUND, timeout=LONG)
    assert min(offsets) > 0


def test_it_goes_on_when_the_server_was_killed_and_started_again(
    page: Page, own: Running, network: Network, long: Path
) -> None:
    row, away = sends(page, network, long), page.get_by_role("alert").filter(has_text="The server cannot be reached")
    own.kill("web")
    expect(row).to_contain_text("waiting for the connection")
    expect(away).to_be_visible()
    offsets = offsets_of(page)
    own.start("web")
    network()
    expect(row).to_contain_text(FOUND, timeout=LONG)
    expect(away).to_have_count(0)
    assert min(offsets) > 0


def test_after_a_reload_the_same_file_goes_on_where_it_broke_off(
    page: Page, network: Network, long: Path, other: Path
) -> None:
    row = breaks_off(page, network, long)
    expect(row).to_contain_text("Choose the same file again, and the upload continues from there.")
    network()
    offsets = offsets_of(page)
    choose_again(page, row, other)
    expect(row).to_contain_text("does not match the interrupted upload")
    choose_again(page, row, long)
    expect(row).to_contain_text(FOUND, timeout=LONG)
    assert min(offsets) > 0
    expect(page.locator(".upload")).to_have_count(1)


def test_a_message_about_an_interrupted_upload_keeps_its_buttons_and_it_can_be_cancelled(
    page: Page, own: Running, network: Network, long: Path, other: Path
) -> None:
    page.route_web_socket("**/ws/uploads/", lambda socket: socket.close())  # so the page asks every two seconds
    row = breaks_off(page, network, long)
    network()
    button = row.get_by_role("button", name="Choose again…").element_handle()
    choose_again(page, row, other)
    refusal = "does not match the interrupted upload"
    expect(row).to_contain_text(refusal)
    for _ in range(2):
        with page.expect_response("**/api/uploads"):
            pass
    expect(row).to_contain_text("interrupted at")
    assert refusal in row.inner_text()
    expect(row.get_by_role("alert")).to_have_count(1)
    assert button.evaluate("each => each.isConnected"), "whoever presses it at that moment would press nothing"
    row.get_by_role("button", name="Cancel").click()
    expect(row).to_contain_text("cancelled")
    happens(page, lambda: not list((own.data / "uploads").iterdir()))  # an import of before may still be ending


def test_what_broke_off_can_be_chosen_like_any_file_unless_it_was_changed_meanwhile(
    page: Page, network: Network, long: Path
) -> None:
    changed = long.stat()
    row = breaks_off(page, network, long)
    os.utime(long, (0, 0))
    offsets = offsets_of(page)
    choose(page, long)
    happens(page, lambda: bool(offsets))
    assert min(offsets) == 0  # it is sent anew
    cancel(page, page.locator(".upload", has_text="sending · "))
    os.utime(long, ns=(changed.st_atime_ns, changed.st_mtime_ns))
    expect(row.filter(has_text="interrupted at")).to_have_count(1)
    offsets.clear()
    choose(page, long)
    happens(page, lambda: bool(offsets))
    assert min(offsets) > 0
    cancel(page, page.locator(".upload", has_text="sending · "))


def test_sending_can_be_cancelled(page: Page, own: Running, network: Network, long: Path) -> None:
    cancel(page, sends(page, network, long))
    expect(page.locator(".upload")).to_have_count(0)
    network()
    page.reload()
    expect(page.locator(".upload")).to_have_count(0)
    happens(page, lambda: not list((own.data / "uploads").iterdir()))


def test_an_import_whose_worker_is_killed_is_seen_to_go_on(page: Page, own: Running, tmp_path: Path) -> None:
    text = zstandard.decompress(SAMPLE.read_bytes(), max_output_size=1 << 24)
    path = tmp_path / "killed.jsonl.zst"
    path.write_bytes(zstandard.compress(text * 6))
    choose(page, path)
    row = page.locator(".upload", has_text="killed.jsonl.zst")
    expect(row).to_contain_text("reading · ")
    own.kill("worker")
    expect(row).to_contain_text("Its worker does not respond; another worker takes over.")
    own.start("worker")
    expect(row).to_contain_text("· 10 findings", timeout=LONG)
    expect(page.locator(".recordings tbody tr", has_text="killed")).to_have_count(1)


def test_progress_is_listed_without_a_websocket_too(page: Page) -> None:
    page.route_web_socket("**/ws/**", lambda socket: socket.close())
    page.reload()
    choose(page, SAMPLE)
    expect(page.locator(".upload", has_text=SAMPLE.name)).to_contain_text(FOUND, timeout=LONG)
