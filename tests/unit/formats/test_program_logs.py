"""These tests read the logs of programs, such as controllers: their forms and wrappings, and what hostile ones hold."""

import io
import json
import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from collectors import formats
from collectors.analysis import analyse
from collectors.formats import Limits, Skipped, logs, own, read
from collectors.gate import LINE_KEPT as KEPT
from collectors.normalise.log_lines import LONGEST
from dashboard.cli.terminal import Terminal
from dashboard.cli.text import show_input
from tests import DATA
from tests.inputs.recordings import observations_of, world_of
from tests.unit.formats.reading import GO, KLOG, LOGFMT, NOON, PLAIN, SLOG, ZAP, analysed, created, observed, read_log
from tests.unit.formats.test_log_forms import FORMS
from timeline.core.entries import LogLine, Place, Unknown, microseconds
from timeline.core.entries import moment as at
from timeline.history.codec import line_of, observation_of
from timeline.history.lifelines import Name
from timeline.history.world.world import World
from timeline.judge import rulebook
from timeline.judging.coverage.judgeable import judgeable
from timeline.judging.coverage.sources import partly_read
from timeline.payloads.documents import clocks

LOGS = DATA / "logs"


@pytest.mark.parametrize("line, unknown", [(KLOG, Unknown.YEAR), (PLAIN, Unknown.ZONE), (GO, Unknown.ZONE)])
def test_what_a_time_leaves_open_is_said(line: str, unknown: Unknown) -> None:
    found, _ = read_log([line] * 4)
    assert {each.unknown for each in found} == {unknown}
    (sentence,) = clocks(world_of(found))
    assert "no year and no time zone" in sentence if unknown is Unknown.YEAR else "have no time zone" in sentence


def test_a_time_without_a_year_is_placed_beside_the_rest() -> None:
    (line,), _ = read_log([KLOG])
    name = Name("", "Service", "shop", "web")
    assert not world_of([line]).log_lines(name)
    for year, month, expected in ((2026, 12, 2026), (2027, 1, 2026), (2025, 12, 2025)):
        last = microseconds(at(NOON).replace(year=year, month=month, day=1))
        world = world_of([line, created("shop", "web", last)])
        (placed,) = world.log_lines(name)
        assert at(placed.time) == at(NOON + 250_000).replace(year=expected)


LATE, EARLY = "23:59:00,000 INFO [a] (b) oh", "00:01:00,000 INFO [a] (b) oh"
MINUTE = 60_000_000


def test_times_of_day_are_placed_beside_the_rest_with_the_days_that_pass() -> None:
    midnight = NOON - 12 * 60 * MINUTE
    expected = [midnight - 24 * 60 * MINUTE - MINUTE, midnight - 24 * 60 * MINUTE + MINUTE, midnight - MINUTE]
    lines = [LATE, EARLY, LATE]
    found, _ = read_log(lines)
    ((_, placed),) = world_of(found, [created("shop", "web", midnight + MINUTE)]).logs()
    assert [each.time for each in placed] == expected
    assert not dict(world_of(found).logs())  # nothing says a date
    assert any("say only a time of day" in each for each in clocks(world_of(found)))
    ((_, placed),) = analysed(lines, midnight).world.logs()
    assert [each.time for each in placed] == expected
    dated = f"2026-11-{at(midnight - MINUTE).day} 23:59:30,000 INFO [a] (b) dated"
    found, _ = read_log([*lines, dated])
    far = created("shop", "web", NOON + 30 * 24 * 60 * MINUTE)
    ((_, placed),) = world_of(found, [far]).logs()  # the date in the same file counts more
    assert [each.time for each in placed][:3] == expected


def test_a_year_is_taken_from_the_archive_or_the_journal_if_nothing_else_says_it() -> None:
    for written, year in ((NOON, 2026), (NOON - 30 * 24 * 60 * MINUTE, 2025)):
        ((_, (line,)),) = analysed([KLOG], written).world.logs()
        assert at(line.time) == at(NOON + 250_000).replace(year=year)
    head = "-- Logs begin at Wed 2024-03-06 10:00:00 UTC, end at Wed 2024-12-04 10:00:00 UTC. --"
    ((_, (line,)),) = analysed([head, "Nov 22 12:00:00 node1 kubelet[12]: oh"]).world.logs()
    assert at(line.time) == at(NOON).replace(year=2024)


