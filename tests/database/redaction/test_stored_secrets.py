"""These tests plant secrets in what is stored: none reaches the database, the log, the disk or an export."""

import gzip
import json
import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.conf import settings as django_settings
from django.test import Client

from collectors import tasks
from collectors.formats import Limits, own
from collectors.redaction import Policy
from collectors.uploads import importing, receiving
from collectors.uploads.recordings import Count, import_into
from tests import DATA
from tests.inputs.credentials import FORMS
from tests.inputs.events import event, pod
from tests.properties import sampled
from tests.rows import stored
from tests.rows.people import member
from tests.unit.redaction.conftest import policy as policy  # a fixture
from tests.unit.redaction.test_planted import GOOD, RECORDINGS, SECRET, objects, written
from tests.unit.redaction.test_redact import PLACES
from tests.unit.redaction.test_redaction import COPIES
from timeline.queries.sources import coverage as coverage_queries
from timeline.storage import exports, store
from timeline.storage.entries import chunks


def planted() -> bytes:
    """Return a real log, and its cluster's Pods, Secrets and ConfigMaps with a secret in every place, in requests and
    answers."""
    lines = [*(DATA / "restart.jsonl").read_bytes().splitlines()]
    for number, (place, plant) in enumerate(PLACES.items()):
        body = {**pod(name=f"p{number}", uid=f"u{number}", resourceVersion=str(5_000 + number)), "sent": place}
        answer = {**body, **plant("pl4nted")}
        answer["metadata"] = {**answer.get("metadata", {}), **body["metadata"]}
        resource = {"Secret": "secrets", "ConfigMap": "configmaps"}.get(answer["kind"], "pods")
        reference = {"resource": resource, "namespace": "n", "name": f"p{number}", "apiVersion": "v1"}
        made = event(auditID=f"planted{number}", objectRef=reference, requestObject=answer, responseObject=answer)
        lines.append(json.dumps(made).encode())
    lines.append(json.dumps(event(user="pl4nted", responseObject=answer)).encode())  # skipped, with a reason
    return b"\n".join(lines)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("empty_uploads")
def test_no_planted_secret_reaches_the_database_the_log_or_the_disk(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    path = tmp_path / "audit.log.gz"
    path.write_bytes(gzip.compress(planted()))
    upload = receiving.begin("audit.log.gz", [receiving.Announced("audit.log.gz", path.stat().st_size)])
    with path.open("rb") as stream:
        receiving.keep(upload, stream)
    tasks.queue(upload)
    claimed = importing.take_up(upload.pk)
    assert claimed
    importing.run(claimed)
    upload.refresh_from_db()
    assert (upload.state, upload.skipped) == ("done", 1), upload.error
    output = stored.everything()
    assert output.count("[redacted") >= len(PLACES) - 3
    assert "p17" in output and "volcano" in output
    assert "pl4nted" not in output
    said = capfd.readouterr()
    assert "pl4nted" not in caplog.text + said.out + said.err
    assert [file.name for file in Path(django_settings.UPLOAD_DIR).iterdir()] == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", sampled(RECORDINGS, 4))
def test_no_secret_is_stored_or_exported(name: str, tmp_path: Path) -> None:
    content = RECORDINGS[name]().encode()
    marks = [each.start() for each in re.finditer(rb"[][{},]", content)]
    damaged = bytearray(content)
    for at in marks[::97]:
        damaged[at : at + 1] = b"~"
    source = store.open_source("planted")
    inputs = [(written(tmp_path, content), "whole"), (tmp_path / "damaged", "damaged")]
    inputs[1][0].write_bytes(damaged)
    import_into(source, inputs, Limits(), Count())
    source.refresh_from_db()
    output = stored.everything()
    assert SECRET not in output
    assert output.count(GOOD) >= len(objects())
    assert SECRET not in orjson.dumps(exports.document(source)).decode()
    assert SECRET.encode() not in b"".join(own.recording(chunks.lines(source.pk)))


@pytest.mark.django_db(transaction=True)
def test_the_coverage_tells_what_was_redacted(tmp_path: Path, client: Client, policy: Callable[[Policy], None]) -> None:
    secret: dict[str, Any] = pod(name="p", uid="u1", resourceVersion="5000")
    secret["metadata"]["annotations"] = {"password": "a", "b": FORMS["GitHub"], COPIES[0]: "{}"}
    path = tmp_path / "audit.log"
    path.write_text(json.dumps(event(user={"username": FORMS["JWT"]}, responseObject=secret)))
    source = store.open_source("r")
    import_into(source, [(path, "audit.log")], Limits(), Count())
    import_into(source, [(path, "audit.log")], Limits(), Count())  # lines that were read before are not counted again
    coverage = coverage_queries.coverage(source.pk)
    assert coverage["redacted"] == {"name": 1, "form": 2, "copy": 1, "pattern": 0, "time": 0, "object": 0}
    client.force_login(member("responder", name="somebody"))
    page = client.get(f"/sources/{source.pk}/coverage/").content.decode()
    assert "Texts that have the form of a credential" in page and "Copy of a whole object" in page
    policy(Policy(strict=True))
    strictly = store.open_source("strict")
    import_into(strictly, [(path, "audit.log")], Limits(), Count())
    coverage = coverage_queries.coverage(strictly.pk)
    assert coverage["redacted"] == {"name": 0, "form": 1, "copy": 0, "pattern": 0, "time": 0, "object": 1}
    track = strictly.track_set.get().id
    page = client.get(f"/sources/{strictly.pk}/objects/{track}/").content.decode()
    assert "The object was not kept" in page
