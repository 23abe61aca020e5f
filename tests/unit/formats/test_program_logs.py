"""These tests read the logs of programs, such as controllers: their forms and wrappings, and what hostile ones hold."""

import io
import json
import random
import re
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from collectors import formats
from collectors.analysis import Analysis, analyse
from collectors.formats import Limits, NotARecording, Skipped, logs, own, read
from collectors.formats.logs import KEPT
from collectors.normalise.log_lines import LONGEST
from dashboard.cli.terminal import Terminal
from dashboard.cli.text import show_input
from tests import DATA
from tests.events import event
from tests.objects import refusal
from tests.recordings import observations_of, world_of
from timeline.core.entries import Change, Clock, Entry, LogLine, ObjectRef, Place, Unknown, microseconds
from timeline.core.entries import moment as at
from timeline.history.codec import line_of, observation_of
from timeline.history.lifelines import Name
from timeline.history.world.world import World
from timeline.judge import rulebook
from timeline.judging.coverage.sources import judgeable, partly_read
from timeline.payloads.documents import clocks

LOGS = DATA / "logs"
NOON = microseconds(at(0).replace(year=2026, month=11, day=22, hour=12))
KLOG = 'I1122 12:00:00.250000   16502 controller.go:12] "Synced" service="shop/web" took="1s"'
LOGFMT = 'time="2026-11-22T12:00:00Z" level=warning msg="(svcs) will update [shop/web]" n=1'
SLOG = 'time=2026-11-22T14:00:00.5+02:00 level=INFO msg="handled [web] in namespace [shop]"'
ZAP = '{"level":"error","ts":1795348800.125,"logger":"c","msg":"failed","Service":{"name":"web","namespace":"shop"}}'
BUNYAN = '{"name":"app","hostname":"h","pid":1,"level":40,"msg":"about shop/web","time":"2026-11-22T12:00:00Z","v":0}'
LOGRUS = '{"level":"debug","msg":"about shop/web","time":"2026-11-22T12:00:00Z"}'
PLAIN = "2026-11-22 12:00:00,125 ERROR could not reach shop/web"
GO = "2026/11/22 12:00:00 dropped shop/web"
# Each form that programs write, at noon: (line, level, the end of the text, what its time leaves open).
_N, _Z, _Y, _D = Unknown.NOTHING, Unknown.ZONE, Unknown.YEAR, Unknown.DATE
FORMS: dict[str, tuple[str, str, str, Unknown]] = {
    "klog without thread": ("E1122 12:00:00.000000 a.go:12] oh", "error", "oh", _Y),
    "klog without file": ("W1122 12:00:00.000000 oh no", "warning", "oh no", _Y),
    "klog as JSON": ('{"ts":1795348800000.0,"caller":"a.go:1","msg":"oh","v":2}', "", 'oh caller="a.go:1" v=2', _N),
    "glog with a year": ("I20261122 12:00:00.000000    12 a.cc:1] oh", "info", "oh", _Z),
    "zap console": ("2026-11-22T12:00:00.000Z\tINFO\tcontroller\toh\t{}", "info", "controller\toh\t{}", _N),
    "zap console, epoch": ("1.7953488e+09\twarn\toh", "warning", "oh", _N),
    "zap console, colour": ("2026-11-22T13:00:00.000+0100\t\x1b[34mINFO\x1b[0m\toh", "info", "oh", _N),
    "zap of developers": ('{"L":"ERROR","T":"2026-11-22T13:00:00.000+0100","M":"oh"}', "error", "oh", _N),
    "zapr": ('{"level":"Level(-4)","ts":"2026-11-22T12:00:00Z","msg":"oh"}', "debug", "oh", _N),
    "MetalLB": ('{"caller":"s.go:1","event":"e","msg":"oh","ts":"2026-11-22T12:00:00Z"}', "", 'event="e"', _N),
    "slog as text": ("time=2026-11-22T12:00:00.000Z level=DEBUG-4 source=a:1 msg=oh", "debug", "oh source=a:1", _N),
    "slog by default": ("2026/11/22 12:00:00 WARN oh a=b", "warning", "oh a=b", _Z),
    "logrus on a terminal": ("INFO[2026-11-22T12:00:00Z] oh pod=x", "info", "oh pod=x", _N),
    "zerolog console": ("2026-11-22T12:00:00Z \x1b[32mINF\x1b[0m oh a=b", "info", "oh a=b", _N),
    "zerolog, time of day": ("12:00PM WRN oh a=b", "warning", "oh a=b", _D),
    "hclog": ("2026-11-22T12:00:00.000Z [INFO]  agent: oh", "info", "agent: oh", _N),
    "Go with a file": ("2026/11/22 12:00:00.000000 main.go:12: oh", "", "main.go:12: oh", _Z),
    "logfmt, level first": ('level=info ts=2026-11-22T12:00:00Z caller=a:1 msg="o h"', "info", "o h caller=a:1", _N),
    "logfmt, no level": ("ts=2026-11-22T12:00:00Z caller=a:1 method=Health", "", "method=Health", _N),
    "logfmt, no caller": ("took=1s t=2026-11-22T12:00:00+0000 n=2", "", "took=1s n=2", _N),
    "logfmt, text first": ('msg="o h" time=2026-11-22T12:00:00Z', "", "o h", _N),
    "log15": ("t=2026-11-22T12:00:00+0000 lvl=eror msg=oh", "error", "oh", _N),
    "journal, short": ("Nov 22 12:00:00 n1 kubelet[12]: I1122 12:00:00.000000    12 a.go:1] oh", "info", "oh", _Y),
    "journal, short-precise": ("Nov 22 12:00:00.000000 n1 systemd[1]: oh", "", "oh", _Y),
    "journal, short-iso": ("2026-11-22T12:00:00+0000 n1 kubelet[1]: E1122 12:00:00.5 1 a.go:1] oh", "error", "oh", _N),
    "journal, short-full": ("Sun 2026-11-22 12:00:00 UTC n1 kubelet[12]: oh", "", "oh", _N),
    "journal, with-unit": ("Sun 2026-11-22 13:00:00 CET n1 kubelet.service[12]: oh", "", "oh", _N),
    "journal, short-unix": ("1795348800.000000 n1 kubelet[12]: oh", "", "oh", _N),
    "journal, JSON": (
        '{"__REALTIME_TIMESTAMP":"1795348800000000","PRIORITY":"4","MESSAGE":"oh","_HOSTNAME":"n","_PID":"1"}',
        *("warning", "oh", _N),
    ),
    "journal, the program says the time": (
        'Nov 22 12:00:00 n1 containerd[7]: time="2026-11-22T12:00:00Z" level=info msg=oh',
        *("info", "oh", _N),
    ),
    "syslog": ("<34>Nov 22 12:00:00 host su: oh", "fatal", "oh", _Y),
    "syslog, RFC 5424": ('<165>1 2026-11-22T12:00:00.000Z host app 12 ID1 [a@1 b="c"] oh', "info", "oh", _N),
    "dmesg -T": ("[Sun Nov 22 12:00:00 2026] usb 1-1: oh", "", "usb 1-1: oh", _Z),
    "CRI": ("2026-11-22T12:00:00.000000000Z stderr F oh", "", "oh", _N),
    "Docker": ('{"log":"[WARN] oh\\n","stream":"stdout","time":"2026-11-22T12:00:00Z"}', "warning", "oh", _N),
    "CoreDNS with --timestamps": ('2026-11-22T12:00:00.000000000Z [INFO] 10.0.0.1:4 - 1 "A"', "info", '4 - 1 "A"', _N),
    "stern": ("web-0 app 2026-11-22T12:00:00.000Z level=info msg=oh", "info", "oh", _N),
    "stern, short times": ("web-0 app 11-22 12:00:00 I1122 12:00:00.000000 1 a.go:1] oh", "info", "oh", _Y),
    "stern, JSON": (
        '{"message":"2026-11-22T12:00:00Z oh","namespace":"shop","podName":"web-0","containerName":"app"}',
        *("", "oh", _N),
    ),
    "docker compose": ("web-1  | 2026-11-22 12:00:00 ERROR oh", "error", "oh", _Z),
    "log4j": ("2026-11-22 12:00:00,000 INFO  [main] c.e.Foo - oh", "info", "[main] c.e.Foo - oh", _Z),
    "logback": ("12:00:00.000 [main] WARN  c.e.Foo - oh", "warning", "[main] c.e.Foo - oh", _D),
    "Spring Boot": ("2026-11-22T12:00:00.000Z  INFO 1 --- [app] [main] c.e.Foo : oh", "info", "c.e.Foo : oh", _N),
    "JUL": ("Nov 22, 2026 12:00:00 PM c.e.Foo serve\nSEVERE: oh", "error", "c.e.Foo serve SEVERE: oh", _Z),
    "Spark": ("26/11/22 12:00:00 INFO SparkContext: oh", "info", "SparkContext: oh", _Z),
    "WildFly": ("12:00:00,000 ERROR [org.jboss.as] (MSC service thread 1-1) oh", "error", "oh", _D),
    "Tomcat": ("22-Nov-2026 12:00:00.000 SEVERE [main] o.a.Foo oh", "error", "[main] o.a.Foo oh", _Z),
    "Kafka": ("[2026-11-22 12:00:00,000] INFO [Server id=0] oh (kafka.Server)", "info", "oh (kafka.Server)", _Z),
    "ZooKeeper": ("2026-11-22 12:00:00,000 [myid:1] - WARN  [main:Q@1] - oh", "warning", "[main:Q@1] - oh", _Z),
    "Elasticsearch": ("[2026-11-22T12:00:00,000][WARN ][o.e.n.Node  ] [node] oh", "warning", "[node] oh", _Z),
    "ECS": ('{"@timestamp":"2026-11-22T12:00:00Z","log":{"level":"warn"},"message":"oh"}', "warning", "oh", _N),
    "pino": ('{"level":50,"time":1795348800000,"pid":1,"msg":"oh"}', "error", "oh pid=1", _N),
    "Winston": ('{"level":"info","message":"oh","timestamp":"2026-11-22T12:00:00.000Z"}', "info", "oh", _N),
    "Python": ("2026-11-22 12:00:00,000 - my.name - WARNING - oh", "warning", "oh", _Z),
    "gunicorn": ("[2026-11-22 12:00:00 +0000] [7] [INFO] oh", "info", "[7] oh", _N),
    "Celery": ("[2026-11-22 12:00:00,000: ERROR/MainProcess] oh", "error", "oh", _Z),
    "nginx": ("2026/11/22 12:00:00 [error] 7#7: *1 oh", "error", "7#7: *1 oh", _Z),
    "access log": ('10.0.0.1 - - [22/Nov/2026:13:00:00 +0100] "GET / HTTP/1.1" 200 1', "", 'HTTP/1.1" 200 1', _N),
    "Envoy": ("[2026-11-22 12:00:00.000][1][warning][main] [a.cc:1] oh", "warning", "[a.cc:1] oh", _Z),
    "capnslog": ("2026-11-22 12:00:00.000000 W | etcdserver: oh", "warning", "etcdserver: oh", _Z),
    "Rust tracing": ("2026-11-22T12:00:00.000000Z  WARN my::mod: oh", "warning", "my::mod: oh", _N),
    "env_logger": ("[2026-11-22T12:00:00Z ERROR my_mod] oh", "error", "my_mod: oh", _N),
    "Ruby": ("W, [2026-11-22T12:00:00.000000 #1]  WARN -- : oh", "warning", "oh", _Z),
    ".NET": ('{"Timestamp":"2026-11-22T12:00:00Z","LogLevel":"Critical","Message":"oh"}', "fatal", "oh", _N),
    "Serilog": ('{"@t":"2026-11-22T12:00:00.0000000Z","@mt":"oh","@l":"Warning"}', "warning", "oh", _N),
    "Serilog console": ("[12:00:00 INF] oh", "info", "oh", _D),
    "PostgreSQL": ("2026-11-22 12:00:00.000 UTC [1] FATAL:  oh", "fatal", "[1] oh", _N),
    "MySQL": ("2026-11-22T12:00:00.000000Z 0 [Warning] [MY-1] [Server] oh", "warning", "[Server] oh", _N),
    "MongoDB": ('{"t":{"$date":"2026-11-22T12:00:00.000+00:00"},"s":"W","msg":"oh"}', "warning", "oh", _N),
    "Redis": ("1:M 22 Nov 2026 12:00:00.000 * oh", "", "* oh", _Z),
    "NATS": ("[1] 2026/11/22 12:00:00.000000 [ERR] oh", "error", "oh", _Z),
    "Calico": ("2026-11-22 12:00:00.000 [WARNING][12] felix/a.go 1: oh", "warning", "oh", _Z),
    "Fluent Bit": ("[2026/11/22 12:00:00] [ warn] [engine] oh", "warning", "[engine] oh", _Z),
    "ClickHouse": ("2026.11.22 12:00:00.000000 [ 1 ] {} <Error> App: oh", "error", "App: oh", _Z),
    "Cassandra": ("WARN  [main] 2026-11-22 12:00:00,000 S.java:12 - oh", "warning", "[main] S.java:12 - oh", _Z),
    "Dropwizard": ("INFO  [2026-11-22 12:00:00,000] org.foo: oh", "info", "org.foo: oh", _Z),
    "Cloud Logging": (
        '{"timestamp":"2026-11-22T12:00:00Z","severity":"ERROR","textPayload":"oh","resource":{"labels":{}}}',
        *("error", "oh", _N),
    ),
    "Cloud Logging, seconds": ('{"timestampSeconds":1795348800,"severity":"INFO","message":"oh"}', "info", "oh", _N),
    "CloudWatch": ('{"timestamp":1795348800000,"message":"oh"}', "", "oh", _N),
    "record of Fluent Bit": (
        '{"date":1795348800.0,"log":"2026-11-22T12:00:00Z stdout F oh","kubernetes":{"pod_name":"web-0"}}',
        *("", "oh", _N),
    ),
    "Loki": ('{"labels":{},"line":"level=warn msg=oh","timestamp":"2026-11-22T12:00:00Z"}', "warning", "oh", _N),
    "logcli": ('2026-11-22T12:00:00Z {app="x", pod="y"} level=warn msg=oh', "warning", "oh", _N),
    "GELF": ('{"short_message":"oh","timestamp":1795348800.0,"level":3}', "error", "oh", _N),
    "log4j, JSON": (
        '{"instant":{"epochSecond":1795348800,"nanoOfSecond":0},"level":"INFO","message":"oh"}',
        *("info", "oh", _N),
    ),
    "nanoseconds as text": ('{"ts":"1795348800000000000","level":"info","msg":"oh"}', "info", "oh", _N),
    "a German date": ("22.11.2026 12:00:00 ERROR oh", "error", "oh", _Z),
    "an American date": ("11/22/2026 12:00:00 PM ERROR oh", "error", "oh", _Z),
}


