"""CloudWatch Logs and S3 are pulled from moto's server, which runs in a process of its own."""

import gzip
import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from collectors.stores import all_kinds, cloudwatch
from collectors.stores.kinds import Store, StoreRefused, Window, configured
from tests.clients.command import causeline
from tests.patience import eventually
from tests.properties import examples
from tests.servers.running import free_port
from tests.servers.stores import Record
from tests.unit.stores.test_pull_stores import audit_ids, everything

NOW = int(time.time()) // 60 * 60  # CloudWatch Logs takes no events that are older than two weeks
SECOND = 1_000_000
WINDOW = Window((NOW - 600) * SECOND + 500, (NOW - 300) * SECOND + 500)  # borders between milliseconds
KEYS = {"region": "eu-central-1", "access_key_id": "testing", "secret_access_key": "testing"}
GROUP = "/aws/eks/prod/cluster"
TIMES = [NOW - 600 + by for by in (-1, 0, 0.001, 0.001, 0.001, 10, 299.999, 300, 300.001, 301)]


@pytest.fixture(scope="module")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port = free_port()
    with (tmp_path_factory.mktemp("moto") / "log").open("wb") as log:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        server = subprocess.Popen(command, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        try:
            with urllib.request.urlopen(f"{address}/moto-api/data.json", timeout=5):
                return True
        except OSError:
            return False

    try:
        eventually(answers, 60)
        yield address
    finally:
        server.kill()
        server.wait()


def client(service: str, address: str) -> Any:
    keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing", "region_name": "eu-central-1"}
    return boto3.client(service, endpoint_url=address, **keys)


def logged(address: str, records: list[Record]) -> None:
    """Replace the log group by one with these records, on two streams of the API server, and others beside them."""
    with closing(client("logs", address)) as logs:
        for group in logs.describe_log_groups()["logGroups"]:
            logs.delete_log_group(logGroupName=group["logGroupName"])
        logs.create_log_group(logGroupName=GROUP)
        for place, stream in enumerate(("kube-apiserver-audit-1", "kube-apiserver-audit-2")):
            logs.create_log_stream(logGroupName=GROUP, logStreamName=stream)
            events = [
                {"timestamp": each.time // 1_000_000, "message": each.event()} for each in sorted(records[place::2])
            ]
            if events:
                logs.put_log_events(logGroupName=GROUP, logStreamName=stream, logEvents=events)


def of_cloudwatch(address: str) -> Store:
    kind = all_kinds()["cloudwatch"]
    return kind.open(configured(kind, {**KEYS, "endpoint": address}, "prod", {}))


def audited(seconds: list[float]) -> list[Record]:
    return [Record(int(at * 1000) * 1_000_000, f"{place:08x}-0000-4000") for place, at in enumerate(seconds)]


@examples(3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seconds=st.lists(st.sampled_from(TIMES), max_size=25), kills=st.sets(st.integers(0, 20)))
def test_a_window_of_cloudwatch_has_each_of_its_events_once(
    moto: str, tmp_path: Path, seconds: list[float], kills: set[int]
) -> None:
    records = audited(seconds)
    logged(moto, records)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cloudwatch, "EVENTS", 3)
        found = everything(lambda: of_cloudwatch(moto), WINDOW, lambda page: page in kills)
    within = [each.audit_id for each in records if WINDOW.since * 1000 <= each.time < WINDOW.until * 1000]
    assert audit_ids(tmp_path, found) == sorted(within)


def test_a_log_group_that_is_not_there_is_said(moto: str) -> None:
    logged(moto, [])
    with closing(client("logs", moto)) as logs:
        logs.delete_log_group(logGroupName=GROUP)
    with closing(of_cloudwatch(moto)) as store:
        with pytest.raises(StoreRefused, match="no log group"):
            store.cost(WINDOW)
        with pytest.raises(StoreRefused, match="ResourceNotFoundException"):
            store.page(WINDOW, None)


def bucket(address: str, objects: dict[str, bytes]) -> None:
    with closing(client("s3", address)) as s3:
        names = [each["Name"] for each in s3.list_buckets()["Buckets"]]
        if "logs" not in names:
            s3.create_bucket(Bucket="logs", CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
        for each in s3.list_objects_v2(Bucket="logs").get("Contents", []):
            s3.delete_object(Bucket="logs", Key=each["Key"])
        for name, content in objects.items():
            s3.put_object(Bucket="logs", Key=name, Body=content)


def of_s3(address: str, url: str = "s3://logs/audit/", **fields: str) -> Store:
    kind = all_kinds()["s3"]
    return kind.open(configured(kind, {**KEYS, "endpoint": address, "url": url, **fields}, "prod", {}))


def lines(records: list[Record]) -> bytes:
    return b"".join(each.event().encode() + b"\n" for each in records)


def at(second: float, pattern: str) -> str:
    return datetime.fromtimestamp(second, UTC).strftime(pattern)


def test_objects_are_chosen_by_their_names_and_their_lines_by_their_own_times(moto: str, tmp_path: Path) -> None:
    records = audited(TIMES)
    day = NOW - 600 - 3 * 86_400
    firehose = json.dumps(
        {"logEvents": [{"id": "1", "timestamp": 1, "message": each.event()} for each in records[4:8]]}
    )
    bucket(
        moto,
        {
            f"audit/{at(NOW - 600, '%Y/%m/%d/%H')}/a.log": lines(records[:4]),
            f"audit/{at(NOW - 600, '%Y/%m/%d/%H')}/b.gz": gzip.compress(firehose.encode()),
            f"audit/{at(NOW - 600, '%Y/%m/%d')}/c.json": b"not a log\n" + lines(records[8:]),
            f"audit/{at(NOW - 600, '%Y/%m/%d/%H')}/picture.png": b"\x89PNG\r\n\x1a\n",
            f"audit/{at(day, '%Y/%m/%d/%H')}/old.log": lines(records),
            "other/d.log": lines(records),
        },
    )
    within = sorted(each.audit_id for each in records if WINDOW.since * 1000 <= each.time < WINDOW.until * 1000)
    for url in ("s3://logs/audit/", "s3://logs/audit/%Y/%m/%d/"):
        with closing(of_s3(moto, url)) as store:
            cost = store.cost(WINDOW)
            assert cost.scanned and cost.note.startswith("4 objects")
            scanned, cursor, skipped, found = 0, None, list[str](), list[bytes]()
            while True:
                page = store.page(WINDOW, cursor)
                found += page.records
                scanned, skipped, cursor = scanned + page.scanned, [*skipped, *page.skipped], page.cursor
                if cursor is None:
                    break
            assert scanned == cost.scanned
            assert any("picture.png" in each for each in skipped)
        undated = [each for each in found if b"auditID" not in each]
        assert undated == [b"not a log"]  # a line without a time is kept, for its reader to report
        assert audit_ids(tmp_path, [each for each in found if each not in undated]) == within
    found = everything(lambda: of_s3(moto), WINDOW, lambda page: True)
    assert len(found) == len(within) + 1


def test_objects_without_a_date_are_chosen_by_their_last_modification(moto: str) -> None:
    now = int(time.time())  # the object is written now, however long ago this module was imported
    window = Window((now - 600) * SECOND, (now - 300) * SECOND)
    record = audited([now - 500])
    bucket(moto, {"audit/one.log": lines(record)})
    with closing(of_s3(moto, margin_minutes="30")) as store:
        assert list(store.page(window, None).records)
    early = Window(window.since - 86_400 * SECOND, window.until - 86_400 * SECOND)
    with closing(of_s3(moto, margin_minutes="30")) as store:
        assert store.cost(early).scanned == 0
    with closing(of_s3(moto, margin_minutes="30", select="all")) as store:
        assert store.cost(early).scanned


def pulling(folder: Path, *arguments: str, **given: str) -> list[str]:
    fields = [f"--set={name}={value}" for name, value in {**KEYS, **given}.items()]
    return ["pull", "--cluster", "prod", "--to", str(folder / "pulled.jsonl"), "--yes", *arguments, *fields]


def test_a_pull_that_is_killed_goes_on_with_the_next_page(moto: str, tmp_path: Path) -> None:
    records = [Record(int((NOW - 500) * 1000 + place) * 1_000_000, f"{place:08x}") for place in range(40)]
    bucket(moto, {f"audit/{place:03d}.log": lines([each]) for place, each in enumerate(records)})
    since = at(NOW - 600, "%Y-%m-%dT%H:%M:%SZ")
    command = pulling(tmp_path, "--from", "s3", "--since", since, endpoint=moto, url="s3://logs/audit/")
    path, cursor = tmp_path / "pulled.jsonl", tmp_path / "pulled.jsonl.cursor"

    def pages() -> int:
        return int(json.loads(cursor.read_bytes())["pages"]) if cursor.exists() else 0

    with subprocess.Popen([sys.executable, "-m", "dashboard.cli", *command], stderr=subprocess.DEVNULL) as process:
        eventually(lambda: pages() > 3 or process.poll() is not None, 60)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    with path.open("ab") as file:
        file.write(b'{"a page that was cut')  # what a kill in the middle of a page can leave
    status, _, words = causeline(*command)
    assert status == 0, words
    assert "going on with" in words and "pulled 40 records" in words
    assert not cursor.exists()
    assert audit_ids(tmp_path, path.read_bytes().splitlines()) == sorted(each.audit_id for each in records)


def test_what_was_begun_is_not_gone_on_with_for_another_window(moto: str, tmp_path: Path) -> None:
    logged(moto, audited([NOW - 500]))
    since = datetime.fromtimestamp(NOW - 600, UTC)
    source = ("--from", "cloudwatch", "--since")
    status, _, words = causeline(*pulling(tmp_path, *source, "20m", "--dry-run", endpoint=moto))
    assert status == 0 and "how many bytes are read is not known" in words, words
    assert not list(tmp_path.iterdir())
    command = pulling(tmp_path, *source, since.isoformat(), endpoint=moto)
    status, _, words = causeline(*command)
    assert status == 0 and "pulled 1 records" in words, words
    status, _, words = causeline(*command)
    assert status == 2 and "already exists" in words
    later = (since + timedelta(seconds=1)).isoformat()
    (tmp_path / "pulled.jsonl").unlink()
    status, _, words = causeline(*pulling(tmp_path, *source, later, endpoint=moto, log_group="/gone"))
    assert status == 2 and "no log group /gone" in words
