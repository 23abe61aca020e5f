"""Celery tasks: finite work only."""

from datetime import timedelta

from celery import shared_task
from django.db.models import Q
from django.utils import timezone

from collectors import importing
from timeline.models import Upload

SILENT = timedelta(seconds=20)  # without a sign of life, an import's worker is taken to be gone


@shared_task
def import_upload(upload_id: int) -> None:
    if upload := importing.take_up(upload_id):
        importing.run(upload)


@shared_task
def take_up_uploads() -> None:
    """Queue uploads again that no worker has: it was killed, or the broker lost the message."""
    silent = Q(seen__lt=timezone.now() - SILENT)
    Upload.objects.filter(silent, state=Upload.State.IMPORTING).update(state=Upload.State.WAITING, source=None)
    for upload in Upload.objects.filter(silent, state=Upload.State.WAITING):
        Upload.objects.filter(pk=upload.pk).update(seen=timezone.now())
        import_upload.delay(upload.pk)
    for upload in Upload.objects.filter(silent, state=Upload.State.RECEIVING):
        Upload.objects.filter(pk=upload.pk, state=Upload.State.RECEIVING).update(
            state=Upload.State.FAILED, error="The connection broke before the whole file had arrived. Upload it again."
        )
        importing.path_of(upload).unlink(missing_ok=True)
    importing.discard_abandoned()
