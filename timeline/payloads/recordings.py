"""Declare the payloads of recordings and their uploads. Times are microseconds since 1970, UTC."""

from typing import Literal

from typing_extensions import TypedDict  # Pydantic does not accept that of typing before Python 3.12

UploadState = Literal["receiving", "waiting", "importing", "adding", "done", "failed", "cancelled"]


class UploadPayload(TypedDict):
    id: int
    source: int | None
    cluster: int | None  # the cluster to which it is added; null for a recording of its own
    cluster_name: str
    owner: int | None  # the id of the user who sends it; null without accounts
    name: str
    state: UploadState
    seen: int  # when the browser or worker that handles it last reported
    files: int
    folder: bool  # whether the files were chosen as one folder
    bytes_total: int
    bytes_read: int  # the bytes that have arrived, and from the import on the bytes that were imported
    entries: int
    skipped: int
    skipped_examples: list[str]  # "audit.jsonl.zst line 17: not JSON (…)"
    incidents: int
    findings: int
    error: str
    url: str  # the address of the timeline; "" before there is one


class UploadFilePayload(TypedDict):
    name: str
    size: int  # bytes
    received: int  # how many bytes have arrived; the next piece begins there
    refused: str  # why the file is not imported; "" if it is


class ReceivingPayload(UploadPayload):
    """This is an upload with the state of each of its files."""

    parts: list[UploadFilePayload]


class UploadsPayload(TypedDict):
    uploads: list[UploadPayload]


class PiecePayload(TypedDict):
    received: int  # how many bytes of the file have arrived


class RecordingPayload(TypedDict):
    id: int
    name: str
    created: int
    entries: int
    skipped: int
    first: int | None  # the beginning of the time that it covers; null if it has no entries
    last: int | None  # the end of that time
    errors: int  # the number of rows in its list of findings, by severity
    warnings: int
    infos: int
    url: str  # the address of its timeline


class RecordingsPayload(TypedDict):
    sources: list[RecordingPayload]
    next: int | None  # the cursor of the next page; null on the last page
