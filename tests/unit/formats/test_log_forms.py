"""These tests read each form in which programs log, and each wrapping: what a line says is the same."""

import json
from pathlib import Path

import pytest

from collectors.analysis import analyse
from collectors.formats import Limits
from tests.inputs.events import event
from tests.unit.formats.reading import BUNYAN, KLOG, LOGFMT, LOGRUS, NOON, SLOG, ZAP, observed, read_log
from timeline.core.entries import LogLine, Place, Unknown

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


DOCKER = json.dumps({"log": f"{SLOG}\n", "stream": "stderr", "time": "2026-11-22T12:00:01Z"}, separators=(",", ":"))
FLUENT_BIT = '{"namespace_name":"shop","pod_name":"web-0","container_name":"app"}'


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
        (DOCKER, NOON + 1_000_000, "info", "handled [web] in namespace [shop]"),
        ("[pod/kube-vip-x/kube-vip] 2026-11-22T12:00:00Z about shop/web", NOON, "", "about shop/web"),
    ],
)
def test_every_form_shows_time_level_and_what_it_names(line: str, time: int, level: str, text: str) -> None:
    (found,), skipped = read_log([line])
    assert (found.time, found.unknown, found.level, found.text) == (time, Unknown.NOTHING, level, text)
    assert found.objects[0] in ("shop/web", "service/shop/web")
    assert found.place == Place("some.log", 1)
    assert not skipped


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read_alone_and_beside_an_audit_log(tmp_path: Path, form: str) -> None:
    line, level, text, unknown = FORMS[form]
    lines = [line] * 4
    found, skipped = read_log(lines)
    assert (len(found), skipped) == (4, [])
    assert {(each.level, each.unknown) for each in found} == {(level, unknown)}
    assert found[0].text.endswith(text)
    assert unknown in (_Y, _D) or {each.time for each in found} == {NOON}
    later = {"requestReceivedTimestamp": "2026-11-22T13:00:00.1Z", "stageTimestamp": "2026-11-22T13:00:00.2Z"}
    (tmp_path / "log").write_text("\n".join(lines) + "\n")
    (tmp_path / "audit.log").write_text(json.dumps(event(**later)) + "\n")
    beside = analyse([(tmp_path, "both")], Limits())
    assert beside.entries == 1
    assert {each.time for _, placed in beside.world.logs() for each in placed} == {NOON}


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
def test_lines_in_json_over_several_lines_are_read(made: object) -> None:
    for indent in (None, 2):
        (line,) = observed(json.dumps(made, indent=indent))
        assert isinstance(line, LogLine) and (line.time, line.level) == (NOON, "error")
        assert "about" in line.text and line.objects == ("shop/web",)


@pytest.mark.parametrize("content", [EXPORTED, VERBOSE])
def test_a_journal_with_a_line_for_each_field_is_read(content: bytes) -> None:
    one, two = observed(content)
    assert isinstance(one, LogLine) and isinstance(two, LogLine)
    assert (one.time, one.level, one.text) == (NOON, "error", "about shop/web")
    assert (two.time, two.text) == (NOON + 1_000_000, "two lines about it all")
    assert [each.log.rpartition(" ")[2] for each in (one, two)] == ["n1/kubelet", "n1/app"]


@pytest.mark.parametrize(
    "line, log",
    [
        ("Nov 22 12:00:00 node1 kubelet[12]: oh", "some.log node1/kubelet"),
        ("shop web-0 app 2026-11-22T12:00:00Z level=info msg=oh", "shop/web-0/app"),
        (f'{{"date":1795348800.5,"log":"oh","kubernetes":{FLUENT_BIT}}}', "shop/web-0/app"),
    ],
)
def test_a_line_may_say_who_wrote_it(line: str, log: str) -> None:
    found, _ = read_log([line] * 3)
    assert {each.log for each in found} == {log}


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
def test_the_path_in_a_bundle_names_the_container(path: str, log: str) -> None:
    (line,), _ = read_log([LOGFMT], path)
    assert line.log == log


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-22T12:00:00.5Z stdout F " + json.dumps(event()),
        json.dumps({"log": json.dumps(event()) + "\n", "stream": "stdout", "time": "2026-11-22T12:00:00Z"}),
        json.dumps({"level": "info", "msg": json.dumps(event()), "time": "2026-11-22T12:00:00Z"}),
    ],
)
def test_an_audit_log_stays_one(line: str) -> None:
    assert read_log([line])[0] == []
