"""This module builds the findings document of a stored source."""

from functools import cache
from typing import Any, get_args, get_origin

from typing_extensions import get_type_hints, is_typeddict

from timeline.core.entries import microseconds
from timeline.models import Finding, Source
from timeline.payloads import documents
from timeline.payloads.findings import DocumentPayload, FindingPayload, SourceDocumentPayload


def document(source: Source) -> DocumentPayload:
    """Return the findings document of a source. It is the same that `causeline analyze` writes for the same files."""
    rows = Finding.objects.filter(source=source, withdrawn=False).values_list("first", "rule", "identity", "document")
    findings = [_in_order(document, FindingPayload) for *_, document in sorted(rows, key=lambda row: row[:3])]
    skipped: list[tuple[str, int, str]] = [(file, line, reason) for file, line, reason in source.skips]
    name = ", ".join(source.inputs)
    if more := source.skipped - len(skipped):
        skipped.append(documents.unlisted(name, more))
    first, last = (microseconds(time) if time else 0 for time in (source.first, source.last))
    parts: SourceDocumentPayload = _in_order(source.told, SourceDocumentPayload)
    return documents.assembled(findings, parts, name, source.entries, skipped, first, last)


def _in_order(value: Any, shape: Any) -> Any:
    """Return a value from a jsonb column with its fields in the order of the TypedDict `shape`, since jsonb does not
    keep the order."""
    for each in (shape, *get_args(shape)):
        if isinstance(value, list) and get_origin(each) is list:
            return [_in_order(item, *get_args(each)) for item in value]
        if isinstance(value, dict) and is_typeddict(each):
            return {name: _in_order(value[name], of) for name, of in _fields(each).items()}
    return value


@cache
def _fields(shape: Any) -> dict[str, Any]:
    return get_type_hints(shape)
