"""What is written beside a file that is pulled can be read by its owner alone, and does not lead elsewhere."""

import stat
import threading
from pathlib import Path

from collectors.stores import loki
from collectors.stores.kinds import Cost, Cursor, RecordPage, Window
from collectors.stores.pulling import Progress, cursor_path, fingerprint, pull, unfinished

WINDOW = Window(0, 1_000_000)


class Two:
    """A store with two pages."""

    def cost(self, window: Window) -> Cost:
        return Cost()

    def page(self, window: Window, cursor: Cursor | None) -> RecordPage:
        return RecordPage([b"{}"], None if cursor else {"page": 1}, window.until)

    def close(self) -> None:
        pass


def test_the_cursor_is_its_owners_alone_and_follows_no_link(tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "audit.jsonl", tmp_path / "of somebody else"
    elsewhere.write_text("as it was")
    (tmp_path / "audit.jsonl.cursor.new").symlink_to(elsewhere)
    done = pull(Two(), path, Progress("two", WINDOW, "configuration"), threading.Event())
    assert done.records == 2 and unfinished(path) == done
    for each in (path, cursor_path(path)):
        assert not each.is_symlink() and stat.S_IMODE(each.stat().st_mode) == 0o600
    assert elsewhere.read_text() == "as it was"


def test_a_fingerprint_has_no_secrets() -> None:
    given = {"url": "https://loki", "query": "{}"}
    assert fingerprint(loki.KIND, {**given, "password": "one"}) == fingerprint(loki.KIND, given)
    assert fingerprint(loki.KIND, {**given, "query": "{a=1}"}) != fingerprint(loki.KIND, given)
