"""Define the Celery tasks of this package. Every task ends; clusters are watched without tasks."""

import logging
import time
from datetime import timedelta
from functools import partial

from celery import shared_task
from django.conf import settings
from django.db import OperationalError, transaction
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from collectors.uploads import importing, portions, receiving
from timeline import rejudging
from timeline.models import Cluster, Upload
from timeline.storage import alerts, notify
from timeline.storage.entries import additions, inbox, repacking
from timeline.storage.keeping import deletion, holds, retention, usage
from timeline.storage.keeping import periods as keeping

logger = logging.getLogger(__name__)
State = Upload.State
JUDGING = 20.0  # seconds after which `judge_again` ends, so that imports get their turn
FORGOTTEN = timedelta(days=7)  # age after which the row of an ended upload is deleted
ENDED = [State.DONE, State.FAILED, State.CANCELLED]


@shared_task
def import_upload(upload_id: int) -> None:
    """Import the upload with this number. Raise ValueError if the message holds no such number."""
    if type(upload_id) is not int or not 0 < upload_id < 2**63:
        raise ValueError("An import's message names no upload by its number.")
    if upload := importing.take_up(upload_id):
        importing.run(upload, lambda workers: _ask_for_help(upload_id, workers))


@shared_task
def help_import(upload_id: int) -> None:
    """Read portions of an upload that another worker imports. Raise ValueError if the message holds no such number."""
    if type(upload_id) is not int or not 0 < upload_id < 2**63:
        raise ValueError("A message that asks for help names no upload by its number.")
    portions.help_reading(upload_id)


def _ask_for_help(upload_id: int, workers: int) -> None:
    try:
        for _ in range(workers):
            help_import.delay(upload_id)
    except BrokerError as error:
        logger.warning("upload %s is read by one worker: the broker cannot be reached: %s", upload_id, error)


def queue(upload: Upload) -> None:
    """Queue an upload that has arrived completely, once that is committed. If the broker loses it, `take_up_uploads`
    queues it again."""
    arrived = Upload.objects.filter(pk=upload.pk, state=State.RECEIVING)
    waits = arrived.update(state=State.WAITING, seen=timezone.now())
    upload.refresh_from_db()
    if not waits:
        receiving.discard(upload)  # it was cancelled meanwhile
        return
    transaction.on_commit(partial(_send, upload))


def _send(upload: Upload) -> None:
    try:
        import_upload.delay(upload.pk)
    except BrokerError as error:
        logger.warning("upload %s has to wait: the broker cannot be reached: %s", upload.pk, error)


@shared_task
def take_up_uploads() -> None:
    """Queue uploads again that no worker has, since it was killed or the broker lost the message.

    Fail uploads that were tried too often or have stopped arriving, and remove leftovers.
    """
    silent = Upload.objects.filter(seen__lt=timezone.now() - settings.IMPORT_SILENCE)
    for upload in silent.filter(state=State.IMPORTING, attempt__gte=importing.ATTEMPTS):
        cut_off = f"Its import was cut off {upload.attempt} times. The worker may lack memory; its log says more."
        _give_up(upload, cut_off)
    silent.filter(state=State.IMPORTING).update(state=State.WAITING, source=None)
    for upload in silent.filter(state=State.WAITING):
        Upload.objects.filter(pk=upload.pk).update(seen=timezone.now())
        import_upload.delay(upload.pk)
    for upload in Upload.objects.filter(state=State.RECEIVING, seen__lt=timezone.now() - settings.UPLOAD_PATIENCE):
        hours = settings.UPLOAD_PATIENCE.total_seconds() / 3600
        _give_up(upload, f"Nothing more of it has arrived for {hours:g} hours. Upload it again.")
    additions.end_added(Upload.objects.all())
    inbox.tidy()
    Upload.objects.filter(state__in=ENDED, seen__lt=timezone.now() - FORGOTTEN).delete()
    importing.discard_abandoned()
    receiving.discard_leftovers()


@shared_task
def keep() -> None:
    """Delete what is older or larger than retention allows: recordings, and data of live sources, whose rest is packed.

    A cluster that another transaction locks, or that fails, waits for the next call; the others are not affected.
    """
    for source in keeping.expired(timezone.now()).only("name"):
        try:
            if deletion.delete_source(source.pk):
                logger.info("%s was deleted, because its days are over", source)
        except (OperationalError, holds.Held) as error:
            logger.warning("%s stays for now, although its days are over: %s", source, error)
    for cluster in Cluster.objects.order_by("pk"):
        try:
            dropped = retention.keep(cluster, timezone.now())
            for source in cluster.sources.all():
                repacking.repack(source)
        except OperationalError as error:
            logger.warning("what %s is not to keep stays for now, or is not packed yet: %s", cluster, error)
        except Exception:
            logger.exception("what %s is not to keep could not be dropped or packed", cluster)
        else:
            if any(any(each) for each in dropped):
                logger.info("%s: dropped %s", cluster, dropped)


@shared_task
def measure_usage() -> None:
    """Measure how many bytes the rows of each source take in the database, and store it."""
    usage.record(timezone.now())


@shared_task
def remove_deleted() -> None:
    """Remove sources and clusters for good that were deleted more than a minute ago."""
    if count := deletion.remove_deleted():
        logger.info("removed %s that somebody had deleted", count)


@shared_task
def forget_alerts() -> None:
    """Delete the alerts that are not to be kept."""
    if count := alerts.forget(timezone.now()):
        logger.info("deleted %s old alerts", count)


@shared_task
def judge_again() -> None:
    """Judge sources again that an older version of the rules has judged, one after another, for a limited time.

    Celery beat calls it again. It runs in the import workers, since it needs as much memory and time as an import.
    """
    until = time.monotonic() + JUDGING
    while rejudging.judge_next() and time.monotonic() < until:
        pass


def _give_up(upload: Upload, error: str) -> None:
    unchanged = Upload.objects.filter(pk=upload.pk, state=upload.state, attempt=upload.attempt)
    if unchanged.update(state=State.FAILED, error=error, source=None):
        receiving.discard(upload)
        notify.notify(upload=upload.pk)
