"""The timeline of the sample, at the moment when its Service was away."""

import pytest
from playwright.sync_api import Page

from tests.browser.looking import TIMELINE, opened

START, END = 1795247520740000, 1795247521200000  # 07:52:00.740 to .200, when Service ring was away
DELETED, CREATED = 1795247520841106, 1795247520894060
AWAY = "131d605c1f1d7aac"
SERVICE = "Service/vol-restart/ring"
AT_ONCE = TIMELINE + ".then(({ keys, store }) => { %s; })"  # however slow the machine is


@pytest.fixture
def address(recording: str) -> str:
    return f"{recording}?start={START}&end={END}&finding={AWAY}"


@pytest.fixture
def timeline(page: Page, address: str) -> Page:
    return opened(page, address)


@pytest.fixture
def whole(page: Page, recording: str) -> Page:
    """The timeline as it opens by itself."""
    return opened(page, recording)
