"""These tests let other processes read what strangers send: whatever it is, the process that answers pages keeps its
memory and its processor time."""

import gzip
import http.client
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from collectors import readers, redaction
from tests import ROOT, apart
from tests.database.watch.test_audit_webhook import listed
from tests.patience import patient
from tests.servers.running import Running, running
from timeline.core.values import VALUES, check_values

MEGABYTE = 1024**2


def test_pieces_arguments_and_errors_reach_the_other_process_and_come_back() -> None:
    assert readers.call(apart.joined, [b"a", b"", b"b"], b"c") == b"abc"
    assert readers.call(apart.first, [b"x" * MEGABYTE] * 5) == b"x" * MEGABYTE  # the others are passed over
    with pytest.raises(ValueError, match="no"):
        readers.call(apart.refuse, [b"x"])
    assert readers.call(apart.process, []) != os.getpid()


def test_what_takes_too_much_ends_its_process_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(readers.Died, match="too much memory or time"):
        readers.call(apart.fill, [])
    monkeypatch.setattr(readers, "SECONDS", 1)
    with pytest.raises(readers.Died, match="too much memory or time"):
        readers.call(apart.spin, [])
    assert readers.call(apart.joined, [b"a"], b"b") == b"ab"


def test_a_process_that_was_killed_is_replaced() -> None:
    number = readers.call(apart.process, [])
    os.kill(number, 9)
    with pytest.raises(readers.Died):
        readers.call(apart.process, [])
    assert readers.call(apart.process, []) != number


def test_patterns_of_the_operator_count_there_too() -> None:
    before = redaction.current()
    try:
        redaction.use(redaction.Policy(patterns=("ours-[0-9]{8}",)))
        assert readers.call(apart.patterns, []) == 1
    finally:
        redaction.use(before)
    assert readers.call(apart.patterns, []) == len(before.patterns)


def test_a_text_with_more_values_than_any_object_is_refused_before_it_is_decoded() -> None:
    check_values(b'"' + b"a" * 10 * VALUES + b'"')
    for value in (b"0,", b"[],", b"{},", b'"",', b'{"":0},'):
        check_values(b"[" + value * (VALUES // 3) + b"0]")
        with pytest.raises(ValueError, match="more than 1000000 values"):
            check_values(b"[" + value * (VALUES + 1) + b"0]")


SETUP = """
from datetime import timedelta
from django.utils import timezone
from dashboard.access.tokens import tokens
from tests.rows.following import Followed
from tests.database.watch.test_additions import SHOWN
for name in "ab":
    followed = Followed(name)
    followed.commit(SHOWN)
    expires = timezone.now() + timedelta(days=1)
    print(tokens.issue("t", ["audit"], expires=expires, cluster=followed.cluster, by="test")[0])
"""


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, list[str]]]:
    """A running web process, and the tokens of two clusters."""
    with running(tmp_path_factory.mktemp("readers"), "web") as started:
        shell = [sys.executable, "manage.py", "shell", "--verbosity", "0", "--command", SETUP]
        made = subprocess.run(shell, cwd=ROOT, env=started.environment, check=True, capture_output=True, text=True)
        yield started, made.stdout.split()


def ask(web: Running, method: str, path: str, body: bytes = b"", **headers: str) -> int:
    with closing(http.client.HTTPConnection(urlsplit(web.address).netloc, timeout=patient(60))) as connection:
        connection.request(method, path, body, {name.replace("_", "-"): each for name, each in headers.items()})
        answer = connection.getresponse()
        answer.read()
        return answer.status


def post(web: Running, token: str, body: bytes, **headers: str) -> int:
    return ask(web, "POST", "/api/audit/events", body, Authorization=f"Bearer {token}", **headers)


def peak(process: int) -> int:
    """Return the most bytes that a process has had in memory."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def worked(process: int) -> float:
    """Return the seconds of processor time that a process has taken."""
    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def readers_of(process: int) -> list[int]:
    """Return the processes that a process has started."""
    children = Path(f"/proc/{process}/task").glob("*/children")
    return [int(each) for path in children for each in path.read_text().split()]


def tiny(value: bytes) -> bytes:
    """Return a list of audit events that takes 32 MB in all, of values such as `{}`."""
    return listed(b",".join([value] * (32 * MEGABYTE // (len(value) + 1) - 200)))


def of_object(fields: bytes) -> bytes:
    """Return a list with one audit event, whose object has these fields."""
    about = b'"objectRef":{"resource":"pods","namespace":"n","name":"p","uid":"u","apiVersion":"v1"}'
    times = b'"requestReceivedTimestamp":"2026-01-01T00:00:00.000000Z","stageTimestamp":"2026-01-01T00:00:00.000000Z"'
    head = b'{"level":"RequestResponse","auditID":"a","stage":"ResponseComplete","verb":"update",'
    answer = b'"responseStatus":{"code":200},"responseObject":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p",'
    known = b'"namespace":"n","uid":"u","resourceVersion":"5"},'
    return listed(head + about + b"," + times + b"," + answer + known + fields + b"}}")


BODIES = {
    "objects": tiny(b"{}"),
    "keys": b"{" + b'"":0,' * (6 * MEGABYTE) + b'"":0}',
    "depth": listed(b"[" * (16 * MEGABYTE) + b"]" * (15 * MEGABYTE)),
    "values of an object": of_object(b'"spec":[' + b"{}," * (10 * MEGABYTE) + b"{}]"),
    "as many as are allowed": of_object(b'"spec":{"containers":[' + b"{}," * 490_000 + b"{}]}"),
}


def test_bodies_that_unpack_to_much_cost_the_web_process_nothing(web: tuple[Running, list[str]]) -> None:
    started, (one, other) = web
    process = started.processes["web"].pid
    assert post(started, other, listed()) == 200
    before = peak(process), worked(process)
    with ThreadPoolExecutor(len(BODIES)) as senders:
        sent = [
            senders.submit(post, started, one, gzip.compress(body, 1), Content_Encoding="gzip")
            for body in BODIES.values()
        ]
        beside = 0
        while not all(each.done() for each in sent):
            assert ask(started, "GET", "/livez") == 200
            assert post(started, other, listed()) == 200
            beside += 1
            time.sleep(0.05)
    statuses = dict(zip(BODIES, [each.result() for each in sent], strict=True))
    taken = {name for name, status in statuses.items() if status == 200}
    assert taken == {"values of an object", "as many as are allowed"}
    assert set(statuses.values()) == {200, 400}
    assert peak(process) - before[0] < 60 * MEGABYTE
    assert peak(process) < 400 * MEGABYTE
    assert worked(process) - before[1] < 0.5 + 0.05 * beside  # nothing of it was decoded there
    assert all(peak(each) < 400 * MEGABYTE for each in readers_of(process))
