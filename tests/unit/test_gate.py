"""These tests list every way in. With the gate, nothing that is planted comes through; without it, it does on each way,
so each of them leads through the gate, and nothing else hides that one does not."""

import ast
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest
from msgspec.structs import replace

from collectors import gate
from collectors.alerts import Kind, parse
from collectors.formats import Limits, Skipped, admission_webhook, audit_webhook, formats, parallel, read
from collectors.gate import TOO_DEEP, Admitted, admit
from collectors.redaction import Policy, entries
from collectors.watch.server.failures import safe_text
from collectors.watch.storing import batches
from collectors.watch.streams.reflector import Reflector
from collectors.watch.streams.resources import Resource, Target
from collectors.watch.streams.threads import StreamStatus
from tests import DATA, ROOT
from tests.inputs.credentials import FORMS
from tests.inputs.events import entries_of as audited
from tests.inputs.events import event, pod
from tests.inputs.objects import made
from tests.unit.alerts.test_alert_notifications import NOW, alert, of_alertmanager
from tests.unit.formats.reading import GO, KLOG, ZAP, observed, sniffed
from tests.unit.formats.test_admission_format import review
from tests.unit.formats.test_log_forms import EXPORTED
from tests.unit.redaction.conftest import policy as policy  # a fixture
from tests.unit.redaction.test_planted import RECORDINGS, SECRET
from timeline.core.entries import Entry, Mark, MarkType, Observation
from timeline.history.codec import line_of
from timeline.history.packing import unpack
from timeline.kinds.event import EventFacts

TOKEN = FORMS["GitHub"]
OBJECT = {**made("p", 7), "data": {"password": SECRET}, "spec": {"note": TOKEN}}
PODS = Resource("", "v1", "ConfigMap", "configmaps", True)
(PLAIN,) = audited(event(responseObject=pod()))


def sample(name: str, before: str, after: str | None = None) -> str:
    """Return a file of the tests with the token in it, in front of a text or in its place."""
    content = (DATA / name).read_text(encoding="utf-8")
    assert before in content
    return content.replace(before, f"{TOKEN} {before}" if after is None else after)


def insights() -> str:
    fields = {"namespace": "n", "lastTimestamp": "2026-11-21T07:52:01Z", "reason": "R", "type": "Normal"}
    return json.dumps({"items": [{**fields, "message": f"password={SECRET}"}]})


def kindless() -> str:
    linked = {**OBJECT["metadata"], "selfLink": "/api/v1/namespaces/n/configmaps/p"}
    return json.dumps({"metadata": linked, "data": OBJECT["data"]})


FILES: dict[str, Callable[[], str]] = {
    **RECORDINGS,
    "reviews": lambda: json.dumps(review(object=OBJECT, oldObject=OBJECT)),
    "Events of an exporter": lambda: sample("event-exporter/events.json", "Started container"),
    "Events in a table": lambda: sample("kubectl-events/default.txt", "Back-off"),
    "Events in an Insights archive": insights,
    "a recording of kwok": lambda: sample("kwok/recording.yaml", "name: node-0", f"name: {TOKEN}"),
    "OTLP": lambda: sample("otlp/k8sobjects.json", '"web-1"', f'"{TOKEN}"'),
    "GKE": lambda: sample("wrappers/gke.json", '"principalEmail": "admin"', f'"principalEmail": "{TOKEN}"'),
    "a journal": lambda: EXPORTED.decode().replace("about", f"password={SECRET} about"),
    "lines in JSON": lambda: json.dumps(json.loads(ZAP.replace("failed", f"password={SECRET}")), indent=2),
    "an object without its kind": kindless,
    "a log": lambda: "\n".join([KLOG, GO, f"{GO} password={SECRET} a/b"]),
}


def of_file(name: str) -> str:
    found = observed(FILES[name](), bodies=True)
    return "".join(str(each) if isinstance(each, Skipped) else line_of(each).decode() for each in found)


