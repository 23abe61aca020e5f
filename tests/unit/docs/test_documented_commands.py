"""These tests check that the commands in the documents exist, with the options that the documents give them."""

import re
import shlex
from functools import cache
from pathlib import Path

import pytest
import yaml

from dashboard.cli import __main__ as cli
from tests import ROOT
from tests.unit.docs.test_docs import FENCED, PAGES

BLOCK = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(causeline [^`]+)`")
INLINE_TARGET = re.compile(r"`make ([a-z-]+)[^`]*`")
TARGET = re.compile(r"^make ([a-z-]+)", re.MULTILINE)
TYPED = re.compile(r"(?:^|web )(causeline [^|<>;&#\n]+)", re.MULTILINE)


def shell(text: str) -> list[str]:
    return [block for language, block in BLOCK.findall(text) if language in {"", "sh"}]


def typed(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    return [each for block in shell(text) for each in TYPED.findall(block)]


def spoken_of(page: Path) -> list[str]:
    return INLINE.findall(FENCED.sub("", page.read_text(encoding="utf-8")))


parser = cache(cli._parser)


def understood(*words: str) -> bool:
    try:
        parser().parse_args(words)
    except SystemExit as error:
        return error.code == 0
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_is_understood(page: Path) -> None:
    for command in typed(page):
        assert understood(*shlex.split(command)[1:]), command
    for command in spoken_of(page):  # in running text the file may be left out
        words = shlex.split(command)[1:]
        endings: list[list[str]] = [[], ["FILE"], ["FILE", "--output", "FILE"]]
        assert any(understood(*words, *ending) for ending in endings), command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_service_of_compose_is_one(page: Path) -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
    for block in shell(page.read_text(encoding="utf-8")):
        for act, arguments in re.findall(r"docker compose (exec|run|logs) (.*)", block):
            named = [word for word in arguments.split() if not word.startswith("-")]
            assert named[0] in services, f"docker compose {act} {arguments}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_target_of_make_is_one(page: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    text = page.read_text(encoding="utf-8")
    named = [*INLINE_TARGET.findall(text), *(each for block in shell(text) for each in TARGET.findall(block))]
    assert set(named) <= set(targets)
    assert page.name != "CONTRIBUTING.md" or {"check", "hooks", "release"} <= set(named)


def test_commands_are_found() -> None:
    assert "causeline createuser --admin alice" in typed(ROOT / "README.md")
