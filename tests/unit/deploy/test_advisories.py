"""These tests compare locked versions with advisories, and with what a server that stands for OSV answers."""

import json

import pytest

from deploy import check_advisories
from deploy.check_advisories import FILE, Package, affects, asked, known, locked
from tests.servers.answering import closed_port
from tests.servers.stores import Answer, Asked, StoreServer, serving

DOCUMENT = {
    "accepted": {"PYSEC-3": "Causeline does not call it."},
    "advisories": {
        "jinja2": [
            {"id": "PYSEC-1", "aliases": ["CVE-1"], "ranges": [["0", "2.7.2"], ["3.0", "3.1.4"]]},
            {"id": "PYSEC-2", "aliases": [], "ranges": [["4", None]]},
            {"id": "PYSEC-3", "aliases": [], "ranges": [["0", None]]},
        ]
    },
}


@pytest.mark.parametrize(
    ("version", "expected"),
    [("2.7.1", "PYSEC-1"), ("2.7.2", ""), ("3.0rc1", ""), ("3.1.3", "PYSEC-1"), ("3.1.4", ""), ("10.0", "PYSEC-2")],
)
def test_a_vulnerable_version_is_named_with_its_advisory(version: str, expected: str) -> None:
    found = known([Package("jinja2", version), Package("other", version)], DOCUMENT)
    assert [each.split()[2] for each in found] == ([expected] if expected else [])


def test_no_locked_version_is_known_to_be_vulnerable() -> None:
    document = json.loads(FILE.read_text(encoding="utf-8"))
    assert {"django", "jinja2", "urllib3"} <= document["advisories"].keys() & {each.name for each in locked()}
    assert known(locked(), document) == []
    assert all(affects(each, "0.0.1") for each in document["advisories"]["django"] if each["ranges"][0][0] == "0")


class Osv(StoreServer):
    """This server answers as https://google.github.io/osv.dev/post-v1-querybatch says."""

    def served(self, asked: Asked) -> Answer:
        queries = json.loads(asked.body)["queries"]
        found = [{"vulns": [{"id": "GHSA-1"}, {"id": "PYSEC-3"}]} if each["version"] == "1" else {} for each in queries]
        return Answer(200, json.dumps({"results": found}).encode())


def test_what_osv_answers_counts_and_that_it_cannot_be_asked_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Osv()) as server:
        assert asked([Package("a", "1"), Package("b", "2")], DOCUMENT, server.url) == ["a 1: GHSA-1"]
    monkeypatch.setattr("sys.argv", ["check_advisories"])
    address = f"http://localhost:{closed_port()}/"
    monkeypatch.setattr(check_advisories, "asked", lambda packages, document: asked(packages, document, address))
    assert check_advisories.main() == 0
    assert "OSV cannot be asked now" in capsys.readouterr().out
