"""The timeline of a live source."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Worker, followed


@pytest.fixture(autouse=True)
def _pictures_come_often(page: Page) -> None:
    """For users who prefer reduced motion, the edge moves only once a second."""
    page.emulate_media(reduced_motion="no-preference")


@pytest.fixture
def live(page: Page, worker: Worker) -> Page:
    """The page of a source whose story was played up to where it becomes interesting."""
    followed(page, worker.begin())
    expect(page.locator("#edge .scatterlayer")).to_be_visible()
    return page