def test_the_logs_of_a_dump_are_read_between_its_documents() -> None:
    listed = json.dumps({"apiVersion": "v1", "kind": "PodList", "items": []})
    begin, end = (f"==== {which} logs for container app of pod shop/web-0 ====" for which in ("START", "END"))
    for lines in ([begin, LOGFMT, "no time", "", end], [listed, begin, LOGFMT, end, listed]):
        (line,), skipped = read_log(lines, "dump")
        assert (line.log, line.objects[:1], skipped) == ("shop/web-0/app", ("shop/web",), [])
        assert line.place == Place("dump", lines.index(LOGFMT) + 1)
    _, (cut,) = read_log([begin, LOGFMT], "dump")
    assert "the dump was cut" in cut.reason


def test_lines_of_a_stack_trace_belong_to_the_line_before_and_others_are_counted() -> None:
    trace = ["panic: oh", "", "goroutine 1 [running]:", "main.main()", "\t/app/main.go:1 +0x1"]
    found, (skipped,) = read_log(["no time", LOGFMT, *trace, "neither here", LOGFMT, LOGFMT])
    assert len(found) == 3
    assert found[0].text.endswith("n=1 panic: oh goroutine 1 [running]: main.main() \t/app/main.go:1 +0x1")
    assert found[0].place == Place("some.log", 2)
    assert skipped.reason == "is a log of which 2 lines have no time of their own and were left out"


def test_what_java_writes_on_several_lines_is_one_line() -> None:
    begin = [f"Nov 22, 2026 12:00:0{second} PM com.example.Service serve" for second in (0, 1)]
    trace = ["java.lang.IllegalStateException: oh", "\tat com.example.Service.serve(Service.java:12)", "Caused by: x"]
    (late, done), skipped = read_log([begin[0], "WARNING: late", *trace, begin[1], "INFO: done"])
    assert (late.level, done.level, done.time, skipped) == ("warning", "info", NOON + 1_000_000, [])
    assert late.text.startswith("com.example.Service serve WARNING: late java.lang.IllegalStateException: oh")


def test_a_line_of_a_stack_trace_goes_to_the_pod_that_wrote_it() -> None:
    one, two = (f"[pod/{pod}/app] {LOGFMT}" for pod in ("a-1", "b-1"))
    (first, second), (skipped,) = read_log([one, two, "[pod/b-1/app] \tat B", "[pod/a-1/app] \tat A"])
    assert ("at A" in first.text, "at B" in second.text, "at A" in second.text) == (False, True, False)
    assert "1 line has no time" in skipped.reason


def test_random_bytes_are_no_log_and_do_no_harm() -> None:
    chance = random.Random(6)
    forms = [KLOG, LOGFMT, SLOG, ZAP, PLAIN, *(each for each, *_ in FORMS.values())]
    for _ in range(600):
        assert not logs.sniff(chance.randbytes(chance.randint(1, 400)))
        damaged = bytearray(chance.choice(forms).encode())
        for _ in range(chance.randint(1, 8)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        line = logs.log_line(bytes(damaged), "log", Place("f", 1))
        assert line is None or observation_of(line_of(line), {}) == line


def test_lines_have_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "LINES", 3)
    nested = '{"level":"info","time":"2026-11-22T12:00:00Z","msg":"deep","a":' + "[" * 9_000 + "]" * 9_000 + "}"
    many = "a/b " + " ".join(f"n{number}/m" for number in range(500))
    found, skipped = read_log([f"{LOGFMT} {'x y ' * LONGEST}", LOGFMT, f"{LOGFMT} {many}", LOGFMT, nested])
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


def test_no_credential_stays_in_a_line() -> None:
    for planted in PLANTED[:-1]:
        (found,), _ = read_log([planted, PLANTED[-1]])
        assert SECRET[:8] not in line_of(found).decode()
    together, _ = read_log(PLANTED)
    assert len(together) > 9 and SECRET[:8] not in b"".join(own.write(together)).decode()
    forged = LogLine("log", NOON, f"x password={SECRET}")  # a file of Causeline's own may have been written by others
    (again,) = observed(b"".join(own.write([forged])))
    assert isinstance(again, LogLine) and again.text == "x password=[redacted]"