def read_log(tmp_path: Path, lines: Sequence[str], name: str = "some.log") -> tuple[list[LogLine], list[Skipped]]:
    path = tmp_path / "log"
    path.write_text("\n".join(lines) + "\n")
    items = list(read([(path, name)], bodies=False))
    return [each for each in items if isinstance(each, LogLine)], [each for each in items if isinstance(each, Skipped)]


def created(namespace: str, name: str, time: int = NOON) -> Entry:
    ref = ObjectRef("", "v1", "Service", namespace, name, f"{namespace}-{name}")
    return Entry(ref, Change.CREATED, 1 + len(namespace), Clock.AUDIT, time, time + 1, identity=namespace)


def analysed(tmp_path: Path, lines: Sequence[str]) -> Analysis:
    path = tmp_path / "log"
    path.write_text("\n".join(lines) + "\n")
    return analyse([(path, "log")], Limits())


@pytest.mark.parametrize(
    "line, time, level, text",
    [
        (LOGFMT, NOON, "warning", "(svcs) will update [shop/web] n=1"),
        (SLOG, NOON + 500_000, "info", "handled [web] in namespace [shop]"),
        (ZAP, NOON + 125_000, "error", 'failed logger="c" Service="shop/web"'),
        (BUNYAN, NOON, "warning", 'about shop/web name="app" hostname="h" pid=1 v=0'),
        (LOGRUS, NOON, "debug", "about shop/web"),
        ("2026-11-22T12:00:00.000001Z\tINFO\tc\tabout shop/web", NOON + 1, "info", "c\tabout shop/web"),
        (f"2026-11-22T12:00:00.5Z stdout F {KLOG}", NOON + 500_000, "info", '"Synced" service="shop/web" took="1s"'),
        (f"2026-11-22T12:00:00.123456789Z {LOGRUS}", NOON + 123_456, "debug", "about shop/web"),
        (
            json.dumps({"log": f"{SLOG}\n", "stream": "stderr", "time": "2026-11-22T12:00:01Z"}, separators=(",", ":")),
            NOON + 1_000_000,
            "info",
            "handled [web] in namespace [shop]",
        ),
        ("[pod/kube-vip-x/kube-vip] 2026-11-22T12:00:00Z about shop/web", NOON, "", "about shop/web"),
    ],
)
def test_every_form_shows_time_level_and_what_it_names(
    tmp_path: Path, line: str, time: int, level: str, text: str
) -> None:
    (found,), skipped = read_log(tmp_path, [line])
    assert (found.time, found.unknown, found.level, found.text) == (time, Unknown.NOTHING, level, text)
    assert found.objects[0] in ("shop/web", "service/shop/web")
    assert found.place == Place("some.log", 1)
    assert not skipped


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read_alone_and_beside_an_audit_log(tmp_path: Path, form: str) -> None:
    line, level, text, unknown = FORMS[form]
    lines = [line] * 4
    found, skipped = read_log(tmp_path, lines)
    assert (len(found), skipped) == (4, [])
    assert {(each.level, each.unknown) for each in found} == {(level, unknown)}
    assert found[0].text.endswith(text)
    assert unknown in (_Y, _D) or {each.time for each in found} == {NOON}
    later = {"requestReceivedTimestamp": "2026-11-22T13:00:00.1Z", "stageTimestamp": "2026-11-22T13:00:00.2Z"}
    (tmp_path / "audit.log").write_text(json.dumps(event(**later)) + "\n")
    beside = analyse([(tmp_path, "both")], Limits())
    assert beside.entries == 1
    assert {each.time for _, placed in beside.world.logs() for each in placed} == {NOON}


