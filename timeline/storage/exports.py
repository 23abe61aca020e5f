"""Build the findings document of a stored source."""

from functools import cache
from typing import Any, get_args, get_origin

from typing_extensions import get_type_hints, is_typeddict

from timeline.core.entries import microseconds
from timeline.judge import rulebook
from timeline.models import Finding, Source
from timeline.payloads import documents
from timeline.payloads.findings import DocumentPayload, FindingPayload, SourceDocumentPayload
from timeline.payloads.incidents import making, symptoms
from timeline.payloads.incidents.occurrences import StoredFinding
from timeline.storage.judged import stored


def document(source: Source) -> DocumentPayload:
    """Return the findings document of a source. It is the same that `causeline analyze` writes for the same files."""
    rows = sorted(stored.read(Finding.objects.filter(source=source, withdrawn=False)), key=_begin)
    findings = [_in_order(each.document, FindingPayload) for each in rows]
    anchored = [each for each in rows if each.anchor]
    places = {each.document["id"]: each.places for each in anchored}
    found = [making.payload(each) for each in making.incidents_of(map(symptoms.part, anchored), rulebook(), places)]
    skipped: list[tuple[str, int, str]] = [(file, line, reason) for file, line, reason in source.skips]
    name = ", ".join(source.inputs)
    if more := source.skipped - len(skipped):
        skipped.append(documents.unlisted(name, more))
    first, last = (microseconds(time) if time else 0 for time in (source.first, source.last))
    about: SourceDocumentPayload = _in_order(source.document, SourceDocumentPayload)
    return documents.assembled(findings, found, about, name, source.entries, skipped, first, last)


def _begin(found: StoredFinding) -> tuple[int, str, str]:
    return found.occurrences[0]["first"], found.document["rule"], found.document["id"]


def _in_order(value: Any, shape: Any) -> Any:
    """Return a value from a jsonb column with its fields in the order of the TypedDict `shape`, since jsonb does not
    keep the order."""
    for each in (shape, *get_args(shape)):
        if isinstance(value, list) and get_origin(each) is list:
            return [_in_order(item, *get_args(each)) for item in value]
        if isinstance(value, dict) and is_typeddict(each):
            return {name: _in_order(value[name], of) for name, of in _fields(each).items() if name in value}
    return value


@cache
def _fields(shape: Any) -> dict[str, Any]:
    return get_type_hints(shape)
