"""Everybody needs an account in these tests, unless one says otherwise."""

from pathlib import Path

import pytest
from pytest_django import Settings


@pytest.fixture(autouse=True)
def accounts(settings: Settings, tmp_path: Path) -> None:
    settings.LOGIN_REQUIRED, settings.TOKEN_REQUIRED, settings.PASSWORDS = True, False, True
    settings.DATA_DIR = tmp_path  # where the log of commands is written