@pytest.mark.parametrize("line, unknown", [(KLOG, Unknown.YEAR), (PLAIN, Unknown.ZONE), (GO, Unknown.ZONE)])
def test_what_a_time_leaves_open_is_said(tmp_path: Path, line: str, unknown: Unknown) -> None:
    found, _ = read_log(tmp_path, [line] * 4)
    assert {each.unknown for each in found} == {unknown}
    (sentence,) = clocks(world_of(found))
    assert "no year and no time zone" in sentence if unknown is Unknown.YEAR else "have no time zone" in sentence


def test_a_time_without_a_year_is_placed_beside_the_rest(tmp_path: Path) -> None:
    (line,), _ = read_log(tmp_path, [KLOG])
    name = Name("", "Service", "shop", "web")
    assert not world_of([line]).log_lines(name)
    for year, month, expected in ((2026, 12, 2026), (2027, 1, 2026), (2025, 12, 2025)):
        last = microseconds(at(NOON).replace(year=year, month=month, day=1))
        world = world_of([line, created("shop", "web", last)])
        (placed,) = world.log_lines(name)
        assert at(placed.time) == at(NOON + 250_000).replace(year=expected)


LATE, EARLY = "23:59:00,000 INFO [a] (b) oh", "00:01:00,000 INFO [a] (b) oh"
MINUTE = 60_000_000


