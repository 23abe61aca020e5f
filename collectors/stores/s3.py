"""Pull audit logs from objects in Amazon S3, Google Cloud Storage and Azure Blob Storage, with fsspec.

Objects have no index by the times of their records. Those that may have records of the window are chosen by the date
in their name, or by their last modification, with a margin for what was buffered before it was written. Each audit
event in them is then kept by its own `stageTimestamp` (of GKE, by the time at which Cloud Logging received it). An
event without a valid time is kept, so that its reader reports it. Each object is one page.
"""

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec

from collectors.formats import NotARecording, Skipped, audit_events
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
from collectors.stores.times import nanoseconds
from timeline.core.entries import moment

Result = TypeVar("Result")
OBJECTS = 100_000  # the most objects that are looked at
_SKEW = timedelta(minutes=5)  # by which clocks of writers and of the store may differ
_DATES = (
    re.compile(r"(?<!\d)y=(\d{4})/m=(\d\d)/d=(\d\d)(?:/h=(\d\d))?"),
    re.compile(r"year=(\d{4})/month=(\d\d)/day=(\d\d)(?:/hour=(\d\d))?"),
    re.compile(r"(?<!\d)(20\d\d)/(\d\d)/(\d\d)(?:/(\d\d)(?=[/:]))?"),
)
_ACCOUNT = re.compile(r"[a-z0-9]{3,24}")  # of Azure; it becomes a part of a host name
_SCHEMES = {"s3": "s3", "gs": "gs", "gcs": "gs", "abfs": "abfs", "abfss": "abfs", "az": "abfs"}


class _Times(msgspec.Struct, gc=False):
    stageTimestamp: str = ""
    requestReceivedTimestamp: str = ""


_times = msgspec.json.Decoder(_Times)


class _Object(NamedTuple):
    name: str
    size: int


class _Objects:
    def __init__(self, values: Mapping[str, str], files: Any) -> None:
        self._files = files
        self._path = values["url"].partition("://")[2]
        self._select = values["select"]
        try:
            self._margin = timedelta(minutes=float(values["margin_minutes"]))
        except (ValueError, OverflowError):
            raise StoreRefused("The margin has to be a number of minutes.") from None
        self._listed: tuple[Window, list[_Object]] | None = None

    def close(self) -> None:
        pass

    def cost(self, window: Window) -> Cost:
        objects = self._objects(window)
        note = f"{len(objects):,} objects may have records of the window, and all of them are read."
        return Cost(scanned=sum(each.size for each in objects), note=note)

    def page(self, window: Window, cursor: Cursor | None) -> RecordPage:
        left = [each for each in self._objects(window) if cursor is None or each.name > cursor["after"]]
        if not left:
            return RecordPage([], None, window.until)
        skipped: list[str] = []
        last = len(left) == 1
        return RecordPage(
            self._records(window, left[0].name, skipped),
            None if last else {"after": left[0].name},
            window.until if last else 0,
            left[0].size,
            skipped,
        )

    def _objects(self, window: Window) -> list[_Object]:
        """Return the objects that may have records of a window, by their names."""
        if self._listed is None or self._listed[0] != window:
            found: dict[str, _Object] = {}
            for prefix in self._prefixes(window):
                listed = self._find(prefix)
                if len(found) + len(listed) > OBJECTS:
                    raise StoreRefused(
                        f"There are more than {OBJECTS:,} objects. Write the date into the address, such as %Y/%m/%d/, "
                        "so that only those of the window are listed."
                    )
                for name, info in listed.items():
                    if info.get("size") and self._may_have(window, name, info):
                        found[name] = _Object(name, int(info["size"]))
            self._listed = window, sorted(found.values())
        return self._listed[1]

    def _find(self, prefix: str) -> dict[str, dict[str, Any]]:
        return _asked(lambda: dict(self._files.find(prefix, detail=True)), {})

    def _prefixes(self, window: Window) -> list[str]:
        """Return where to list: the path of the address, once for each hour if it has a date in it."""
        if "%" not in self._path:
            return [self._path]
        at = (moment(window.since) - self._margin).replace(minute=0, second=0, microsecond=0)
        until, found = moment(window.until) + self._margin, dict[str, None]()
        while at < until:
            found[at.strftime(self._path)] = None
            at += timedelta(hours=1)
        return list(found)

    def _may_have(self, window: Window, name: str, info: Mapping[str, Any]) -> bool:
        since, until = moment(window.since), moment(window.until)
        if self._select == "all":
            return True
        if self._select == "auto" and (span := _span(name)):
            return span[0] - self._margin < until and span[1] + self._margin > since
        changed = _modified(info)
        return changed is None or since - _SKEW <= changed <= until + self._margin

    def _records(self, window: Window, name: str, skipped: list[str]) -> Iterator[bytes]:
        """Yield the audit events of an object that belong to the window."""
        with tempfile.TemporaryDirectory(prefix="causeline-pull-") as folder:
            path = Path(folder) / "object"
            if not _asked(lambda: self._download(name, path), False):
                skipped.append(f"{name}: it is gone, and was there when the pull began.")
                return
            try:
                for each in audit_events([(path, name)]):
                    if isinstance(each, Skipped):
                        skipped.append(str(each))
                    elif _belongs(window, each.data):
                        yield each.data.replace(b"\n", b" ")
            except NotARecording as error:
                skipped.append(first_line(error))

    def _download(self, name: str, path: Path) -> bool:
        self._files.get_file(name, str(path))
        return True


