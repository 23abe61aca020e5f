"""Pull the audit log of connected clusters from their log stores: windows that people ask for, and those that follow
each other while a cluster is watched.

Each step is a function that can be repeated after a kill. What is pulled waits in a file beside its cursor, in the
folder `pulls` of the data directory, until it has become an upload. Which hosts may be connected to is decided by the
caller, which passes `check`.
"""

import logging
import os
import shutil
import threading
from collections.abc import Callable, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
from django.conf import settings
from django.db import IntegrityError, connections, transaction
from django.db.models import F
from django.utils import timezone

from collectors.formats import NotARecording
from collectors.hosts import origin
from collectors.stores import all_kinds as all_kinds  # the server has `collectors.stores` from here alone
from collectors.stores.kinds import Kind as Kind
from collectors.stores.kinds import Store, Window, configured, open_store
from collectors.stores.kinds import StoreRefused as StoreRefused
from collectors.stores.kinds import Transient as Transient
from collectors.stores.patience import Stopped
from collectors.stores.pulling import Busy, Progress, fingerprint, pull, unfinished
from collectors.uploads import importing, receiving
from collectors.watch.server import credentials
from timeline.core.entries import microseconds, moment
from timeline.models import Cluster, Gap, LogStore, Pull, Upload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from django.db.models import QuerySet

logger = logging.getLogger(__name__)
Check = Callable[[str], None]  # raises Refused or Transient for an address that must not be connected to
Queue = Callable[[Upload], None]
State = Pull.State
OPEN = [State.ASKING, State.READY, State.WAITING, State.PULLING, State.HANDING]
LONGEST = timedelta(days=31)  # of a window
ATTEMPTS = 20  # times that one pull is taken up, if workers die
UNCONFIRMED = timedelta(hours=1)  # after which a window that nobody confirmed is cancelled
FORGOTTEN = timedelta(days=7)  # age after which the row of an ended pull is deleted
_BEAT = 2.0  # seconds between two signs of life
_FILE = "audit.jsonl"
_GAP = ("audit.k8s.io", "Event")  # the group and kind of a gap in the audit log


def configure(
    cluster: Cluster, kind_name: str, given: Mapping[str, str], check: Callable[[str], None], *, continuous: bool
) -> LogStore:
    """Store how the log store of a cluster is reached. A secret that is left empty stays as it is, if the kind does
    and the scheme, host and port of each address do.

    Raise Refused, Transient from `check`, or credentials.Unusable if there is no key that encrypts.
    """
    kind = all_kinds().get(kind_name)
    if kind is None:
        raise StoreRefused("Choose the kind of the log store.")
    before = LogStore.objects.filter(cluster=cluster, kind=kind.name).first()
    values = configured(kind, given, cluster.name, {})
    _check_addresses(kind, values, check)
    secrets = _secrets(before) if before else {}
    names = {each.name for each in kind.fields if each.secret}
    if before:
        _refuse_secrets_elsewhere(kind, before, values, [name for name in secrets if not values.get(name)])
    secrets |= {name: values[name] for name in names if values[name]}
    sealed = credentials.seal(orjson.dumps(secrets)) if secrets else None
    plain = {name: value.strip() for name, value in given.items() if name not in names and value.strip()}
    with transaction.atomic():
        store, _ = LogStore.objects.update_or_create(
            cluster=cluster, defaults={"kind": kind.name, "fields": plain, "secret": sealed, "continuous": continuous}
        )
        if not continuous:
            store.reached = None
        elif store.reached is None:
            store.reached = timezone.now()
        store.error, store.error_at = "", None
        store.save(update_fields=["reached", "error", "error_at"])
    return store


def _refuse_secrets_elsewhere(kind: Kind, before: LogStore, values: Mapping[str, str], kept: list[str]) -> None:
    """Raise Refused if secrets that are kept would be sent to another address than the one they were entered for."""
    try:
        entered = configured(kind, before.fields, before.cluster.name, {})
        moved = [
            each.label for each in kind.fields if each.url and origin(entered[each.name]) != origin(values[each.name])
        ]
    except StoreRefused:  # an earlier version took it
        moved = ["Address"]
    if moved and kept:
        labels = ", ".join(each.label for each in kind.fields if each.name in kept)
        raise StoreRefused(f"{moved[0]} leads to another host, port or scheme than before. Fill in again: {labels}.")


