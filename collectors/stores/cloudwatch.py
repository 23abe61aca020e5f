"""Pull the audit log of Amazon EKS from CloudWatch Logs by FilterLogEvents, with boto3.

A page has up to 1 MB or 10,000 events, and may be empty although more follow. Events are sorted by their timestamp in
whole milliseconds, then by the time of their ingestion. `startTime` and `endTime` both belong to the range
(https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_FilterLogEvents.html). A token that is not
valid any more may be answered with an empty page, so no token outlives the process (see `border.py`). Events are
ingested some seconds after their timestamp, and can be minutes late: those that come after the pull are not in it.
"""

from collections.abc import Mapping
from typing import Any

import orjson

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

EVENTS = 10_000  # of one page
_LATER = {"ThrottlingException", "ServiceUnavailableException", "LimitExceededException", "RequestLimitExceeded"}
_KEPT = ("timestamp", "message", "ingestionTime", "logStreamName", "eventId")


class _CloudWatch:
    def __init__(self, values: Mapping[str, str], client: Any) -> None:
        self._client = client
        self._group, self._prefix = values["log_group"], values["stream_prefix"]
        self._continuation = Continuation[str]()

    def close(self) -> None:
        self._client.close()

    def cost(self, window: Window) -> Cost:
        groups = self._call("describe_log_groups", logGroupNamePrefix=self._group, limit=50)["logGroups"]
        found = next((each for each in groups if each["logGroupName"] == self._group), None)
        if found is None:
            raise StoreRefused(
                f"There is no log group {self._group}. EKS creates it when its audit log is switched on."
            )
        note = "FilterLogEvents is not charged by bytes, and CloudWatch does not say how many of them the window has."
        if stored := found.get("storedBytes"):
            note = f"The whole log group has {stored:,} bytes. {note}"
        return Cost(note=note)

    def page(self, window: Window, cursor: Cursor | None) -> RecordPage:
        first, last = -(-window.since // 1000), -(-window.until // 1000) - 1  # milliseconds; both belong to the window
        border = Border.of(cursor, first)
        if border.time > last:
            return RecordPage([], None, window.until)
        asked = {"logGroupName": self._group, "startTime": border.time, "endTime": last, "limit": EVENTS}
        asked["interleaved"] = True  # always so since 2019; servers of tests and copies of the service ask for it
        if self._prefix:
            asked["logStreamNamePrefix"] = self._prefix
        if token := self._continuation.token(cursor):
            asked["nextToken"] = token
        answer = self._call("filter_log_events", **asked)
        events = [each for each in answer["events"] if first <= each["timestamp"] <= last]
        fresh = [each for each in events if border.passes(each["timestamp"], each["eventId"])]
        records = [orjson.dumps({name: each[name] for name in _KEPT if name in each}) for each in fresh]
        following = answer.get("nextToken")
        if not following:
            return RecordPage(records, None, window.until)
        border = border.moved((each["timestamp"], each["eventId"]) for each in events)
        # The number of the page makes the cursors of two pages differ, even if the page between them is empty.
        after = {**border.cursor(), "page": (cursor["page"] if cursor else 0) + 1}
        self._continuation.keep(after, following)
        return RecordPage(records, after, border.time * 1000)

    def _call(self, name: str, **asked: Any) -> Any:
        import botocore.exceptions as errors

        try:
            return getattr(self._client, name)(**asked)
        except errors.ClientError as error:
            described, answer = error.response.get("Error", {}), error.response.get("ResponseMetadata", {})
            code, status = described.get("Code", ""), answer.get("HTTPStatusCode", 0)
            words = f"CloudWatch Logs answers {code}: {first_line(ValueError(described.get('Message', '')))}"
            if code in _LATER or status == 429 or status >= 500:
                raise Transient(words) from None
            raise StoreRefused(words) from None
        except (errors.NoCredentialsError, errors.PartialCredentialsError) as error:
            raise StoreRefused(f"There are no credentials for AWS: {first_line(error)}") from None
        except errors.HTTPClientError as error:
            raise Transient(f"CloudWatch Logs cannot be reached ({type(error).__name__}).") from None
        except errors.BotoCoreError as error:
            raise StoreRefused(f"AWS cannot be asked: {first_line(error)}") from None


def _open(values: Mapping[str, str]) -> Store:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    # Repetitions are made by patience.py, which a stop interrupts.
    config = Config(connect_timeout=15, read_timeout=120, retries={"total_max_attempts": 1})
    try:
        client = boto3.session.Session(
            aws_access_key_id=values["access_key_id"] or None,
            aws_secret_access_key=values["secret_access_key"] or None,
            aws_session_token=values["session_token"] or None,
            region_name=values["region"] or None,
        ).client("logs", endpoint_url=values["endpoint"] or None, config=config)
    except (BotoCoreError, ValueError) as error:
        raise StoreRefused(f"AWS cannot be asked: {first_line(error)}") from None
    return _CloudWatch(values, client)


KIND = Kind(
    "cloudwatch",
    "Amazon CloudWatch Logs",
    "cloudwatch",
    (
        Field("region", "Region", "such as eu-central-1", variable="AWS_REGION"),
        Field("log_group", "Log group", default="/aws/eks/{cluster}/cluster", required=True),
        Field(
            "stream_prefix",
            "Prefix of the log streams",
            "- for all streams of the group",
            default="kube-apiserver-audit",
        ),
        Field("access_key_id", "Access key", "the worker's role or AWS_… variables without it"),
        Field("secret_access_key", "Secret access key", secret=True),
        Field("session_token", "Session token", secret=True),
        Field("endpoint", "Endpoint", "only for another address of the API", url=True),
    ),
    _open,
)
