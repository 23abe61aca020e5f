"""This module declares the payloads of recordings and their uploads. Times are microseconds since 1970, UTC."""

from typing import Literal

from typing_extensions import TypedDict  # Pydantic takes none of typing before Python 3.12

UploadState = Literal["receiving", "waiting", "importing", "done", "failed", "cancelled"]


class UploadPayload(TypedDict):
    id: int
    source: int | None
    owner: int | None  # the number of who sends it; null where there are no accounts
    name: str
    state: UploadState
    seen: int  # last sign of life of who works on it, microseconds since 1970
    files: int
    folder: bool  # they were chosen as one
    bytes_total: int
    bytes_read: int  # that have arrived, and then that were imported
    entries: int
    skipped: int
    skipped_examples: list[str]  # "audit.jsonl.zst line 17: not JSON (…)"
    findings: int
    error: str
    url: str  # of the timeline, once there is one


class UploadFilePayload(TypedDict):
    name: str
    size: int  # bytes
    received: int  # of them; what comes next begins there
    refused: str  # why it is left out, else empty


class ReceivingPayload(UploadPayload):
    """An upload with what is still to come of it."""

    parts: list[UploadFilePayload]


class UploadsPayload(TypedDict):
    uploads: list[UploadPayload]


class PiecePayload(TypedDict):
    received: int  # bytes of the file


class RecordingPayload(TypedDict):
    id: int
    name: str
    created: int  # microseconds since 1970, as all times
    entries: int
    skipped: int
    first: int | None  # what it covers
    last: int | None
    errors: int  # findings, as its list groups them
    warnings: int
    infos: int
    url: str  # of its timeline


class RecordingsPayload(TypedDict):
    sources: list[RecordingPayload]
    next: int | None  # the cursor that continues; null at the end
