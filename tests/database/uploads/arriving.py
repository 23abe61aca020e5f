"""This module lets uploads arrive and imports them, for the tests of this folder."""

import os
import subprocess
import sys
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection
from django.utils import timezone

from collectors import tasks
from collectors.uploads import importing, receiving
from tests.inputs.recordings import SAMPLE
from tests.patience import patient
from tests.rows import stored
from timeline.models import Finding, Source, Track, Upload

ENTRIES = 775  # in the sample


def received(content: bytes | None = None, name: str = "audit.jsonl.zst", **columns: object) -> Upload:
    """Return an upload whose file has arrived. Without content it is the sample."""
    content = SAMPLE.read_bytes() if content is None else content
    upload = receiving.begin(name, [receiving.Announced(name, len(content))])
    receiving.path_of(upload).write_bytes(content)
    Upload.objects.filter(pk=upload.pk).update(**{"state": "waiting", **columns})
    return upload


def taken_up(upload: Upload) -> Upload:
    claimed = importing.take_up(upload.pk)
    assert claimed
    return claimed


def run(upload: Upload) -> Upload:
    """Import an upload, and return it as it is then."""
    importing.run(taken_up(upload))
    upload.refresh_from_db()
    return upload


def imported(content: bytes | None = None, name: str = "audit.jsonl.zst") -> Upload:
    return run(received(content, name))


def swept(upload: Upload) -> str:
    """Let the task look for uploads that nobody works on, and return the state of one."""
    tasks.take_up_uploads()
    upload.refresh_from_db()
    return upload.state


def grow_old(upload: Upload) -> None:
    Upload.objects.filter(pk=upload.pk).update(seen=timezone.now() - 2 * settings.IMPORT_SILENCE)
    Source.objects.update(created=timezone.now() - 6 * settings.IMPORT_SILENCE)


def done_again(upload: Upload) -> Source:
    """Assert that an upload whose worker has ended is imported once it was silent for long, and return the source."""
    assert swept(upload) == "importing"  # the worker may only be slow
    assert receiving.path_of(upload).exists() and not upload.error
    grow_old(upload)
    assert swept(upload) == "waiting"
    tasks.import_upload(upload.pk)
    upload.refresh_from_db()
    assert (upload.state, upload.attempt, upload.entries) == ("done", 2, ENTRIES)
    assert upload.source
    return upload.source


def nothing_is_left(upload: Upload) -> bool:
    """Return whether there is no file of an upload, and no row and table of any source."""
    rows = Source.objects.exists() or Track.objects.exists() or Finding.objects.exists()
    return not (rows or stored.tables() or receiving.path_of(upload).exists())


def elsewhere(program: str, upload: Upload, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a program about an upload in another process, with the database of the tests."""
    url = urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    own = {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "dashboard.settings", **variables}
    command = [sys.executable, "-c", f"import sys, django\ndjango.setup()\n{program}", str(upload.pk)]
    return subprocess.run(
        command, env=os.environ | own, capture_output=True, text=True, timeout=patient(60), check=False
    )