def packed(tmp_path: Path, lines: Sequence[str], written: int) -> tuple[Path, str]:
    """Return an archive with a log that was written at a time."""
    path = tmp_path / "logs.tar"
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("some.log")
        content = "\n".join(lines).encode() + b"\n"
        member.size, member.mtime = len(content), written // 1_000_000
        archive.addfile(member, io.BytesIO(content))
    return path, "logs.tar"


def test_times_of_day_are_placed_beside_the_rest_with_the_days_that_pass(tmp_path: Path) -> None:
    midnight = NOON - 12 * 60 * MINUTE
    expected = [midnight - 24 * 60 * MINUTE - MINUTE, midnight - 24 * 60 * MINUTE + MINUTE, midnight - MINUTE]
    lines = [LATE, EARLY, LATE]
    found, _ = read_log(tmp_path, lines)
    ((_, placed),) = world_of(found, [created("shop", "web", midnight + MINUTE)]).logs()
    assert [each.time for each in placed] == expected
    assert not dict(world_of(found).logs())  # nothing says a date
    assert any("say only a time of day" in each for each in clocks(world_of(found)))
    ((_, placed),) = analyse([packed(tmp_path, lines, midnight)], Limits()).world.logs()
    assert [each.time for each in placed] == expected
    dated = f"2026-11-{at(midnight - MINUTE).day} 23:59:30,000 INFO [a] (b) dated"
    found, _ = read_log(tmp_path, [*lines, dated])
    far = created("shop", "web", NOON + 30 * 24 * 60 * MINUTE)
    ((_, placed),) = world_of(found, [far]).logs()  # the date in the same file counts more
    assert [each.time for each in placed][:3] == expected