def of_several_processes() -> str:
    line = json.dumps(event(responseObject={**pod(), "note": TOKEN, "password": SECRET}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "READ_ALONE", 0)
        patch.setattr(parallel, "LEAST_BYTES", 1000)
        found = list(_read_in_parallel("\n".join([line] * 20)))
    return "".join(str(each) if isinstance(each, Skipped) else line_of(each).decode() for each in found)


def _read_in_parallel(content: str) -> Iterator[Observation | Skipped]:
    with NamedTemporaryFile("w") as file:
        file.write(content)
        file.flush()
        yield from read([(Path(file.name), "log")], bodies=True, processes=2)


def of_audit_webhook() -> str:
    sent = {
        "kind": "EventList",
        "apiVersion": "audit.k8s.io/v1",
        "items": [event(responseObject={**pod(), "a": TOKEN})],
    }
    return unpack(audit_webhook.read(iter([json.dumps(sent).encode()]), False, 1 << 20, {}, Limits()).lines).decode()


def of_admission_webhook() -> str:
    sent = review(userInfo={"username": f"robot:{TOKEN}"})
    return unpack(admission_webhook.read(iter([json.dumps(sent).encode()]), [NOW], Limits()).lines).decode()


def of_collector() -> str:
    items = [replace(PLAIN, actor=TOKEN, body=json.dumps(OBJECT).encode())]
    mark = Mark("", "v1", "Pod", MarkType.GAP, NOW, 7, reason=f"it said password={SECRET}")
    status = StreamStatus(Target(PODS), "failing", f"it said password={SECRET}")
    batch = batches.checked(iter([batches.written([*items, mark, status])]), 1 << 20, Limits())
    return "".join(map(str, batches.read(batch, 1 << 20)))


def of_watch() -> str:
    """Return what a watch delivers: a worker stores it, a collector sends it, and a recorder writes it."""
    out: list[Admitted[Observation]] = []
    reflector = Reflector(
        None,  # type: ignore[arg-type]  # it is not asked
        PODS, out.append, known_objects={}, resume_from=None, report_state=lambda *_: None,
    )  # fmt: skip
    listed = reflector.decoder.listed(json.dumps(OBJECT).encode(), NOW)
    changed = reflector.decoder.event(
        json.dumps({"type": "MODIFIED", "object": {**OBJECT, "metadata": made("p", 8)["metadata"]}}).encode(), NOW, 0
    )
    assert isinstance(listed, Entry) and isinstance(changed, Entry)
    reflector._deliver([listed, changed])
    assert not reflector.decoder.unusable
    return "".join(line_of(each).decode() for batch in out for each in batch)


def of_alert(kind: Kind) -> str:
    texts = {"alertname": "x", "note": f"password={SECRET}", "token": SECRET}
    sent: Any = of_alertmanager(
        alert(labels=texts, annotations=texts, generatorURL=f"http://a.example/?password={SECRET}")
    )
    if kind == "json":
        sent = {"name": "x", "starts": "2026-11-18T07:00:00Z", "labels": texts, "annotations": texts}
    return str(parse(kind, json.dumps(sent).encode(), NOW))


WAYS: dict[str, Callable[[], str]] = {
    **{f"file: {name}": lambda name=name: of_file(name) for name in FILES},  # type: ignore[misc]
    "a file that several processes read": of_several_processes,
    "audit webhook": of_audit_webhook,
    "admission webhook": of_admission_webhook,
    "batches of a collector": of_collector,
    "watch, recorder and collector": of_watch,
    **{f"alerts: {kind}": lambda kind=kind: of_alert(kind) for kind in ("alertmanager", "grafana", "json")},  # type: ignore[misc]
    "what servers say of errors": lambda: safe_text(f"password={SECRET}"),
}


@contextmanager
def without_gate() -> Iterator[None]:
    """Let everything through as it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gate, "_checked", lambda each, *_: each)
        patch.setattr(gate, "_without_credentials", lambda batch: batch)
        patch.setattr(gate, "clean_text", lambda text: text)
        patch.setattr(gate, "grade", lambda _: None)
        yield


def planted_in(text: str) -> bool:
    return SECRET in text or TOKEN in text


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_leads_through_the_gate(way: str) -> None:
    assert not planted_in(WAYS[way]())
    with without_gate():
        assert planted_in(WAYS[way]())


def test_there_is_a_recording_of_every_format() -> None:
    assert {name for each in FILES.values() for name in sniffed(each())} == {each.name for each in formats()}


def test_only_the_gate_makes_what_is_admitted() -> None:
    """And only those may import what reads and redacts that pyproject.toml lists (`make check`)."""
    makers = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "collectors").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and re.match(r"(?:gate\.)?Admitted\b", ast.unparse(node.func))
    }
    assert makers == {"collectors/gate.py"}


def test_what_is_too_deep_or_too_large_is_refused_with_its_place() -> None:
    deep = b'{"kind":"ConfigMap","a":' + b"[" * 10 + b"]" * 10 + b"}"
    (refused,) = admit([replace(PLAIN, body=deep)], Limits(depth=9))
    assert PLAIN.place and refused == Skipped(PLAIN.place.file, PLAIN.place.line, TOO_DEEP)
    (refused,) = admit([replace(PLAIN, body=b'"' + b"a" * (17 << 20) + b'"')], Limits())
    assert isinstance(refused, Skipped) and "more than any object" in refused.reason


def test_patterns_of_a_house_count_and_long_texts_are_not_remembered(policy: Callable[[Policy], None]) -> None:
    (kept,) = admit([replace(PLAIN, actor="somebody ACME-12345678")], Limits())
    assert isinstance(kept, Entry) and kept.actor.endswith("ACME-12345678")
    policy(Policy((r"ACME-\d{8}$",)))
    (masked,) = admit([replace(PLAIN, actor="somebody ACME-12345678")], Limits())
    assert isinstance(masked, Entry) and "ACME" not in masked.actor
    text = "The volume is not attached. " * 100
    long = replace(PLAIN, facts=EventFacts(reason="Failed", message=text))
    assert [*admit([long], Limits())] == [long]
    assert text not in entries._harmless


def test_values_that_many_share_are_remembered_and_long_ones_are_not() -> None:
    short, long = (("name", "x" * 20),), (("name", "y " * 2000),)
    for sets in (short, long):
        assert entries.without_credentials(replace(PLAIN, sets=sets)) == replace(PLAIN, sets=sets)
    assert short in entries._harmless_values and long not in entries._harmless_values
