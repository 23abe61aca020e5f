"""Fill the demo, for `causeline demo`. It needs servers and workers that already run."""

import time
from collections.abc import Sequence
from pathlib import Path

from django.db import transaction

from collectors import tasks
from collectors.uploads import receiving
from collectors.watch.server import connections
from dashboard.access.trail import change_log
from dashboard.cli.servers.demo import CLUSTER
from dashboard.cli.terminal import give_up, say
from timeline.core.printable import plain
from timeline.models import Source, Upload
from timeline.storage import notify

_KEPT = connections.WatchOptions(keep_days=1, keep_bytes=100_000_000)  # limits its size if somebody leaves it running
_SECONDS = 60  # for the replay to start
_PAUSE_SECONDS = 0.1


def fill(*, recordings: Sequence[str], url: str, kubeconfig: str) -> None:
    """Import these recordings as uploads, which the home page shows, and connect the replay as a cluster.

    `url` is the address of the web process. The process ends with an error if a recording is not imported.
    """
    uploads = {each: _upload(each) for each in map(Path, recordings)}
    _connect(Path(kubeconfig))
    say(f"{url}/ shows the recording as a live cluster, {CLUSTER}, too: it is replayed")
    failed = False
    for each, upload in uploads.items():
        while upload and upload.state not in tasks.ENDED:
            time.sleep(_PAUSE_SECONDS)
            upload.refresh_from_db()
        if upload and upload.state != Upload.State.DONE:
            failed = True
            say(plain(f"{each.name} was not imported: {upload.error or upload.state}"))
        elif source := Source.objects.filter(name=_name(each), ready=True).last():
            say(f"{url}/sources/{source.pk}/ shows {source.name}: {source.entries} changes")
    if failed:
        give_up("not every recording was imported", 1)


def _name(recording: Path) -> str:
    return recording.name.partition(".")[0]


def _upload(recording: Path) -> Upload | None:
    """Let a worker import a recording, as if somebody had uploaded it; None if it was imported before."""
    name = _name(recording)
    if Source.objects.filter(name=name, ready=True).exists():
        return None
    if waiting := Upload.objects.filter(name=name).exclude(state__in=[*tasks.ENDED, Upload.State.RECEIVING]).first():
        return waiting  # an earlier demo was ended before it was imported
    row = receiving.begin(name, [receiving.Announced(recording.name, recording.stat().st_size)])
    with recording.open("rb") as file:
        receiving.keep(row, file)
    tasks.queue(row)
    change_log.note_command("import", upload=row.pk, name=name)
    notify.notify(upload=row.pk)
    return row


def _connect(kubeconfig: Path) -> None:
    """Connect the replay, once it has written its kubeconfig."""
    deadline = time.monotonic() + _SECONDS
    while not kubeconfig.exists():
        if time.monotonic() > deadline:
            give_up("The demo's replay does not start; see its log.", 1)
        time.sleep(_PAUSE_SECONDS)
    with transaction.atomic():
        way = connections.with_kubeconfig_path(kubeconfig, programs_for=CLUSTER)
        cluster = connections.connect(CLUSTER, way, _KEPT)
        change_log.note_command("connect", cluster=cluster.pk, name=cluster.name)
