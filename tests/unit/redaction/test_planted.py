"""These tests plant secrets everywhere in recordings of every format, whole and damaged: none appears in any output."""

import gzip
import io
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from collectors.analysis import analyse
from collectors.formats import Limits, NotARecording, Skipped, own, read
from dashboard.cli.terminal import Terminal
from dashboard.cli.text import show_findings, show_incidents, show_input
from dashboard.report import markdown
from dashboard.report.contents import of_analysis
from dashboard.report.page import rendered
from tests.inputs.events import event, pod
from tests.inputs.objects import made
from tests.inputs.wrapping import WRAPPERS
from tests.properties import sampled
from tests.unit.formats.reading import observed
from tests.unit.redaction.test_redact import PLACES
from timeline.core.entries import Entry

SECRET = "pl4nted"
GOOD = "kept-name"
IDENTITY = {"name", "namespace", "uid", "username", "userAgent", "auditID"}
IDENTITY |= {"kind", "apiVersion", "apiGroup", "resource"}
MESSAGE = f'pod "p" waits: dial https://user:{SECRET}@host refused, password={SECRET}; pvc "data" not found'


@cache
def objects() -> tuple[dict[str, Any], ...]:
    """Return one object for each place that may hold a secret, as a cluster would return it, and an Event whose message
    a rule reads."""
    found = []
    for number, planted in enumerate(plant(SECRET) for name, plant in PLACES.items() if name != "kubeconfig"):
        whole = {"apiVersion": "v1", "kind": "ConfigMap", **planted}
        whole["metadata"] = {**planted.get("metadata", {}), **made(f"{GOOD}-{number}", 100 + number)["metadata"]}
        found.append(whole)
    about = {"apiVersion": "v1", "kind": "Pod", "namespace": "n", "name": "p"}
    fields = {"apiVersion": "v1", "kind": "Event", "involvedObject": about, "reason": "FailedScheduling"}
    return *found, {**fields, "metadata": made("told", 900)["metadata"], "message": MESSAGE}


@cache
def events() -> tuple[str, ...]:
    """Return audit events with these objects, and with everything else that an event may have."""
    lines = []
    for number, each in enumerate(objects()):
        reference = {"resource": each["kind"].lower() + "s", "apiVersion": "v1"}
        names = {"namespace": "n", "name": each["metadata"]["name"]}
        about = {
            "requestURI": f"/api/v1/namespaces/n/pods?token={SECRET}",
            "user": {"username": "somebody", "extra": {"token": [SECRET]}},
            "impersonatedUser": {"username": SECRET, "groups": [SECRET]},
            "annotations": {"mutation.webhook.admission.k8s.io/round_0": SECRET},
            "responseStatus": {"code": 201, "message": SECRET, "reason": SECRET},
            "sourceIPs": [SECRET],
        }
        request = event(auditID=f"a{number}", objectRef={**reference, **names}, requestObject=each, **about)
        lines.append(json.dumps({**request, "responseObject": each}, separators=(",", ":")))
    return tuple(lines)


def watched() -> Iterator[str]:
    for each in objects():
        yield json.dumps({"type": "ADDED", "object": each})
    status = {"kind": "Status", "apiVersion": "v1", "reason": f"x{SECRET}", "code": 410, "message": SECRET}
    yield json.dumps({"type": "ERROR", "object": status})


def listed(**layout: Any) -> str:
    return json.dumps({"apiVersion": "v1", "items": objects(), "kind": "List"}, **layout)


def dumped() -> str:
    logs = f"==== START logs for container c of pod n/p ====\npassword={SECRET}\n==== END logs for container c ====\n"
    return f"{listed(indent=4)}\n{logs}{listed(indent=4)}\n"


def wrapped(wrap: Callable[[list[str]], str]) -> Callable[[], str]:
    return lambda: wrap(list(events()))


RECORDINGS: dict[str, Callable[[], str]] = {
    **{name: wrapped(wrap) for name, (_, wrap) in WRAPPERS.items()},
    "a watch": lambda: "\n".join(watched()),
    "a watch without types": lambda: "\n".join(json.dumps(each, indent=4) for each in objects()),
    "a watch in YAML": lambda: yaml.safe_dump_all(json.loads(line) for line in watched()),
    "a list": lambda: listed(indent=4),
    "a list in one line": listed,
    "a list in YAML": lambda: yaml.safe_dump(json.loads(listed())),
    "documents in YAML": lambda: yaml.safe_dump_all(json.loads(listed())["items"]),
    "a cluster-info dump": dumped,
    "an export": lambda: b"".join(own.write(entries_of("lines"))).decode().replace("[redacted]", SECRET),
}


