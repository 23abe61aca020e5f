"""Pull the audit log of Azure AKS from a Log Analytics workspace by queries, with azure-monitor-query.

A query has no pages: its answer has at most 500,000 rows and about 100 MB, and it may take 10 minutes at most. What is
more comes back as a partial result (https://learn.microsoft.com/azure/azure-monitor/service-limits). So the window is
cut into parts, each a page; a part whose answer is partial is cut in half and asked for again, and nothing of the
partial answer is used. Rows arrive minutes after their TimeGenerated; those that come after the pull are not in it.
"""

import json
from collections.abc import Mapping
from typing import Any

import orjson

from collectors.hosts import retry_after
from collectors.stores.kinds import (
    Cost,
    Cursor,
    Field,
    Kind,
    RecordPage,
    Store,
    StoreRefused,
    Transient,
    Window,
    first_line,
)
from collectors.stores.times import instant

ROWS = 500_000  # of one answer
FIRST_STEP = 300_000_000  # microseconds of the first part
_FEW = 50_000  # rows of an answer after which the next part is twice as long
_SECONDS = 600
_COLUMNS = (
    "AuditId, Level, Stage, RequestUri, Verb, User, UserAgent, SourceIps, ObjectRef, ResponseStatus, RequestObject, "
    "ResponseObject, RequestReceivedTime, StageReceivedTime"
)
_TABLES = ("AKSAudit", "AKSAuditAdmin", "AzureDiagnostics")
_LATER = {408, 429, 500, 502, 503}


class _TooMuch(Exception):
    """The answer to a query is not whole."""


class _LogAnalytics:
    def __init__(self, values: Mapping[str, str], client: Any) -> None:
        self._client, self._workspace, self._table = client, values["workspace"], values["table"]
        of_cluster = f"_ResourceId endswith {_quoted('/managedclusters/' + values['cluster'])}"
        if self._table == "AzureDiagnostics":
            of_cluster += ' and Category in ("kube-audit", "kube-audit-admin")'
        self._where = of_cluster

    def close(self) -> None:
        self._client.close()

    def cost(self, window: Window) -> Cost:
        note = "Queries of tables with the plan Basic or Auxiliary are charged by these bytes; others are not charged."
        try:
            rows = self._query(f"{self._from(window)} | summarize Records=count(), Bytes=sum(_BilledSize)")
        except _TooMuch:
            return Cost(note="Log Analytics could not count the window in time.")
        if not rows:
            return Cost(0, 0)
        return Cost(int(rows[0]["Bytes"] or 0), int(rows[0]["Records"]), note)

    def page(self, window: Window, cursor: Cursor | None) -> RecordPage:
        begin, step = (cursor["time"], cursor["step"]) if cursor else (window.since, FIRST_STEP)
        columns = "log_s" if self._table == "AzureDiagnostics" else _COLUMNS
        while begin < window.until:
            part = Window(begin, min(begin + step, window.until))
            try:
                rows = self._query(
                    f"{self._from(part)} | project TimeGenerated, {columns} | order by TimeGenerated asc"
                )
            except _TooMuch:
                if part.until - part.since == 1:
                    raise StoreRefused(
                        f"One microsecond, {instant(begin * 1000)}, has more rows than an answer may."
                    ) from None
                step = (part.until - part.since + 1) // 2
                continue
            if len(rows) < _FEW:
                step *= 2
            records = [orjson.dumps({name: each for name, each in row.items() if each is not None}) for row in rows]
            if part.until == window.until:
                return RecordPage(records, None, window.until)
            return RecordPage(records, {"time": part.until, "step": step}, part.until)
        return RecordPage([], None, window.until)

    def _from(self, window: Window) -> str:
        times = f"TimeGenerated >= datetime({_tick(window.since)}) and TimeGenerated < datetime({_tick(window.until)})"
        return f"{self._table} | where {times} | where {self._where}"

    def _query(self, query: str) -> list[dict[str, Any]]:
        """Return the rows of a whole answer. Raise _TooMuch, Transient, or Refused."""
        from azure.core.exceptions import (
            ClientAuthenticationError,
            HttpResponseError,
            ServiceRequestError,
            ServiceResponseError,
        )
        from azure.monitor.query import LogsQueryStatus

        try:
            answer = self._client.query_workspace(self._workspace, query, timespan=None, server_timeout=_SECONDS)
        except ClientAuthenticationError as error:
            raise StoreRefused(f"Azure refuses the credentials: {first_line(error)}") from None
        except HttpResponseError as error:
            status = error.status_code or 0
            if status == 504 or "ResponseSizeError" in str(error):
                raise _TooMuch from None
            words = f"Log Analytics answers {status}: {first_line(error)}"
            if status in _LATER:
                headers: Mapping[str, str] = getattr(error.response, "headers", {})
                raise Transient(words, retry_after(headers.get("Retry-After"))) from None
            raise StoreRefused(words) from None
        except (ServiceRequestError, ServiceResponseError) as error:
            raise Transient(f"Log Analytics cannot be reached ({type(error).__name__}).") from None
        if answer.status != LogsQueryStatus.SUCCESS:
            raise _TooMuch
        (table,) = answer.tables
        if len(table.rows) >= ROWS:
            raise _TooMuch
        return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def _tick(time: int) -> str:
    """Return microseconds since 1970 as Kusto writes a time, whose unit is 100 ns."""
    return f"{instant(time * 1000)[:-3]}Z"


def _quoted(text: str) -> str:
    return json.dumps(text)


def _open(values: Mapping[str, str]) -> Store:
    from azure.identity import ClientSecretCredential, DefaultAzureCredential
    from azure.monitor.query import LogsQueryClient

    # Repetitions are made by patience.py, which a stop interrupts.
    options: dict[str, Any] = {"retry_total": 0, "connection_timeout": 15, "read_timeout": _SECONDS + 30}
    try:
        if values["client_secret"]:
            credential: Any = ClientSecretCredential(
                values["tenant"],
                values["client_id"],
                values["client_secret"],
                authority=values["authority"],
                disable_instance_discovery=True,
                **options,
            )
        else:
            credential = DefaultAzureCredential(
                authority=values["authority"], exclude_interactive_browser_credential=True
            )
        return _LogAnalytics(values, LogsQueryClient(credential, endpoint=values["endpoint"], **options))
    except ValueError as error:
        raise StoreRefused(f"Azure cannot be asked: {first_line(error)}") from None


KIND = Kind(
    "log-analytics",
    "Azure Log Analytics",
    "log-analytics",
    (
        Field("workspace", "Workspace ID", required=True),
        Field("cluster", "Cluster in AKS", default="{cluster}", required=True),
        Field("table", "Table", default="AKSAudit", required=True, choices=_TABLES),
        Field("tenant", "Tenant ID", "the worker's own identity without a client secret", variable="AZURE_TENANT_ID"),
        Field("client_id", "Client ID", variable="AZURE_CLIENT_ID"),
        Field("client_secret", "Client secret", secret=True),
        Field(
            "endpoint",
            "Endpoint",
            "for sovereign clouds",
            default="https://api.loganalytics.io",
            required=True,
            url=True,
        ),
        Field(
            "authority",
            "Authority",
            "for sovereign clouds",
            default="https://login.microsoftonline.com",
            required=True,
            url=True,
        ),
    ),
    _open,
)
