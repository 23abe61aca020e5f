"""Declare annotations, which Grafana draws over its panels."""

from typing_extensions import TypedDict  # Pydantic does not accept that of typing before Python 3.12

from timeline.judging.findings import Severity


class AnnotationPayload(TypedDict):
    """This is one occurrence of findings, as a row of a table. Times are milliseconds since 1970."""

    time: int
    timeEnd: int
    title: str  # the summary of the finding
    text: str  # its effect and its cause, in sentences; "" if neither is known
    tags: str  # severity, rule, namespace and source, separated by commas
    severity: Severity
    rule: str
    namespace: str
    source: str  # the name of the cluster or recording
    url: str  # of the incident's page
