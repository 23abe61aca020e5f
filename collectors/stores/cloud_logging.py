"""Pull the audit log of Google GKE from Cloud Logging by `entries.list`, with Google's authorised session.

A page has up to 1,000 entries in order of timestamp, entries of one timestamp in order of insertId, and may be empty
although more follow. A page token is valid for a day (https://cloud.google.com/logging/quotas), and no token outlives
the process (see `border.py`). A project may read 60 pages a minute; the service does not say how long to wait.
"""

import json
from collections.abc import Mapping
from typing import Any

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
from collectors.stores.service_accounts import service_account
from collectors.stores.times import instant, nanoseconds

_ENTRIES = 1_000
_SCOPE = "https://www.googleapis.com/auth/logging.read"
_LATER = {408, 429, 500, 502, 503, 504}


class _CloudLogging:
    def __init__(self, values: Mapping[str, str], session: Any) -> None:
        self._session = session
        self._address = f"{values['endpoint'].rstrip('/')}/v2/entries:list"
        self._parent = values["resource"] or f"projects/{values['project']}"
        parts = [
            'resource.type="k8s_cluster"',
            'logName:"cloudaudit.googleapis.com"',
            'protoPayload.serviceName="k8s.io"',
            f"resource.labels.cluster_name={_quoted(values['cluster'])}",
        ]
        if values["location"]:
            parts.append(f"resource.labels.location={_quoted(values['location'])}")
        if values["filter"]:
            parts.append(f"({values['filter']})")
        self._filter = " AND ".join(parts)
        self._continuation = Continuation[str]()

    def close(self) -> None:
        self._session.close()

    def cost(self, window: Window) -> Cost:
        return Cost(note="Reading is not charged, and Cloud Logging does not say how many bytes the window has.")

    def page(self, window: Window, cursor: Cursor | None) -> RecordPage:
        first, until = window.since * 1000, window.until * 1000
        border = Border.of(cursor, first)
        # With a token the whole request has to be the same, so the begin of this run of pages stays in the cursor.
        token = self._continuation.token(cursor)
        begin = cursor["begin"] if cursor and token else border.time
        times = f'timestamp>="{instant(begin)}" AND timestamp<"{instant(until)}"'
        asked = {
            "resourceNames": [self._parent],
            "filter": f"{self._filter} AND {times}",
            "orderBy": "timestamp asc",
            "pageSize": _ENTRIES,
            **({"pageToken": token} if token else {}),
        }
        answer = self._post(asked)
        entries = []
        try:
            for each in answer.get("entries", []):
                at = nanoseconds(each["timestamp"])
                entries.append((at, f"{each.get('logName', '')} {each['insertId']}", each))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise StoreRefused("The answer is not that of Cloud Logging to entries.list.") from None
        records = [
            orjson.dumps(each) for at, identity, each in entries if first <= at < until and border.passes(at, identity)
        ]
        following = answer.get("nextPageToken")
        if not following:
            return RecordPage(records, None, window.until)
        border = border.moved((at, identity) for at, identity, _ in entries)
        number = (cursor["page"] if cursor else 0) + 1
        after = {**border.cursor(), "begin": begin, "page": number}
        self._continuation.keep(after, following)
        return RecordPage(records, after, border.time // 1000)

    def _post(self, asked: dict[str, Any]) -> Any:
        import requests
        from google.auth.exceptions import GoogleAuthError, TransportError

        try:
            answer = self._session.post(self._address, json=asked, timeout=(15, 120), allow_redirects=False)
        except (requests.ConnectionError, requests.Timeout, TransportError) as error:
            raise Transient(f"Cloud Logging cannot be reached ({type(error).__name__}).") from None
        except GoogleAuthError as error:
            raise StoreRefused(f"Google refuses the credentials: {first_line(error)}") from None
        if answer.status_code in _LATER:
            after = retry_after(answer.headers.get("Retry-After"))
            raise Transient(f"Cloud Logging answers {answer.status_code}: {_words(answer)}", after)
        if answer.status_code != 200:
            raise StoreRefused(f"Cloud Logging answers {answer.status_code}: {_words(answer)}")
        try:
            return orjson.loads(answer.content)
        except ValueError:
            raise Transient("Cloud Logging's answer was cut off.") from None


def _words(answer: Any) -> str:
    try:
        words = orjson.loads(answer.content)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        words = answer.reason
    return first_line(ValueError(words))


def _quoted(text: str) -> str:
    return json.dumps(text)


def _open(values: Mapping[str, str]) -> Store:
    import google.auth
    from google.auth.transport.requests import AuthorizedSession
    from google.oauth2.service_account import Credentials

    try:
        if values["service_account"]:
            info = service_account(values["service_account"], f"{values['endpoint'].rstrip('/')}/token")
            of_account: Any = Credentials
            credentials = of_account.from_service_account_info(info, scopes=[_SCOPE])
        else:
            credentials, _ = google.auth.default(scopes=[_SCOPE])
    except (google.auth.exceptions.GoogleAuthError, ValueError, KeyError) as error:
        raise StoreRefused(f"The credentials for Google cannot be used: {type(error).__name__}.") from None
    session: Any = AuthorizedSession
    return _CloudLogging(values, session(credentials, max_refresh_attempts=1))


KIND = Kind(
    "cloud-logging",
    "Google Cloud Logging",
    "cloud-logging",
    (
        Field("project", "Project", required=True, variable="GOOGLE_CLOUD_PROJECT"),
        Field("cluster", "Cluster in GKE", default="{cluster}", required=True),
        Field("location", "Location", "such as europe-west1"),
        Field("resource", "Resource", "a log view or a folder instead of the project"),
        Field("filter", "Further filter", "in the Logging query language"),
        Field(
            "service_account", "Key of a service account", "as JSON; the worker's own identity without it", secret=True
        ),
        Field(
            "endpoint",
            "Endpoint",
            "only for another address of the API",
            default="https://logging.googleapis.com",
            required=True,
            url=True,
        ),
    ),
    _open,
)
