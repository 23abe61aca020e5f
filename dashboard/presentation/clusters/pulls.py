"""Prepare windows of log stores for the page of a cluster's log store."""

from collections.abc import Sequence
from dataclasses import dataclass

from collectors.uploads import pulls
from dashboard.presentation import wording
from dashboard.presentation.wording import size
from timeline.models import LogStore, Pull, Upload

State = Pull.State
_WORDS = {
    State.ASKING: "asking what it costs",
    State.READY: "waits for you",
    State.WAITING: "waits for a worker",
    State.PULLING: "pulling",
    State.HANDING: "being handed to the import",
    State.DONE: "done",
    State.FAILED: "failed",
    State.CANCELLED: "cancelled",
}
_UPLOADS = {
    Upload.State.RECEIVING: "being handed to the import",
    Upload.State.WAITING: "pulled, waits for the import",
    Upload.State.IMPORTING: "pulled, being imported",
    Upload.State.ADDING: "pulled, being added",
    Upload.State.DONE: "done",
    Upload.State.FAILED: "failed",
    Upload.State.CANCELLED: "cancelled",
}


@dataclass(frozen=True)
class PullRow:
    id: int
    window: str  # "2026-11-21 07:00:00 to 08:00:00 UTC"
    word: str
    how: str  # who or what asked for it, and where it goes
    progress: str
    cost: str  # a sentence; "" if nobody has to decide
    note: str
    error: str
    url: str  # of the timeline that has it; "" before
    asks: bool  # whether somebody has to confirm it
    open: bool  # whether it can be cancelled


@dataclass(frozen=True)
class Filled:
    """One field of the form of a store."""

    name: str
    label: str
    help: str
    value: str
    required: bool
    secret: bool
    kept: bool  # whether a secret is stored
    choices: tuple[str, ...]


def row(pull: Pull) -> PullRow:
    upload = pull.upload
    done = pull.state == State.DONE and upload is not None
    word = _UPLOADS[Upload.State(upload.state)] if done and upload else _WORDS[State(pull.state)]
    source = upload.source_id if upload and upload.state == Upload.State.DONE else None
    parts = []
    if pull.records or pull.state in (State.PULLING, State.HANDING, State.DONE):
        parts = [wording.plural(f"{pull.records:,} record", pull.records), size(pull.bytes)]
        if pull.reached and pull.state == State.PULLING:
            parts.append(f"up to {pull.reached:%Y-%m-%d %H:%M:%S} UTC")
        if pull.skipped:
            parts.append(f"{pull.skipped:,} not read")
    by = "continuously" if pull.continuous else "as a recording of its own" if pull.alone else "for the timeline"
    return PullRow(
        id=pull.pk,
        window=f"{pull.since:%Y-%m-%d %H:%M:%S} to {pull.until:%Y-%m-%d %H:%M:%S} UTC",
        word=word,
        how=by,
        progress=" · ".join(parts),
        cost=_cost(pull) if pull.state == State.READY else "",
        note=pull.note,
        error=(upload.error if upload else "") or pull.error,
        url=f"/sources/{source}/" if source else "",
        asks=pull.state == State.READY,
        open=pull.state in pulls.OPEN,
    )


def _cost(pull: Pull) -> str:
    known = pull.cost_bytes is not None
    read = f"The store reads about {size(pull.cost_bytes or 0)}" if known else "How many bytes are read is not known"
    records = f", {pull.cost_records:,} records" if pull.cost_records is not None else ""
    return f"{read}{records}. {pull.cost_note}".strip()


def fields(kind: pulls.Kind, store: LogStore | None, given: dict[str, str], cluster: str) -> Sequence[Filled]:
    """Return the fields of a kind as the form shows them: as they were given, or as they are stored."""
    stored = store.fields if store and store.kind == kind.name else {}
    return [
        Filled(
            name=each.name,
            label=each.label,
            help=each.help,
            value="" if each.secret else given.get(each.name, stored.get(each.name, _default(each.default, cluster))),
            required=each.required,
            secret=each.secret,
            kept=bool(each.secret and store and store.secret and store.kind == kind.name),
            choices=each.choices,
        )
        for each in kind.fields
    ]


def _default(text: str, cluster: str) -> str:
    return text.replace("{cluster}", cluster)


def described(store: LogStore) -> str:
    """Return what a store is, in a few words."""
    kind = pulls.all_kinds().get(store.kind)
    where = store.fields.get("url") or store.fields.get("log_group") or store.fields.get("workspace") or ""
    where = where or store.fields.get("project", "")
    return f"{kind.label if kind else store.kind}{f', {where}' if where else ''}"
