"""These tests hold the findings document against its JSON Schema: for real samples, and for damaged input."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from collectors.analysis import Analysis, analyse
from collectors.formats import Limits
from tests import DATA, ROOT
from tests.clients.command import causeline
from tests.inputs.events import event
from tests.inputs.recordings import SAMPLE
from timeline.payloads import findings
from timeline.payloads.documents import first_version

SCHEMAS: dict[str, dict[str, Any]] = {
    version: json.loads((ROOT / f"timeline/payloads/schemas/findings-{version}.json").read_text(encoding="utf-8"))
    for version in ("v1", "v2", "v3")
}
TYPES = {
    "v1": findings.FirstDocumentPayload,
    "v2": findings.SecondDocumentPayload,
    "v3": findings.DocumentPayload,
}
VALIDATORS = {version: jsonschema.Draft202012Validator(schema) for version, schema in SCHEMAS.items()}
OBJECTS = sorted(path for path in (DATA / "objects").rglob("*.zst"))


def document_of(analysis: Analysis) -> Any:
    """Return the document as parsed JSON after it was validated against the schemas."""
    result = analysis.document()
    document = json.loads(msgspec.json.encode(result))
    second = analysis.second_document()
    VALIDATORS["v3"].validate(document)
    VALIDATORS["v2"].validate(json.loads(msgspec.json.encode(second)))
    VALIDATORS["v1"].validate(json.loads(msgspec.json.encode(first_version(second))))
    return document


def analysed(*paths: Path) -> Any:
    return document_of(analyse([(path, path.name) for path in paths], Limits()))


def shape(schema: dict[str, Any], definitions: dict[str, Any], closed: bool) -> Any:
    """Return only fields, types and values of a schema, to be compared; for `closed` schemas also that they are
    closed."""
    if "$ref" in schema:
        return shape(definitions[schema["$ref"].rpartition("/")[2]], definitions, closed)
    if "anyOf" in schema:
        return frozenset().union(*(shape(each, definitions, closed) for each in schema["anyOf"]))
    if "const" in schema or "enum" in schema:
        return frozenset(schema.get("enum") or [schema["const"]])
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if "array" in types:
        return frozenset([("array", shape(schema["items"], definitions, closed))])
    if "object" in types:
        assert schema.get("additionalProperties") is (False if closed else None)
        fields = [
            (name, name in schema["required"], shape(each, definitions, closed))
            for name, each in schema["properties"].items()
        ]
        return frozenset([("object", frozenset(fields))])
    return frozenset(types)


def every_part(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the properties and definitions of the schema at every depth."""
    named = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    return named + [part for each in named for part in every_part(each)]


@pytest.mark.parametrize("version", SCHEMAS)
def test_the_schema_has_the_fields_of_the_types_and_describes_each(version: str) -> None:
    schema = SCHEMAS[version]
    jsonschema.Draft202012Validator.check_schema(schema)
    generated = msgspec.json.schema(TYPES[version])
    assert shape(schema, schema["$defs"], closed=True) == shape(generated, generated["$defs"], closed=False)
    parts = every_part(schema)
    assert len(parts) > 50
    for part in parts:
        described = part if "$ref" not in part else schema["$defs"][part["$ref"].rpartition("/")[2]]
        assert described["description"].endswith(".")


def test_the_documents_of_real_samples_watches_and_lists_are_valid() -> None:
    assert analysed(SAMPLE)["findings"]
    assert analysed(SAMPLE, *OBJECTS)["source"]["coverage"]
    for path in OBJECTS:
        assert {row["level"] for row in analysed(path)["source"]["coverage"]} <= {"watch", "list"}, path


def test_the_document_of_damaged_input_is_valid_and_tells_the_damage(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    lines = (DATA / "restart.jsonl").read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], b"{broken\n", *lines[1:], lines[0][:100]]))
    skipped = analysed(path)["source"]["skipped"]
    assert [each["line"] for each in skipped] == [2, len(lines) + 2]


def test_the_document_of_a_log_that_changes_nothing_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text(json.dumps(event(verb="get")))
    source = analysed(path)["source"]
    assert (source["entries"], source["first"], source["last"]) == (0, None, None)


def test_the_schema_refuses_what_is_not_a_findings_document() -> None:
    document = analysed(SAMPLE)
    for spoilt in (
        {**document, "more": 1},
        {**document, "schema": "causeline.findings/v3"},
        {**document, "findings": [{**document["findings"][0], "first_time": "2026-11-21 07:52:00"}]},
        {name: value for name, value in document.items() if name != "source"},
    ):
        assert not VALIDATORS["v2"].is_valid(spoilt)


@pytest.mark.parametrize("version", SCHEMAS)
def test_the_command_prints_the_schema(version: str) -> None:
    status, output, errors = causeline("schema", version)
    assert (status, json.loads(output), errors) == (0, SCHEMAS[version], "")