def _belongs(window: Window, event: bytes) -> bool:
    try:
        times = _times.decode(event)
        time = nanoseconds(times.stageTimestamp or times.requestReceivedTimestamp) // 1000
    except (ValueError, RecursionError):
        return True
    return window.since <= time < window.until


def _span(name: str) -> tuple[datetime, datetime] | None:
    """Return the hour or the day that stands in the name of an object; None if there is none."""
    for pattern in _DATES:
        for found in reversed(list(pattern.finditer(name))):
            year, month, day, hour = (int(part) if part else None for part in found.groups())
            with suppress(ValueError, TypeError):
                begin = datetime(year or 0, month or 0, day or 0, hour or 0, tzinfo=UTC)
                return begin, begin + (timedelta(days=1) if hour is None else timedelta(hours=1))
    return None


def _modified(info: Mapping[str, Any]) -> datetime | None:
    """Return when an object was last modified, under the name that each file system has for it."""
    for key in ("LastModified", "last_modified", "mtime", "updated"):
        value = info.get(key)
        if isinstance(value, str):
            with suppress(ValueError):
                value = moment(nanoseconds(value) // 1000)
        if isinstance(value, datetime):
            return value if value.tzinfo else value.replace(tzinfo=UTC)
    return None


def _asked(ask: Callable[[], Result], absent: Result) -> Result:
    """Return what the store answers, or `absent` for what does not exist. Raise Transient and Refused."""
    try:
        return ask()
    except FileNotFoundError:
        return absent
    except PermissionError as error:
        raise StoreRefused(f"The store refuses access: {first_line(error)}") from None
    except (OSError, TimeoutError) as error:
        raise Transient(f"The store cannot be read now: {first_line(error)}") from None
    except Exception as error:  # each file system has exceptions of its own, and none of them is common to all
        raise StoreRefused(f"The store cannot be read ({type(error).__name__}): {first_line(error)}") from None


def _open(values: Mapping[str, str]) -> Store:
    scheme = _SCHEMES.get(urlsplit(values["url"]).scheme)
    if scheme is None:
        raise StoreRefused("The address has to begin with s3://, gs:// or abfs://.")
    try:
        import fsspec

        return _Objects(values, fsspec.filesystem(scheme, **_options(scheme, values)))
    except (ImportError, StoreRefused):
        raise
    except Exception as error:  # see _asked
        raise StoreRefused(f"The store cannot be opened ({type(error).__name__}): {first_line(error)}") from None


def _options(scheme: str, values: Mapping[str, str]) -> dict[str, Any]:
    fresh: dict[str, Any] = {"use_listings_cache": False, "skip_instance_cache": True}
    endpoint = {"endpoint_url": values["endpoint"]} if values["endpoint"] else {}
    if scheme == "s3":
        keys = (
            {"key": values["access_key_id"], "secret": values["secret_access_key"]} if values["access_key_id"] else {}
        )
        region = {"client_kwargs": {"region_name": values["region"]}} if values["region"] else {}
        return {**fresh, **keys, **region, **endpoint}
    if scheme == "gs":
        token = service_account(values["service_account"]) if values["service_account"] else "google_default"
        return {**fresh, **endpoint, "token": token, "access": "read_only"}
    if not values["account"]:
        raise StoreRefused("Azure Blob Storage needs the field account, the name of the storage account.")
    if not _ACCOUNT.fullmatch(values["account"]):
        raise StoreRefused("The name of a storage account has 3 to 24 lower-case letters and digits.")
    key = {"account_key": values["account_key"]} if values["account_key"] else {"anon": False}
    return {**fresh, **key, "account_name": values["account"]}


KIND = Kind(
    "s3",
    "Object storage",
    "object-storage",
    (
        Field("url", "Address", "s3://bucket/prefix/, gs:// or abfs://; it may have %Y/%m/%d/%H in it", required=True),
        Field(
            "select",
            "Choose objects by",
            "auto: the date in their name, or else their last modification",
            default="auto",
            required=True,
            choices=("auto", "modified", "all"),
        ),
        Field(
            "margin_minutes",
            "Margin in minutes",
            "for records that were buffered before they were written",
            default="60",
            required=True,
        ),
        Field("region", "Region", "of S3", variable="AWS_REGION"),
        Field("access_key_id", "Access key", "of S3; the worker's own identity without it"),
        Field("secret_access_key", "Secret access key", "of S3", secret=True),
        Field("service_account", "Key of a service account", "of Google Cloud Storage, as JSON", secret=True),
        Field("account", "Storage account", "of Azure"),
        Field("account_key", "Account key", "of Azure", secret=True),
        Field("endpoint", "Endpoint", "only for another address of the API, such as MinIO", url=True),
    ),
    _open,
    late="margin_minutes",
)