def test_a_year_is_taken_from_the_archive_or_the_journal_if_nothing_else_says_it(tmp_path: Path) -> None:
    for written, year in ((NOON, 2026), (NOON - 30 * 24 * 60 * MINUTE, 2025)):
        ((_, (line,)),) = analyse([packed(tmp_path, [KLOG], written)], Limits()).world.logs()
        assert at(line.time) == at(NOON + 250_000).replace(year=year)
    head = "-- Logs begin at Wed 2024-03-06 10:00:00 UTC, end at Wed 2024-12-04 10:00:00 UTC. --"
    ((_, (line,)),) = analysed(tmp_path, [head, "Nov 22 12:00:00 node1 kubelet[12]: oh"]).world.logs()
    assert at(line.time) == at(NOON).replace(year=2024)


EXPORTED = (
    b"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1795348800000000\n_HOSTNAME=n1\nPRIORITY=3\nSYSLOG_IDENTIFIER=kubelet\n"
    b"MESSAGE=E1122 12:00:00.000000    12 a.go:1] about shop/web\n_PID=12\n\n"
    b"__CURSOR=s=2\n__REALTIME_TIMESTAMP=1795348801000000\n_HOSTNAME=n1\nSYSLOG_IDENTIFIER=app\n"
    b"MESSAGE\n\x14\0\0\0\0\0\0\0two lines\nabout it all\n_PID=13\n"
)
VERBOSE = b"""Sun 2026-11-22 12:00:00.000000 UTC [s=0a1b;i=1;b=2;m=3;t=4;x=5]
    PRIORITY=3
    _HOSTNAME=n1
    SYSLOG_IDENTIFIER=kubelet
    MESSAGE=E1122 12:00:00.000000    12 a.go:1] about shop/web
Sun 2026-11-22 12:00:01.000000 UTC [s=0a1b;i=2;b=2;m=3;t=4;x=5]
    _HOSTNAME=n1
    SYSLOG_IDENTIFIER=app
    MESSAGE=two lines
            about it all
"""


@pytest.mark.parametrize(
    "made",
    [
        [{"timestamp": "2026-11-22T12:00:00Z", "severity": "ERROR", "textPayload": "about shop/web", "insertId": "x"}],
        [{"timestamp": "2026-11-22T12:00:00Z", "severity": "ERROR", "jsonPayload": {"message": "about shop/web"}}],
        {"__REALTIME_TIMESTAMP": "1795348800000000", "PRIORITY": "3", "MESSAGE": "about shop/web", "_HOSTNAME": "n1"},
        {"data": {"result": [{"stream": {}, "values": [["1795348800000000000", "level=error msg='about shop/web'"]]}]}},
    ],
)
def test_lines_in_json_over_several_lines_are_read(tmp_path: Path, made: object) -> None:
    for indent in (None, 2):
        path = tmp_path / "made"
        path.write_text(json.dumps(made, indent=indent))
        (line,) = observations_of(path)
        assert isinstance(line, LogLine) and (line.time, line.level) == (NOON, "error")
        assert "about" in line.text and line.objects == ("shop/web",)