def ask(store: LogStore, since: datetime, until: datetime, owner: int | None, *, alone: bool = False) -> Pull:
    """Ask for a window; its cost is found out first. Raise Refused."""
    if since >= until:
        raise StoreRefused("The window ends before it begins.")
    if until > timezone.now():
        raise StoreRefused("The window ends in the future.")
    if until - since > LONGEST:
        raise StoreRefused(f"The window is longer than {LONGEST.days} days.")
    try:
        with transaction.atomic():
            return Pull.objects.create(store=store, since=since, until=until, owner_id=owner, alone=alone)
    except IntegrityError:
        raise StoreRefused("Another window of this cluster is being pulled. Wait for it, or cancel it.") from None


def estimate(pull_id: int, check: Check) -> None:
    """Find out what a window costs, and let a person confirm it."""
    asked = Pull.objects.select_related("store__cluster").filter(pk=pull_id, state=State.ASKING).first()
    if asked is None:
        return
    try:
        with _opened(asked.store, check) as store:
            cost = store.cost(_window(asked))
    except (StoreRefused, Transient, credentials.Unusable) as error:
        _end(asked, State.FAILED, from_states=[State.ASKING], error=str(error))
        return
    Pull.objects.filter(pk=pull_id, state=State.ASKING).update(
        state=State.READY,
        seen=timezone.now(),
        cost_bytes=cost.scanned,
        cost_records=cost.records,
        cost_note=cost.note,
    )


def confirm(asked: Pull) -> bool:
    """Let a worker pull a window whose cost was shown; return False if it is not waiting for that."""
    return bool(Pull.objects.filter(pk=asked.pk, state=State.READY).update(state=State.WAITING, seen=timezone.now()))


def cancel(asked: Pull) -> None:
    """Stop a pull. Its worker notices within seconds, and nothing of the pull is kept."""
    if _end(asked, State.CANCELLED, from_states=OPEN) and asked.upload:
        importing.cancel(asked.upload)


def run(pull_id: int, check: Check, queue: Queue) -> None:
    """Pull a window that waits, or hand over what is complete. The row says how it ended."""
    waiting = Pull.objects.filter(pk=pull_id, state=State.WAITING)
    if waiting.update(state=State.PULLING, attempt=F("attempt") + 1, seen=timezone.now(), note=""):
        claimed = Pull.objects.select_related("store__cluster").get(pk=pull_id)
        if not _pulled(claimed, check):
            return
        mine = Pull.objects.filter(pk=claimed.pk, attempt=claimed.attempt, state=State.PULLING)
        mine.update(state=State.HANDING, seen=timezone.now())
    handing = Pull.objects.select_related("store__cluster", "upload").filter(pk=pull_id, state=State.HANDING).first()
    if handing:
        _hand_over(handing, queue)


def _pulled(claimed: Pull, check: Check) -> bool:
    """Pull a claimed window into its file, or continue; return whether it is complete."""
    stop, path = threading.Event(), _path(claimed)

    def report(progress: Progress) -> None:
        _mine(claimed).update(
            records=progress.records,
            bytes=progress.bytes,
            skipped=progress.skipped,
            reached=moment(progress.reached) if progress.reached else None,
            note=progress.waiting,
        )

    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alive(claimed, stop), _opened(claimed.store, check) as store:
            mark = fingerprint(all_kinds()[claimed.store.kind], claimed.store.fields)
            progress = unfinished(path) or Progress(claimed.store.kind, _window(claimed), mark)
            if progress.configuration != mark:
                raise StoreRefused("The log store was changed while it was pulled. Ask for the window again.")
            report(pull(store, path, progress, stop, report, settings.UPLOAD_LIMIT_BYTES) or progress)
    except Stopped:  # it was cancelled, or another worker has it
        if not Pull.objects.filter(pk=claimed.pk, state__in=OPEN).exists():
            shutil.rmtree(path.parent, ignore_errors=True)  # the folder may have been made after the cancellation
        return False
    except Busy:
        Pull.objects.filter(pk=claimed.pk, attempt=claimed.attempt, state=State.PULLING).update(state=State.WAITING)
        return False
    except (StoreRefused, Transient, credentials.Unusable, OSError) as error:
        _end(claimed, State.FAILED, from_states=[State.PULLING], attempt=claimed.attempt, error=str(error))
        return False
    return True


