"""These tests read the logs of programs, such as controllers: their forms and wrappings, and what hostile ones hold."""

import io
import json
import random
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
from tests.events import event
from tests.recordings import observations_of, world_of
from timeline.core.entries import Change, Clock, Entry, LogLine, ObjectRef, Place, Unknown, microseconds
from timeline.core.entries import moment as at
from timeline.history.codec import line_of, observation_of
from timeline.history.lifelines import Name
from timeline.judge import rulebook
from timeline.judging.coverage import coverage, judgeable, partly_read
from timeline.payloads.documents import clocks

DATA = Path(__file__).parent / "data" / "logs"
NOON = microseconds(at(0).replace(year=2026, month=11, day=22, hour=12))
KLOG = 'I1122 12:00:00.250000   16502 controller.go:12] "Synced" service="shop/web" took="1s"'
LOGFMT = 'time="2026-11-22T12:00:00Z" level=warning msg="(svcs) will update [shop/web]" n=1'
SLOG = 'time=2026-11-22T14:00:00.5+02:00 level=INFO msg="handled [web] in namespace [shop]"'
ZAP = '{"level":"error","ts":1795348800.125,"logger":"c","msg":"failed","Service":{"name":"web","namespace":"shop"}}'
BUNYAN = '{"name":"app","hostname":"h","pid":1,"level":40,"msg":"about shop/web","time":"2026-11-22T12:00:00Z","v":0}'
LOGRUS = '{"level":"debug","msg":"about shop/web","time":"2026-11-22T12:00:00Z"}'
PLAIN = "2026-11-22 12:00:00,125 ERROR could not reach shop/web"
GO = "2026/11/22 12:00:00 dropped shop/web"


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


def test_lines_of_a_stack_trace_are_counted_and_do_not_make_a_rule_doubt(tmp_path: Path) -> None:
    lines = [LOGFMT, "panic: oh", "", "goroutine 1 [running]:", "main.main()", "\t/app/main.go:1 +0x1", LOGFMT]
    found, (skipped,) = read_log(tmp_path, lines)
    assert len(found) == 2
    assert skipped.reason == "is a log of which 4 lines have no time of their own and were left out"


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
    forms = [KLOG, LOGFMT, SLOG, ZAP, PLAIN, f"2026-11-22T12:00:00Z stdout F {KLOG}"]
    for _ in range(400):
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
    lines = [each for each in observations_of(DATA / "kube-vip.log.zst") if isinstance(each, LogLine)]
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
    analysis = analyse([(DATA / "kube-vip.log.zst", "kube-vip.log")], Limits())
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


def test_the_coverage_asks_for_a_log_where_a_rule_needs_one(tmp_path: Path) -> None:
    world = analysed(tmp_path, [LOGFMT]).world
    for logs_read, verdict in ((False, "not"), (world.has_logs, "exact")):
        rules = judgeable(coverage(world), rulebook(), logs=logs_read)
        assert next(each.verdict for each in rules if each.rule == "consumer-order") == verdict