@pytest.mark.parametrize("content", [EXPORTED, VERBOSE])
def test_a_journal_with_a_line_for_each_field_is_read(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "journal"
    path.write_bytes(content)
    one, two = observations_of(path)
    assert isinstance(one, LogLine) and isinstance(two, LogLine)
    assert (one.time, one.level, one.text) == (NOON, "error", "about shop/web")
    assert (two.time, two.text) == (NOON + 1_000_000, "two lines about it all")
    assert [each.log.rpartition(" ")[2] for each in (one, two)] == ["n1/kubelet", "n1/app"]


@pytest.mark.parametrize(
    "line, log",
    [
        ("Nov 22 12:00:00 node1 kubelet[12]: oh", "some.log node1/kubelet"),
        ("shop web-0 app 2026-11-22T12:00:00Z level=info msg=oh", "shop/web-0/app"),
        (
            '{"date":1795348800.5,"log":"oh","kubernetes":{"namespace_name":"shop","pod_name":"web-0",'
            '"container_name":"app"}}',
            "shop/web-0/app",
        ),
    ],
)
def test_a_line_may_say_who_wrote_it(tmp_path: Path, line: str, log: str) -> None:
    found, _ = read_log(tmp_path, [line] * 3)
    assert {each.log for each in found} == {log}


REFUSED = [
    (
        "NAME    READY   STATUS    RESTARTS   AGE\nweb-0   0/1     Pending   0          0s",
        "kubectl get, .*-o json",
    ),
    (
        "NAMESPACE   NAME    STATUS   AGE   NOMINATED NODE\nshop        web-0   Ready    3d",
        "a table of kubectl get",
    ),
    ("web-0   1/1     Running   0          3d", "a table of kubectl get"),
    ("NAME    CPU(cores)   MEMORY(bytes)\nweb-0   1m           2Mi", "a table of kubectl top"),
    ("Name:         web-0\nNamespace:    shop\nEvents:       <none>", "what kubectl describe prints.*-o json"),
    ('[INFO] 10.0.0.1:4 - 1 "A IN web. udp" NOERROR\n' * 4, "these lines have no time.*--timestamps"),
    ("INFO:root:oh\nERROR:root:oh", "these lines have no time.*--timestamps"),
    ('{"level":"info","msg":"oh"}\n' * 3, "these lines have no time.*--timestamps"),
    ('level=info msg="oh" subsys=daemon\n' * 3, "these lines have no time.*--timestamps"),
    ("Dear reader,\nthis is no log.\n", "these lines have no time"),
    ("[    0.000000] Linux version 6\n[    0.100000] BIOS", "its lines say for how long a machine"),
    ("[  12.345678] node1 kubelet[1]: oh", "its lines say for how long a machine.*short-iso"),
    ("INFO[0000] starting\nINFO[0001] oh", "its lines say for how long"),
    ("2026-11-22 12:00:00 oh\na\nb\nc\nd", "1 of the first 5 lines begin with a time"),
    ("03/01/2026 10:00:00 INFO oh\n" * 3, "nothing says which number is the month.*--timestamps"),
    ("2026-11-22T12:00:00Z\n" * 3, "these lines have times, but"),
    ("<testsuite/>", "it is a web page or XML"),
    ("# HELP up x\n# TYPE up gauge\nup 1", "it is metrics for Prometheus"),
    ("a,b,c\n1,2,3\n4,5,6", "a table \\(CSV\\)"),
    ('{"a": 1,\n "b": [1,}', "it is not JSON: it cannot be read from line 2, column 10 on"),
    ("Error from server (Forbidden): pods is forbidden", "a message of kubectl"),
    ("goroutine 1 [running]:\nmain.main()", "the stacks of a Go program"),
    ("-----BEGIN PRIVATE KEY-----\nabc", "a key or a certificate; it was not kept"),
    ("JAVA PROFILE 1.0.2\0", "a heap dump"),
    ("foo: bar\nbaz:\n  - 1", "it is YAML, but no Kubernetes object"),
]


@pytest.mark.parametrize("content, words", REFUSED)
def test_what_is_refused_says_truly_why(content: str, words: str) -> None:
    message = refusal(content.encode(), "chosen")
    assert re.search(words, message), message
    assert "not JSON" in words or "not JSON" not in message


@pytest.mark.parametrize(
    "path, log",
    [
        ("must-gather/namespaces/shop/pods/web-0/app/app/logs/current.log", "shop/web-0/app"),
        ("var/log/pods/shop_web-0_75ce5a08-a1f4/app/0.log", "shop/web-0/app"),
        (f"containers/web-0_shop_app-{'0a' * 32}.log", "shop/web-0/app"),
        ("bundle.tar.gz/cluster-resources/pods/logs/shop/web-0/app-previous.log", "shop/web-0/app"),
        ("podlogs/shop/web-0/logs/app.txt", "shop/web-0/app"),
        ("notes/app.log", "notes/app.log"),
    ],
)
def test_the_path_in_a_bundle_names_the_container(tmp_path: Path, path: str, log: str) -> None:
    (line,), _ = read_log(tmp_path, [LOGFMT], path)
    assert line.log == log


def test_the_logs_of_a_dump_are_read_between_its_documents(tmp_path: Path) -> None:
    listed = json.dumps({"apiVersion": "v1", "kind": "PodList", "items": []})
    begin, end = (f"==== {which} logs for container app of pod shop/web-0 ====" for which in ("START", "END"))
    for lines in ([begin, LOGFMT, "no time", "", end], [listed, begin, LOGFMT, end, listed]):
        (line,), skipped = read_log(tmp_path, lines, "dump")
        assert (line.log, line.objects[:1], skipped) == ("shop/web-0/app", ("shop/web",), [])
        assert line.place == Place("dump", lines.index(LOGFMT) + 1)
    _, (cut,) = read_log(tmp_path, [begin, LOGFMT], "dump")
    assert "the dump was cut" in cut.reason


def test_lines_of_a_stack_trace_belong_to_the_line_before_and_others_are_counted(tmp_path: Path) -> None:
    trace = ["panic: oh", "", "goroutine 1 [running]:", "main.main()", "\t/app/main.go:1 +0x1"]
    found, (skipped,) = read_log(tmp_path, ["no time", LOGFMT, *trace, "neither here", LOGFMT, LOGFMT])
    assert len(found) == 3
    assert found[0].text.endswith("n=1 panic: oh goroutine 1 [running]: main.main() \t/app/main.go:1 +0x1")
    assert found[0].place == Place("some.log", 2)
    assert skipped.reason == "is a log of which 2 lines have no time of their own and were left out"


def test_what_java_writes_on_several_lines_is_one_line(tmp_path: Path) -> None:
    lines = [
        "Nov 22, 2026 12:00:00 PM com.example.Service serve",
        "WARNING: late",
        "java.lang.IllegalStateException: oh",
        "\tat com.example.Service.serve(Service.java:12)",
        "Caused by: java.io.IOException",
        "\t... 3 more",
        "Nov 22, 2026 12:00:01 PM com.example.Service serve",
        "INFO: done",
    ]
    (late, done), skipped = read_log(tmp_path, lines)
    assert (late.level, done.level, done.time, skipped) == ("warning", "info", NOON + 1_000_000, [])
    assert late.text.startswith("com.example.Service serve WARNING: late java.lang.IllegalStateException: oh")


def test_a_line_of_a_stack_trace_goes_to_the_pod_that_wrote_it(tmp_path: Path) -> None:
    one, two = (f"[pod/{pod}/app] {LOGFMT}" for pod in ("a-1", "b-1"))
    (first, second), (skipped,) = read_log(tmp_path, [one, two, "[pod/b-1/app] \tat B", "[pod/a-1/app] \tat A"])
    assert ("at A" in first.text, "at B" in second.text, "at A" in second.text) == (False, True, False)
    assert "1 line has no time" in skipped.reason


@pytest.mark.parametrize(
    "lines",
    [
        ["2026-11-22T12:00:00.5Z stdout F " + json.dumps(event())],
        [json.dumps({"log": json.dumps(event()) + "\n", "stream": "stdout", "time": "2026-11-22T12:00:00Z"})],
        [json.dumps({"level": "info", "msg": json.dumps(event()), "time": "2026-11-22T12:00:00Z"})],
    ],
)
def test_an_audit_log_stays_one(tmp_path: Path, lines: list[str]) -> None:
    found, _ = read_log(tmp_path, lines)
    assert not found


@pytest.mark.parametrize(
    "text",
    [
        "the quick brown fox",
        "2026-11-22T12:00:00Z",
        "2026-11-22 12:00:00,1,2,3\n" * 9,
        "2026-11-22T12:00:00Z one line with a time\nand another\n" * 9,
        '{"name":"package","version":"1.0.0","time":"2026-11-22T12:00:00Z"}',
        '{"level":"info","ts":1e99,"msg":"x"}',
        "I9999 99:99:99.999999 1 a.go:1] x",
        "2026-02-30T12:00:00Z INFO x",
        "9999-11-22T12:00:00Z INFO x",
        "{" * 10_000,
        "a/b " * 10_000,
    ],
)
def test_what_is_not_surely_a_log_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(NotARecording, match="is not a recording that Causeline knows"):
        list(read([(path, "file")], bodies=False))


def test_random_bytes_are_no_log_and_do_no_harm() -> None:
    chance = random.Random(6)
    forms = [
        KLOG,
        LOGFMT,
        SLOG,
        ZAP,
        PLAIN,
        f"2026-11-22T12:00:00Z stdout F {KLOG}",
        *(form[0] for form in FORMS.values()),
    ]
    for _ in range(600):
        assert not logs.sniff(chance.randbytes(chance.randint(1, 400)))
        damaged = bytearray(chance.choice(forms).encode())
        for _ in range(chance.randint(1, 8)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        line = logs.log_line(bytes(damaged), "log", Place("f", 1))
        assert line is None or observation_of(line_of(line), {}) == line


def test_lines_have_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "LINES", 3)
    nested = '{"level":"info","time":"2026-11-22T12:00:00Z","msg":"deep","a":' + "[" * 9_000 + "]" * 9_000 + "}"
    many = "a/b " + " ".join(f"n{number}/m" for number in range(500))
    found, skipped = read_log(tmp_path, [f"{LOGFMT} {'x y ' * LONGEST}", LOGFMT, f"{LOGFMT} {many}", LOGFMT, nested])
    assert len(found) == 3
    assert max(len(each.text) for each in found) == KEPT
    assert max(len(each.objects) for each in found) == 8
    assert [each.reason for each in skipped] == ["is a log of which only the first 3 lines with a time were read"]


def test_all_logs_together_have_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "LOG_LINES", 3)
    for name in ("a.log", "b.log", "c.log"):
        (tmp_path / name).write_text(f"{LOGFMT} {name}\n" * 2)
    items = list(read([(tmp_path, "logs")], bodies=False))
    assert sum(isinstance(each, LogLine) for each in items) == 3
    skipped = [each for each in items if isinstance(each, Skipped)]
    assert [each.file for each in skipped] == ["logs/b.log", "logs/c.log"]
    assert not partly_read(each.place for each in skipped)