def _hand_over(complete: Pull, queue: Queue) -> None:
    """Make an upload of the file of a complete pull, and end the pull."""
    cluster, path = complete.store.cluster, _path(complete)
    if complete.records:
        try:
            upload = complete.upload or _begin(complete, path)
            if upload.state == Upload.State.RECEIVING:
                with suppress(FileNotFoundError):  # it was moved before a kill
                    path.replace(receiving.path_of(upload))
                receiving.complete(upload)
                queue(upload)
        except (NotARecording, receiving.TooLarge, receiving.Incomplete, receiving.Ended, OSError) as error:
            _end(complete, State.FAILED, from_states=[State.HANDING], error=str(error))
            return
    with transaction.atomic():
        if _end(complete, State.DONE, from_states=[State.HANDING]) and complete.continuous:
            LogStore.objects.filter(pk=complete.store_id).update(reached=complete.until, error="", error_at=None)
    logger.info("pulled %s records of the audit log of %s", complete.records, cluster)


def _begin(complete: Pull, path: Path) -> Upload:
    cluster = complete.store.cluster
    name = f"{cluster.name} {complete.since:%Y-%m-%d %H:%M}"
    with transaction.atomic():
        announced = [receiving.Announced(_FILE, path.stat().st_size)]
        into = None if complete.alone else cluster
        upload = receiving.begin(name, announced, complete.owner_id, into)
        Pull.objects.filter(pk=complete.pk).update(upload=upload)
    return upload


def take_up(queue: Callable[[int], None], queue_estimate: Callable[[int], None]) -> None:
    """Queue pulls again that no worker has, cancel what nobody confirmed, and remove what ended ones have left."""
    for each in Pull.objects.filter(state=State.READY, seen__lt=timezone.now() - UNCONFIRMED):
        _end(each, State.CANCELLED, from_states=[State.READY], error="Nobody confirmed it within an hour.")
    silent = Pull.objects.filter(seen__lt=timezone.now() - settings.IMPORT_SILENCE)
    for each in silent.filter(state=State.PULLING, attempt__gte=ATTEMPTS):
        _end(each, State.FAILED, from_states=[State.PULLING], error=f"It was cut off {each.attempt} times.")
    silent.filter(state=State.PULLING).update(state=State.WAITING)
    for each in silent.filter(state__in=[State.WAITING, State.HANDING]):
        Pull.objects.filter(pk=each.pk).update(seen=timezone.now())
        queue(each.pk)
    for each in silent.filter(state=State.ASKING):
        Pull.objects.filter(pk=each.pk).update(seen=timezone.now())
        queue_estimate(each.pk)
    ended = Pull.objects.exclude(state__in=OPEN)
    ended.filter(created__lt=timezone.now() - FORGOTTEN).delete()
    _discard_leftovers()


def follow_on(queue: Callable[[int], None]) -> None:
    """Begin the next window of each log store that is pulled continuously, if it is time for it.

    Windows overlap, because records arrive late in a store. What is older than the worker of a live source remembers
    could not be added any more, so it is a gap.
    """
    now = timezone.now()
    stores = LogStore.objects.filter(continuous=True, cluster__paused=False, cluster__source__first__isnull=False)
    for store in stores.select_related("cluster__source"):
        _note_failures(store)
        first = store.cluster.source.first if store.cluster.source else None
        if store.reached is None or first is None or now - store.reached < settings.PULL_EVERY:
            continue
        floor = max(now - settings.LIVE_MEMORY, first)
        if store.reached < floor:
            _gap(store, store.reached, floor, store.error or "No worker has pulled it from the log store.")
            LogStore.objects.filter(pk=store.pk).update(reached=floor)
            store.reached = floor
        kind = all_kinds().get(store.kind)
        overlap = kind.overlap(store.fields, settings.PULL_OVERLAP) if kind else settings.PULL_OVERLAP
        since = max(store.reached - min(overlap, settings.LIVE_MEMORY), floor)
        with suppress(IntegrityError), transaction.atomic():  # the last one is still open
            begun = Pull.objects.create(store=store, since=since, until=now, continuous=True, state=State.WAITING)
            transaction.on_commit(lambda pk=begun.pk: queue(pk))  # type: ignore[misc]


