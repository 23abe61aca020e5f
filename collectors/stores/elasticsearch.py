"""Pull from Elasticsearch and OpenSearch, with their official clients.

Records come in order of time from a point in time (PIT), which later writes do not change; `search_after` continues
after the last one, with a tie-breaker for records of one time. A PIT expires some minutes after its last use, and with
it the tie-breaker loses its meaning, so a new PIT begins at the last time again (see `border.py`). Documents that are
indexed after the PIT was opened are not in it.
https://www.elastic.co/docs/reference/elasticsearch/rest-apis/paginate-search-results
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

import orjson

from collectors.hosts import retry_after
from collectors.stores.border import Border, Continuation
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

HITS = 1_000  # of one page; an index allows 10,000 unless configured
ALIVE = "5m"
_MILLISECOND = 1_000_000  # nanoseconds; the resolution of fields of the type date
_LATER = {408, 429, 500, 502, 503, 504}
_FLAVOURS = ("elasticsearch", "opensearch")


class _Expired(Exception):
    """The service does not know a PIT any more."""


class _Place(NamedTuple):
    pit: str
    after: list[Any]


class _Client(Protocol):
    """The calls that a pull makes. One class implements them for each of the two services."""

    ties: list[dict[str, str]]

    def open(self, index: str) -> str: ...

    def drop(self, pit: str) -> None: ...

    def search(self, body: dict[str, Any]) -> dict[str, Any]: ...

    def count(self, index: str, query: dict[str, Any]) -> int: ...

    def close(self) -> None: ...


class _Search:
    def __init__(self, values: Mapping[str, str], client: _Client) -> None:
        self._client, self._index, self._field = client, values["index"], values["time_field"]
        self._filter = values["query"]
        self._continuation = Continuation[_Place]()
        self._pit = ""

    def close(self) -> None:
        if self._pit:
            with suppress(Transient, StoreRefused, _Expired):  # it expires by itself
                self._client.drop(self._pit)
        self._client.close()

    def cost(self, window: Window) -> Cost:
        count = self._client.count(self._index, self._query(window.since * 1000, window.until * 1000))
        return Cost(
            records=count,
            note="At its borders it counts whole milliseconds, and it does not say how many bytes these are.",
        )

    def page(self, window: Window, cursor: Cursor | None) -> RecordPage:
        until = window.until * 1000
        border = Border.of(cursor, window.since * 1000)
        place = self._continuation.token(cursor)
        try:
            answer = self._search(border, until, place)
        except _Expired:
            self._pit, place = "", None
            try:
                answer = self._search(border, until, None)
            except _Expired:
                raise Transient("The point in time was lost.") from None
        hits = answer["hits"]["hits"]
        try:
            timed = [(int(each["sort"][0]), f"{each['_index']}/{each['_id']}", each) for each in hits]
        except (KeyError, TypeError, ValueError, IndexError):
            raise StoreRefused(f"The field {self._field} has no time in every record.") from None
        # The range of a new PIT begins at a whole millisecond, before the border.
        fresh = [each for at, identity, each in timed if border.time <= at < until and border.passes(at, identity)]
        records = [orjson.dumps({name: each[name] for name in ("_index", "_id", "_source")}) for each in fresh]
        if len(hits) < HITS:
            return RecordPage(records, None, window.until)
        border = border.moved((at, identity) for at, identity, _ in timed)
        after = {**border.cursor(), "page": (cursor["page"] if cursor else 0) + 1}
        self._continuation.keep(after, _Place(self._pit, hits[-1]["sort"]))
        return RecordPage(records, after, min(border.time // 1000, window.until))

    def _search(self, border: Border, until: int, place: _Place | None) -> dict[str, Any]:
        if place is None:
            self._pit = self._pit or self._client.open(self._index)
        body: dict[str, Any] = {
            "size": HITS,
            "query": self._query(border.time, until),
            "pit": {"id": place.pit if place else self._pit, "keep_alive": ALIVE},
            "sort": [{self._field: {"order": "asc", "numeric_type": "date_nanos"}}, *self._client.ties],
            "track_total_hits": False,
        }
        if place:
            body["search_after"] = place.after
        answer = self._client.search(body)
        shards = answer.get("_shards", {})
        if shards.get("failed") or answer.get("timed_out"):
            raise Transient(f"{shards.get('failed', 0)} of {shards.get('total', 0)} shards did not answer.")
        self._pit = answer.get("pit_id") or self._pit
        return answer

    def _query(self, first: int, until: int) -> dict[str, Any]:
        """Return a query that has all records from `first` until `until`, and perhaps more of the same milliseconds: a
        field of the type date cuts the borders of a range to milliseconds, too."""
        borders = {
            "gte": instant(first // _MILLISECOND * _MILLISECOND),
            "lt": instant(-(-until // _MILLISECOND) * _MILLISECOND),
            "format": "strict_date_optional_time_nanos",
        }
        filters: list[dict[str, Any]] = [{"range": {self._field: borders}}]
        if self._filter:
            filters.append({"query_string": {"query": self._filter}})
        return {"bool": {"filter": filters}}


class _Elasticsearch:
    ties = [{"_shard_doc": "asc"}]  # noqa: RUF012

    def __init__(self, values: Mapping[str, str]) -> None:
        import elasticsearch

        self._errors = elasticsearch
        user = (values["username"], values["password"]) if values["username"] else None
        try:
            self._client = elasticsearch.Elasticsearch(
                values["url"], api_key=values["api_key"] or None, basic_auth=user, request_timeout=120, max_retries=0
            )
        except (ValueError, TypeError) as error:
            raise StoreRefused(f"The address cannot be used: {first_line(error)}") from None

    def close(self) -> None:
        self._client.close()

    def open(self, index: str) -> str:
        return str(self._call("open_point_in_time", index=index, keep_alive=ALIVE)["id"])

    def drop(self, pit: str) -> None:
        self._call("close_point_in_time", id=pit)

    def search(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._call("search", **body)

    def count(self, index: str, query: dict[str, Any]) -> int:
        return int(self._call("count", index=index, query=query)["count"])

    def _call(self, name: str, **arguments: Any) -> dict[str, Any]:
        try:
            return dict(getattr(self._client, name)(**arguments).body)
        except self._errors.ApiError as error:
            _raise_for(error.meta.status, f"{error.body}", error.message, error.meta.headers.get("Retry-After"))
        except (self._errors.ConnectionError, self._errors.ConnectionTimeout) as error:
            raise Transient(f"Elasticsearch cannot be reached ({type(error).__name__}).") from None
        except self._errors.UnsupportedProductError:
            raise StoreRefused(
                "This is not Elasticsearch. If it is OpenSearch, choose the flavour opensearch."
            ) from None
        except self._errors.TransportError as error:
            raise Transient(f"Elasticsearch's answer cannot be read ({type(error).__name__}).") from None
        raise AssertionError


class _OpenSearch:
    ties = [{"_id": "asc"}, {"_index": "asc"}]  # noqa: RUF012 (older versions do not have _shard_doc)

    def __init__(self, values: Mapping[str, str]) -> None:
        import opensearchpy

        self._errors = opensearchpy.exceptions
        if values["api_key"]:
            raise StoreRefused("OpenSearch has no API keys: give a user and a password.")
        user = (values["username"], values["password"]) if values["username"] else None
        self._client = opensearchpy.OpenSearch(values["url"], http_auth=user, timeout=120, max_retries=0)

    def close(self) -> None:
        self._client.close()

    def open(self, index: str) -> str:
        return str(self._call("create_pit", index=index, params={"keep_alive": ALIVE})["pit_id"])

    def drop(self, pit: str) -> None:
        self._call("delete_pit", body={"pit_id": [pit]})

    def search(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._call("search", body=body)

    def count(self, index: str, query: dict[str, Any]) -> int:
        return int(self._call("count", index=index, body={"query": query})["count"])

    def _call(self, name: str, **arguments: Any) -> dict[str, Any]:
        try:
            return dict(getattr(self._client, name)(**arguments))
        except self._errors.ConnectionError as error:
            raise Transient(f"OpenSearch cannot be reached ({type(error).__name__}).") from None
        except self._errors.TransportError as error:
            _raise_for(int(error.status_code), f"{error.error} {error.info}", str(error.error), None)
        except self._errors.OpenSearchException as error:
            raise Transient(f"OpenSearch's answer cannot be read ({type(error).__name__}).") from None
        raise AssertionError


def _raise_for(status: int, body: str, words: str, after: str | None) -> None:
    if status == 404 and "search_context" in body:
        raise _Expired
    sentence = f"The service answers {status}: {first_line(ValueError(words))}."
    if status in _LATER:
        raise Transient(sentence, retry_after(after)) from None
    raise StoreRefused(sentence) from None


def _open(values: Mapping[str, str]) -> Store:
    client: _Client = _OpenSearch(values) if values["flavour"] == "opensearch" else _Elasticsearch(values)
    return _Search(values, client)


KIND = Kind(
    "elasticsearch",
    "Elasticsearch or OpenSearch",
    "elasticsearch",
    (
        Field(
            "url",
            "Address",
            "such as https://search.example.org:9200",
            required=True,
            url=True,
            variable="ELASTICSEARCH_URL",
        ),
        Field("flavour", "Flavour", default="elasticsearch", required=True, choices=_FLAVOURS),
        Field("index", "Index", "a data stream or a pattern, such as logs-kubernetes.audit_logs-*", required=True),
        Field("time_field", "Field of the time", default="@timestamp", required=True),
        Field("query", "Query", "in Lucene's syntax, such as orchestrator.cluster.name:prod"),
        Field("username", "User", variable="ELASTICSEARCH_USERNAME"),
        Field("password", "Password", secret=True, variable="ELASTICSEARCH_PASSWORD"),
        Field("api_key", "API key", "instead of user and password", secret=True, variable="ELASTICSEARCH_API_KEY"),
    ),
    _open,
)