SECRET = "pl4nted-5ecret-value"
PLANTED = [
    f'{KLOG} password="{SECRET}"',
    f'I1122 12:00:00.250000   16502 c.go:12] FLAG: --token="{SECRET}"',
    f'time="2026-11-22T12:00:00Z" level=info msg="dial https://user:{SECRET}@host refused"',
    f'time="2026-11-22T12:00:00Z" level=info msg="x" password={SECRET}',
    f'{{"level":"info","ts":1795348800.5,"msg":"x","password":"{SECRET}","list":["{SECRET}"],"o":{{"p":"{SECRET}"}}}}',
    f'{{"level":"info","ts":1795348800.5,"msg":"Authorization: Bearer {SECRET}"}}',
    f"2026-11-22T12:00:00Z stdout F api_key={SECRET}",
    f"2026-11-22T12:00:00Z INFO {'long ' * (LONGEST // 5)} password={SECRET}",
    f"2026-11-22T12:00:00Z INFO {'x' * (KEPT - 14)} password={SECRET}",
    f"2026-11-22T12:00:00Z stdout P x password={SECRET[:9]}\n2026-11-22T12:00:00Z stdout F {SECRET}",
    f'{{"level":"info","ts":1795348800.5,"msg":"x -----BEGIN PRIVATE KEY-----\\n{SECRET}\\n{SECRET}"}}',
    f"panic: password={SECRET}",
]