def written(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "recording"
    path.write_bytes(content)
    return path


def entries_of(name: str) -> list[Entry]:
    return [item for item in observed(RECORDINGS[name](), bodies=True) if isinstance(item, Entry)]


def everything_of(path: Path) -> str:
    """Return everything that is stored of a recording, exported, shown, or said when it is refused."""
    out = io.StringIO()
    try:
        for item in read([(path, "recording")], bodies=True):
            if isinstance(item, Skipped):
                print(item, file=out)
            else:
                print(item, b"".join(own.write([item])).decode(), file=out)
        analysis = analyse([(path, "recording")], Limits())
        print(orjson.dumps(analysis.document()).decode(), file=out)
        show_incidents(analysis, Terminal(out))
        show_findings(analysis, Terminal(out))
        show_input(analysis, Terminal(out), with_coverage=True)
        contents = of_analysis(analysis, title="t")
        print(rendered(contents), markdown.document(contents), file=out)
    except NotARecording as refused:
        print(refused, file=out)
    return out.getvalue()


@pytest.mark.parametrize("name", RECORDINGS)
def test_no_secret_comes_out_of_any_format(name: str, tmp_path: Path) -> None:
    output = everything_of(written(tmp_path, RECORDINGS[name]().encode()))
    assert SECRET not in output
    assert output.count(GOOD) >= len(objects())
    assert "[redacted]" in output


@pytest.mark.parametrize("text", [json.dumps, yaml.safe_dump])
def test_a_kubeconfig_is_refused_and_nothing_of_it_said(text: Callable[[Any], str], tmp_path: Path) -> None:
    config = {"apiVersion": "v1", **PLACES["kubeconfig"](SECRET)}
    output = everything_of(written(tmp_path, text(config).encode()))
    assert "it is a kubeconfig" in output and SECRET not in output
    mixed = "---\n".join([text(made("a", 5)), text(config)]) if text is yaml.safe_dump else text(config)
    assert SECRET not in everything_of(written(tmp_path, mixed.encode()))


@pytest.mark.parametrize("name", sampled(RECORDINGS, 10))
def test_no_secret_comes_out_of_what_is_damaged(name: str, tmp_path: Path) -> None:
    content = RECORDINGS[name]().encode()
    marks = [each.start() for each in re.finditer(rb"[][{},]", content)]
    for at in marks[::17]:
        content = content[:at] + b'"{:'[at % 3 :][:1] + content[at + 1 :]
    assert SECRET not in everything_of(written(tmp_path, content))
    assert SECRET not in everything_of(written(tmp_path, gzip.compress(content)[:-40]))


def misplaced(value: Any, key: str = "") -> Iterator[Any]:
    """Yield the value once for each place where no secret may be shown, with a secret in that place."""
    if key in IDENTITY:
        return
    if isinstance(value, dict):
        for inner, each in value.items():
            yield from ({**value, inner: other} for other in misplaced(each, inner))
        yield {**value, SECRET: value}
        if not key:
            return
    elif isinstance(value, list):
        yield from ([*value[:number], other] for number, each in enumerate(value) for other in misplaced(each))
    if key not in ("stage", "verb", "type", "subresource", "level", "holder", "reason"):
        yield f"password={SECRET}"
        yield {f"password={SECRET}": f"password={SECRET}"}
        yield [f"password={SECRET}"]


def test_a_reason_never_repeats_what_stands_in_the_field() -> None:
    status = {"phase": "Running", "startTime": "2026-11-21T07:52:00Z", "conditions": [{"type": "Ready", "status": "T"}]}
    whole = {**made("p", 5), "kind": "Pod", "status": status, "spec": {"nodeName": "n", "volumes": []}}
    audit = event(responseObject={**pod(), "status": status}, requestObject=pod(), userAgent="u")
    exported = [json.loads(line) for line in own.write(entries_of("lines")[:3])]
    for name, lines in {
        "audit": list(misplaced(audit)),
        "watch": [{"type": "ADDED", "object": each} for each in misplaced(whole)],
        "export": [exported[0], *(other for each in exported[1:] for other in misplaced(each))],
    }.items():
        content = "\n".join(json.dumps(line) for line in [lines[0], *lines])
        reasons = [str(item) for item in observed(content, bodies=True) if isinstance(item, Skipped)]
        assert reasons and SECRET not in " ".join(reasons), name
