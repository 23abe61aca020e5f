"""This test kills one of the workers that read the files of one upload in portions: the recording is the same."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psycopg

from bench.larger import repeated
from tests.clients.visitor import Visitor
from tests.inputs.recordings import SAMPLE, lines_of
from tests.patience import eventually
from tests.servers.running import Running, running


def test_a_killed_helper_changes_nothing(tmp_path: Path) -> None:
    """Two import workers read one upload, and one of them is killed while it has a portion."""
    silence = {"CAUSELINE_PORTION_BYTES": "1024", "CAUSELINE_IMPORT_SILENCE_SECONDS": "3"}
    lines = lines_of(SAMPLE)
    long = b"\n".join(repeated(SAMPLE, 5)) + b"\n"  # both workers are in the middle of such a file when one is killed
    files = [long, long, *(b"\n".join(lines[at::4]) + b"\n" for at in range(4))]
    with running(tmp_path, "web", "imports", **silence) as up:
        alone = uploaded(up, files)
        up.start("worker")  # which takes up what a killed worker leaves, too
        up.start("beat")
        both = uploaded(up, files, lambda: kill_a_reader(up))
    assert both == alone


def kill_a_reader(up: Running) -> None:
    """Kill one of the two workers when both read."""
    with psycopg.connect(up.database, autocommit=True) as rows:
        query = "SELECT count(DISTINCT reader) > 1 FROM timeline_portion WHERE state = 'reading'"
        eventually(lambda: rows.execute(query).fetchone() == (True,), 60)
    up.kill("imports")


def uploaded(up: Running, files: Sequence[bytes], disturb: Callable[[], None] = lambda: None) -> tuple[Any, ...]:
    """Upload files as one recording; return how many changes, skips and findings it has in the end."""
    visitor = Visitor(up.door)
    upload = visitor.begin(*((f"audit-{number}.log", len(file)) for number, file in enumerate(files)))
    for number, file in enumerate(files):
        status, answer = visitor.put(upload["id"], file, number=number)
        assert status == 200, answer
    status, answer = visitor.ask("POST", f"/api/uploads/{upload['id']}/finish", b"")
    assert status == 200, answer
    disturb()
    with psycopg.connect(up.database, autocommit=True) as rows:
        query = "SELECT state, entries, skipped, error, source_id FROM timeline_upload WHERE id = %s"

        def row() -> tuple[Any, ...]:
            found = rows.execute(query, [upload["id"]]).fetchone()
            assert found
            return found

        eventually(lambda: row()[0] in ("done", "failed"), 120)
        *ended, source = row()
        assert ended[0] == "done", ended
        counts = "SELECT count(*), sum(length(occurrences::text)) FROM timeline_finding WHERE source_id = %s"
        left = "SELECT (SELECT count(*) FROM timeline_portion) + (SELECT count(*) FROM timeline_portion_part)"
        eventually(lambda: rows.execute(left).fetchone() == (0,))  # they are removed after the commit
        return (*ended, rows.execute(counts, [source]).fetchone())