def test_no_credential_stays_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for lines in ([each] for each in PLANTED[:-1]):
        found, _ = read_log(tmp_path, [*lines, PLANTED[-1]])
        assert len(found) == 1
        assert not any(SECRET[:8] in line_of(each).decode() for each in found)
    path.write_text("\n".join(PLANTED))
    begun = list(read([(path, "log")], bodies=True))
    assert SECRET[:8] not in b"".join(own.write([each for each in begun if not isinstance(each, Skipped)])).decode()
    planted = LogLine("log", NOON, f"x password={SECRET}")  # a file of Causeline's own may have been written by others
    path.write_bytes(b"".join(own.write([planted])))
    (again,) = observations_of(path)
    assert isinstance(again, LogLine) and again.text == "x password=[redacted]"


def test_lines_are_exported_and_read_again(tmp_path: Path) -> None:
    written, _ = read_log(tmp_path, [KLOG, LOGFMT, SLOG, ZAP, GO])
    path = tmp_path / "recording"
    path.write_bytes(b"".join(own.write(written)))
    assert observations_of(path) == written


def test_neither_order_nor_repetition_changes_a_log(tmp_path: Path) -> None:
    lines = [each for each in observations_of(LOGS / "kube-vip.log.zst") if isinstance(each, LogLine)]
    other = replace(lines[0], log="other")
    once = world_of([*lines, other])
    again = [*lines, other, *lines[::3]]
    random.Random(3).shuffle(again)
    assert dict(world_of(again[:500], again[500:]).logs()) == dict(once.logs())
    name = Name("", "Service", "shopfront", "app2")
    assert world_of(again).log_lines(name) == once.log_lines(name)
    assert len(once.log_lines(name)) == 17
    services = [created("shopfront", "app2"), created("elsewhere", "app2")]
    assert len(world_of(lines, services[:1]).log_lines(name)) == 21  # with those that say only [app2]
    assert len(world_of(lines, services).log_lines(name)) == 17


def said(second: int, text: str) -> str:
    return f'time="2026-11-22T12:00:{second}Z" level=info msg="{text}"'


def test_a_file_with_the_logs_of_two_pods_is_read_in_its_order(tmp_path: Path) -> None:
    """`kubectl logs -l` prints one behind the other. What the first did would else seem to be done by the second."""
    mode = "namespace [kube-system], Mode: [BGP], Features(s): Control Plane:[false], Services:[true]"
    watcher = (
        "[endpoints watcher] service shop/web: local endpoint(s) [1], known good [10.0.0.2], active election [false]"
    )
    first = [
        said(10, "Starting kube-vip.io [v0.8.9]"),
        said(10, mode),
        said(12, watcher),
        said(14, "(svcs) will update [shop/web]"),
    ]
    served = said(30, "[endpoints] added BGP host: 10.0.0.9/32, service: shop/web")
    later, together = ([said(second, "Starting kube-vip.io [v0.8.9]"), said(second, mode)] for second in (20, 10))
    assert not analysed(tmp_path, [*first, served, *later]).findings
    assert not analysed(tmp_path, [*first, *together]).findings  # it is not known for how long it did nothing
    assert [each.subject.name for each in analysed(tmp_path, [*first, *later]).findings] == ["web"]


def test_a_real_log_alone_shows_which_services_were_overlooked() -> None:
    analysis = analyse([(LOGS / "kube-vip.log.zst", "kube-vip.log")], Limits())
    found = {each.subject.name: len(each.occurrences) for each in analysis.findings}
    assert found == {"app2": 3, "app5": 3, "app8": 3}
    assert {each.rule for each in analysis.findings} == {"consumer-order"}
    assert not analysis.nothing


def test_a_log_without_findings_says_that_it_is_not_enough(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, [LOGFMT, "panic: oh", LOGFMT])
    assert "Read the log of a program together with" in analysis.nothing


def test_the_coverage_lists_the_logs_with_the_most_lines_first(tmp_path: Path) -> None:
    lines = [f"[pod/p-{number}/c] {LOGFMT} n={line}" for number in range(12) for line in range(number + 1)]
    analysis = analysed(tmp_path, lines)
    out = io.StringIO()
    show_input(analysis, Terminal(out), with_coverage=True)
    assert "Logs of programs\nlog p-11/c: 12 lines\nlog p-10/c: 11 lines\n" in out.getvalue()
    assert "log p-2/c: 3 lines\nand 2 more\n" in out.getvalue()


def test_the_coverage_asks_for_the_log_of_the_program_that_a_rule_reads(tmp_path: Path) -> None:
    kube_vip = 'time="2026-03-01T10:00:00Z" level=info msg="Starting kube-vip.io [v0.8.9]"'
    for lines, answer in (([LOGFMT], "cannot"), ([LOGFMT, kube_vip], "can")):
        judged = judgeable(analysed(tmp_path, lines).world, rulebook())
        told = next(each for each in judged if each.rule == "consumer-order")
        assert told.answer == answer
    assert "it needs the log of kube-vip" in next(
        each.why for each in judgeable(World(), rulebook()) if each.rule == "consumer-order"
    )