def _note_failures(store: LogStore) -> None:
    """Show what the last continuous pulls of a store have missed: their uploads could not be added."""
    failed = store.pulls.filter(continuous=True, state=State.DONE, error="", upload__state=Upload.State.FAILED)
    for each in failed.select_related("upload"):
        why = each.upload.error if each.upload else ""
        _gap(store, each.since, each.until, why)
        Pull.objects.filter(pk=each.pk).update(error=why)
        LogStore.objects.filter(pk=store.pk).update(error=why, error_at=timezone.now())


def _gap(store: LogStore, since: datetime, until: datetime, why: str) -> None:
    """Store a gap in the audit log of the present source of a cluster."""
    group, kind = _GAP
    source = store.cluster.source
    if source is None or source.first is None or until <= source.first:
        return
    reason = f"The audit log was not pulled. {why}"
    row = Gap(source=source, group=group, kind=kind, since=max(since, source.first), until=until, reason=reason)
    Gap.objects.bulk_create([row], ignore_conflicts=True)


@contextmanager
def _opened(row: LogStore, check: Check) -> "Iterator[Store]":
    """Open a store with its secrets, and with the environment of this process for what is not configured."""
    kind = all_kinds().get(row.kind)
    if kind is None:
        raise StoreRefused(f"This version knows no log store {row.kind}.")
    values = configured(kind, {**row.fields, **_secrets(row)}, row.cluster.name, os.environ)
    _check_addresses(kind, values, check)
    store = open_store(kind, values)
    try:
        yield store
    finally:
        store.close()


def _secrets(row: LogStore) -> dict[str, str]:
    """Return the secret fields of a store. Raise credentials.Unusable."""
    if row.secret is None:
        return {}
    return {str(name): str(value) for name, value in orjson.loads(credentials.unseal(bytes(row.secret))).items()}


def _check_addresses(kind: Kind, values: Mapping[str, str], check: Check) -> None:
    for field in kind.fields:
        if field.url and values[field.name] and values[field.name] != field.default:
            check(values[field.name])


@contextmanager
def _alive(claimed: Pull, stop: threading.Event) -> "Iterator[None]":
    """Write signs of life to the row from a thread of its own; set `stop` if the row is not this attempt's any more."""
    over = threading.Event()

    def beat() -> None:
        try:
            while not over.wait(_BEAT):
                if not _mine(claimed).update(seen=timezone.now()):
                    stop.set()
                    return
        except Exception:
            logger.warning("pull %s: no sign of life could be written", claimed.pk, exc_info=True)
        finally:
            connections.close_all()  # those of this thread

    thread = threading.Thread(target=beat, name=f"pull {claimed.pk}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _mine(claimed: Pull) -> "QuerySet[Pull]":
    return Pull.objects.filter(pk=claimed.pk, attempt=claimed.attempt, state=State.PULLING)


def _end(row: Pull, state: State, *, from_states: list[State], attempt: int | None = None, error: str = "") -> bool:
    """Write how a pull ended, and remove its file; return False if it had ended, or belongs to another attempt."""
    rows = Pull.objects.filter(pk=row.pk, state__in=from_states)
    if attempt is not None:
        rows = rows.filter(attempt=attempt)
    if not rows.update(state=state, error=error, note="", seen=timezone.now()):
        return False
    if error and row.continuous:
        LogStore.objects.filter(pk=row.store_id).update(error=error, error_at=timezone.now())
    shutil.rmtree(_path(row).parent, ignore_errors=True)
    return True


def _path(row: Pull) -> Path:
    return settings.PULL_DIR / f"{row.pk}" / _FILE


def _window(row: Pull) -> Window:
    return Window(microseconds(row.since), microseconds(row.until))


def _discard_leftovers() -> None:
    """Remove the files in the folder of pulls that belong to no open pull."""
    if not settings.PULL_DIR.is_dir():
        return
    lying = {int(each.name): each for each in settings.PULL_DIR.iterdir() if each.name.isdecimal()}
    open_ones = Pull.objects.filter(pk__in=lying, state__in=OPEN)
    for number in lying.keys() - set(open_ones.values_list("pk", flat=True)):
        shutil.rmtree(lying[number], ignore_errors=True)
