"""Pull from Grafana Loki by `GET /loki/api/v1/query_range`, with httpx.

Loki has no token for the next page: the next query begins at the time of the last line. `start` belongs to the range
and `end` does not (https://grafana.com/docs/loki/latest/reference/loki-http-api/). Lines of one nanosecond can fill a
whole answer, because some shippers write times in whole seconds. Then the lines of that time are asked for in parts
that exclude each other, by the first digits of their auditID. A server limits the lines of one answer
(`max_entries_limit_per_query`, 5,000 unless configured); the limit that it names in its refusal is used.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import httpx
import orjson

from collectors.hosts import retry_after
from collectors.stores.border import Border
from collectors.stores.kinds import Cost, Cursor, Field, Kind, RecordPage, StoreRefused, Transient, Window, first_line

LINES = 5_000  # of one answer
_SECONDS = httpx.Timeout(120, connect=15)
_ALLOWED = re.compile(r"max entries limit[^(]{0,200}+\((\d+) > (\d+)\)")
_DEEPEST = 6  # digits of an auditID by which lines of one nanosecond are divided
_DIGITS = "0123456789abcdef"
_CROWDED = (
    "Loki has more lines with the time {} ns than one answer may have, and they cannot be distinguished. Raise its "
    "max_entries_limit_per_query, or narrow the query."
)
_LATER = {408, 425, 429, 500, 502, 503, 504}


class _Line(NamedTuple):
    time: int  # nanoseconds since 1970
    identity: str
    record: bytes


class _Loki:
    def __init__(self, values: Mapping[str, str]) -> None:
        self._query = values["query"]
        headers = {"X-Scope-OrgID": values["tenant"]} if values["tenant"] else {}
        if values["token"]:
            headers["Authorization"] = f"Bearer {values['token']}"
        auth = (values["username"], values["password"]) if values["username"] else None
        self._limit = LINES
        self._client = httpx.Client(
            base_url=values["url"].rstrip("/"),
            headers=headers,
            auth=auth,
            timeout=_SECONDS,
            verify=httpx.create_ssl_context(),  # with SSL_CERT_FILE
            follow_redirects=False,
            trust_env=False,  # a proxy would connect to addresses that nobody checked, and ~/.netrc is not for this
        )

    def close(self) -> None:
        self._client.close()

    def cost(self, window: Window) -> Cost:
        try:
            answer = self._get("index/stats", query=_selector(self._query), **_range(window))
            return Cost(
                scanned=int(answer["bytes"]),
                records=int(answer["entries"]),
                note="Loki's index counts whole chunks of the streams, so the window may have less.",
            )
        except (StoreRefused, KeyError, TypeError, ValueError):  # older versions, and some gateways, do not have it
            return Cost(note="This Loki does not say how many bytes it will read.")

    def page(self, window: Window, cursor: Cursor | None) -> RecordPage:
        until = window.until * 1000
        border = Border.of(cursor, window.since * 1000)
        lines, full = self._lines(border.time, until, self._query)
        if not full:
            following = Border(until)
        elif lines[-1].time > border.time:
            following = border.moved((each.time, each.identity) for each in lines)
        else:  # the lines of one nanosecond fill the answer
            lines = list({each.identity: each for each in self._at(border.time, "", self._query)}.values())
            following = Border(border.time + 1)
        records = [each.record for each in lines if border.passes(each.time, each.identity)]
        if following.time >= until:
            return RecordPage(records, None, window.until)
        return RecordPage(records, following.cursor(), following.time // 1000)

    def _at(self, time: int, digits: str, query: str) -> Iterator[_Line]:
        """Yield all lines of one nanosecond, divided by the digits with which their auditIDs begin. A line with two
        auditIDs may come twice."""
        lines, full = self._lines(time, time + 1, query)
        if not full:
            yield from lines
            return
        if len(digits) == _DEEPEST:
            raise StoreRefused(_CROWDED.format(time))
        for each in _DIGITS:
            yield from self._at(time, digits + each, f"{self._query} |~ `{_begins(digits + each)}`")
        among = f" |~ `{_begins(digits)}`" if digits else ""
        others, full = self._lines(time, time + 1, f"{self._query}{among} !~ `{_begins(digits)}[0-9a-f]`")
        if full:
            raise StoreRefused(_CROWDED.format(time))
        yield from others

    def _lines(self, start: int, end: int, query: str) -> tuple[list[_Line], bool]:
        """Return the first lines from a time on, in order of time, and whether there may be more."""
        while True:
            limit = self._limit
            try:
                answer = self._get(
                    "query_range", query=query, start=str(start), end=str(end), limit=str(limit), direction="forward"
                )
                break
            except _LimitedTo as error:
                self._limit = max(1, min(error.limit, limit - 1))
        found = []
        try:
            for stream in answer["result"]:
                labels = stream["stream"]
                prefix = orjson.dumps(labels, option=orjson.OPT_SORT_KEYS)
                for value in stream["values"]:
                    time, line = int(value[0]), value[1]
                    identity = hashlib.blake2b(prefix + b"\0" + line.encode(), digest_size=16).hexdigest()
                    record = orjson.dumps({"labels": labels, "line": line, "timestamp": str(time)})
                    found.append(_Line(time, identity, record))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise StoreRefused(
                "The answer is not Loki's answer to a query for lines. The query has to select lines."
            ) from None
        return sorted(found), len(found) >= limit

    def _get(self, path: str, **parameters: str) -> Any:
        try:
            answer = self._client.get(f"/loki/api/v1/{path}", params=parameters)
        except httpx.TransportError as error:
            raise Transient(f"Loki cannot be reached: {first_line(error)}.") from None
        if answer.status_code in _LATER:
            after = retry_after(answer.headers.get("Retry-After"))
            raise Transient(f"Loki answers {answer.status_code}: {_words(answer)}.", after)
        if allowed := _ALLOWED.search(answer.text[:2_000]):
            raise _LimitedTo(int(allowed[2]))
        if answer.status_code != 200:
            raise StoreRefused(f"Loki answers {answer.status_code}: {_words(answer)}.")
        try:
            document = orjson.loads(answer.content)
            return document.get("data", document)
        except (ValueError, AttributeError):
            raise StoreRefused(
                "The answer is not JSON. The address has to be that of Loki, without /loki/api."
            ) from None


class _LimitedTo(Exception):
    """One answer of this Loki may have no more than so many lines."""

    def __init__(self, limit: int) -> None:
        self.limit = limit


def _words(answer: httpx.Response) -> str:
    return first_line(ValueError(answer.text[:300].strip() or answer.reason_phrase)).rstrip(".")


def _range(window: Window) -> dict[str, str]:
    return {"start": str(window.since * 1000), "end": str(window.until * 1000)}


def _selector(query: str) -> str:
    """Return the part of a query that selects streams, which is all that the index knows."""
    quoted = end = False
    for place, letter in enumerate(query):
        if letter == '"' and query[place - 1] != "\\":
            quoted = not quoted
        end = letter == "}" and not quoted
        if end:
            return query[: place + 1]
    return query


def _begins(digits: str) -> str:
    """Return a regular expression for lines whose auditID begins with these digits, however often it is quoted."""
    return rf'auditID[\\]*":\s*[\\]*"{digits}'


KIND = Kind(
    "loki",
    "Grafana Loki",
    "",
    (
        Field("url", "Address", "such as https://loki.example.org", required=True, url=True, variable="LOKI_ADDR"),
        Field(
            "query", "Query", 'LogQL that selects the audit log, such as {job="kube-apiserver-audit"}', required=True
        ),
        Field("tenant", "Tenant", "X-Scope-OrgID", variable="LOKI_ORG_ID"),
        Field("username", "User", variable="LOKI_USERNAME"),
        Field("password", "Password", secret=True, variable="LOKI_PASSWORD"),
        Field("token", "Bearer token", "instead of user and password", secret=True, variable="LOKI_BEARER_TOKEN"),
    ),
    _Loki,
)