def test_lines_are_exported_and_read_again() -> None:
    written, _ = read_log([KLOG, LOGFMT, SLOG, ZAP, GO])
    assert observed(b"".join(own.write(written))) == written


def test_neither_order_nor_repetition_changes_a_log() -> None:
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


def test_a_file_with_the_logs_of_two_pods_is_read_in_its_order() -> None:
    """`kubectl logs -l` prints one behind the other. What the first did would else seem to be done by the second."""
    mode = "namespace [kube-system], Mode: [BGP], Features(s): Control Plane:[false], Services:[true]"
    counts = "local endpoint(s) [1], known good [10.0.0.2], active election [false]"
    watcher = said(12, f"[endpoints watcher] service shop/web: {counts}")
    begun = [said(10, "Starting kube-vip.io [v0.8.9]"), said(10, mode)]
    first = [*begun, watcher, said(14, "(svcs) will update [shop/web]")]
    served = said(30, "[endpoints] added BGP host: 10.0.0.9/32, service: shop/web")
    later = [each.replace("12:00:10Z", "12:00:20Z") for each in begun]
    assert not analysed([*first, served, *later]).findings
    assert not analysed([*first, *begun]).findings  # it is not known for how long it did nothing
    assert [each.subject.name for each in analysed([*first, *later]).findings] == ["web"]


def test_a_service_that_was_never_announced_is_not_over_when_its_program_or_its_log_ends() -> None:
    begun = [said(10, "Starting kube-vip.io [v0.8.9]"), said(10, "namespace [kube-system], Mode: [BGP]")]
    counts = "local endpoint(s) [1], known good [10.0.0.2], active election [false]"
    dropped = [
        *begun,
        said(12, f"[endpoints watcher] service shop/web: {counts}"),
        said(14, "(svcs) will update [shop/web]"),
    ]
    stopped = said(30, "[endpoints] stopping watching for [web] in namespace [shop]")
    other = said(31, "(svcs) will update [shop/api]")
    ended = {
        True: [[said(30, "something else")], [stopped], [stopped, stopped.replace("web", "api")]],
        False: [[stopped, other], [said(30, "(svcs) [shop/web] has been deleted")]],
    }
    for goes_on, ends in ended.items():
        for end in ends:
            (finding,) = analysed([*dropped, *end]).findings
            assert [each.open for each in finding.occurrences] == [goes_on], end
    again = [each.replace("12:00:", "12:01:") for each in [*dropped, said(30, "something else")]]
    (finding,) = analysed([*dropped, *again]).findings
    assert [each.open for each in finding.occurrences] == [False, True]


def test_a_real_log_alone_shows_which_services_were_overlooked() -> None:
    analysis = analyse([(LOGS / "kube-vip.log.zst", "kube-vip.log")], Limits())
    found = {each.subject.name: len(each.occurrences) for each in analysis.findings}
    assert found == {"app2": 3, "app5": 3, "app8": 3}
    assert {each.rule for each in analysis.findings} == {"consumer-order"}
    assert not analysis.nothing


def test_the_coverage_lists_the_logs_with_the_most_lines_first() -> None:
    lines = [f"[pod/p-{number}/c] {LOGFMT} n={line}" for number in range(12) for line in range(number + 1)]
    analysis = analysed(lines)
    out = io.StringIO()
    show_input(analysis, Terminal(out), with_coverage=True)
    assert "Logs of programs\nlog p-11/c: 12 lines\nlog p-10/c: 11 lines\n" in out.getvalue()
    assert "log p-2/c: 3 lines\nand 2 more\n" in out.getvalue()


def test_it_is_said_which_log_is_missing() -> None:
    kube_vip = said(10, "Starting kube-vip.io [v0.8.9]")
    without, beside = analysed([LOGFMT]).world, analysed([LOGFMT, kube_vip]).world
    for world, answer in ((World(), "cannot"), (without, "cannot"), (beside, "can")):
        (judged,) = (each for each in judgeable(world, rulebook()) if each.rule == "consumer-order")
        assert judged.answer == answer
        assert answer == "can" or "it needs the log of kube-vip" in judged.why
    assert "Read the log of a program together with" in analysed([LOGFMT, "panic: oh", LOGFMT]).nothing
