"""Import, export, delete and restore recordings."""

import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import orjson
from django.conf import settings
from django.db import DatabaseError, transaction

from collectors.formats import NotARecording
from collectors.uploads.additions import read_into
from collectors.uploads.recordings import Count, import_into, title
from collectors.watch.server import connections
from collectors.watch.server.connections import ClusterRefused
from dashboard.access.trail import change_log
from dashboard.cli.output import NotWritable, writable, write, writing_standard_output
from dashboard.cli.terminal import Progress, Terminal, confirmed, give_up, say
from dashboard.cli.text import show_skipped
from dashboard.presentation import deletions, wording
from dashboard.web.downloads import lines_of
from timeline.core.printable import plain
from timeline.history.packing import packed as packed_lines
from timeline.models import Cluster, Finding, Source, Upload
from timeline.payloads import documents
from timeline.queries.sources import deletions as deletions_queries
from timeline.storage import exports, store
from timeline.storage.keeping import deletion
from timeline.storage.keeping.holds import Held

REFUSALS = (ClusterRefused, Held, NotWritable)


def named(text: str) -> Source:
    """Return the source with this name or number, or give up. If several have the name, return the newest."""
    shown = Source.objects.filter(ready=True).order_by("pk")
    found = shown.filter(name=text).last() or (shown.filter(pk=int(text)).last() if text.isdecimal() else None)
    if found is None:
        names = ", ".join(sorted(set(shown.values_list("name", flat=True)[:20]))) or "none"
        give_up(f"There is no recording {text}. There are: {names}.")
    return found


def import_files(
    *, files: Sequence[str], name: str | None = None, cluster: str | None = None, or_name: str = ""
) -> None:
    """Import files, folders and archives as one recording, or add them to one, or to what is watched of a cluster.

    `or_name` is a recording if no such cluster is connected.
    """
    if cluster and or_name and not Cluster.objects.filter(name=cluster).exists():
        name, cluster = or_name, None
    if cluster:
        _add(files, name, cluster)
        return
    source = Source.objects.filter(name=name, ready=True).order_by("pk").last() if name else None
    if source and Cluster.objects.filter(source=source).exists():
        give_up(f"a cluster feeds {name}: add audit logs with --cluster, or import under another name")
    source = _import(files, name, source)
    change_log.note_command("import", source=source.pk, name=source.name)
    print(f"timeline: /sources/{source.pk}/")


def _add(files: Sequence[str], name: str | None, called: str) -> None:
    """Let the worker that watches a cluster add these audit logs to its source."""
    cluster = Cluster.objects.filter(name=called).first()
    if name:
        give_up("--name is for a recording of its own: leave it out, or leave --cluster out", 2)
    if cluster is None:
        give_up(f"no cluster named {called} is connected; causeline clusters lists them", 2)
    progress = Progress(sys.stderr)
    count = Count(report=progress)
    inputs = [(Path(file), file) for file in files]
    try:
        with transaction.atomic():
            adding = Upload.State.ADDING
            upload = Upload.objects.create(name=title(files[0])[:253], cluster=cluster, state=adding)
            upload.source = read_into(upload, inputs, settings.LIMITS, count)
            upload.skipped = count.skips.count
            upload.save(update_fields=["source", "skipped"])
    except (NotARecording, OSError) as error:
        progress.end()
        give_up(str(error), 2)
    progress.end()
    change_log.note_command("import", source=upload.source_id, cluster=cluster.pk, name=cluster.name)
    terminal = Terminal(sys.stderr)
    show_skipped(count.skips.kept, count.skips.count, terminal, "the home page tells them")
    terminal.wrapped(f"{plain(called)}: {count.kept} observations were read; the worker that watches it adds them.", "")
    print(f"timeline: /sources/{upload.source_id}/")


def _import(files: Sequence[str], name: str | None, known: Source | None) -> Source:
    progress = Progress(sys.stderr)
    count = Count(report=progress)
    began = time.monotonic()
    inputs = [(Path(file), file) for file in files]
    source = known or store.open_source((name or title(files[0]))[: store.NAME_LENGTH])
    try:
        new = import_into(source, inputs, settings.LIMITS, count)
    except BaseException as error:
        progress.end()
        if known is None:
            store.discard_source(source)
        if isinstance(error, NotARecording | OSError):
            give_up(str(error), 2)
        if isinstance(error, DatabaseError | store.Overtaken):
            give_up(f"the database could not take it: {error}", 1)
        if isinstance(error, KeyboardInterrupt):
            give_up("stopped; nothing was imported", 130)
        raise
    progress.end()
    terminal = Terminal(sys.stderr)
    show_skipped(count.skips.kept, count.skips.count, terminal, "the findings document tells them")
    for words in documents.mostly_skipped(count.skips.mostly_skipped()):
        terminal.wrapped(plain(f"{words}."), "")
    terminal.wrapped(wording.redacted(source.redacted), "")
    found = Finding.objects.filter(source=source).count()
    what = f"{new} changes" if known is None else f"{new} changes that were new"
    took = f"{time.monotonic() - began:.1f} s"
    totals = f"{source.entries} changes and {found} finding{'' if found == 1 else 's'} in all"
    terminal.wrapped(f"{plain(source.name)}: {what}, in {took}; {totals}; {count.skips.count} skipped.", "")
    return source


def export(*, source: str, format: str = "findings", output: str = "-", packed: bool = False) -> None:
    """Write a recording, or what was found in it, to a file or to standard output."""
    pieces: Iterable[bytes]
    if format == "findings":
        document = exports.document(named(source))
        pieces = [orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)]
    else:
        pieces = lines_of(named(source))
        pieces = packed_lines(pieces) if packed else pieces
    if output != "-":
        writable(Path(output), [])
        write(Path(output), pieces)
        return
    with writing_standard_output():
        for piece in pieces:
            sys.stdout.buffer.write(piece)


def delete(*, source: str, yes: bool = False) -> None:
    """Delete a recording."""
    found = named(source)
    if Cluster.objects.filter(source=found).exists():
        give_up(f"A cluster feeds {found.name}. `causeline disconnect NAME --delete` disconnects it first.")
    gone = ", ".join(deletions.gone(deletions_queries.contents([found.pk])))
    if not yes and not confirmed([f"Recording {found.pk}, {found.name}, will be deleted: {gone}."]):
        give_up(f"{found.name} is kept.")
    with transaction.atomic():
        deletion.delete_source(found.pk)
        change_log.note_command("delete", source=found.pk, name=found.name)
    say(plain(f"{found.name} is deleted. `causeline undo` restores it within a minute."))


def undo(*, name: str | None = None) -> None:
    """Restore the recording or the cluster that was deleted last, or the one with a name."""
    found = [each for each in deletions_queries.undoable() if name in (None, "", each.name)]
    if not found:
        give_up(f"{name} cannot be restored any more." if name else "Nothing was deleted in the last minute.")
    latest = found[0]
    restore = connections.undo if latest.sort == "cluster" else deletion.restore_source
    with transaction.atomic():
        if not restore(latest.id):
            give_up(f"{latest.name} cannot be restored any more.")
        change_log.note_command("undo", **{latest.sort: latest.id}, name=latest.name)
    say(plain(f"{latest.name} is {'connected again' if latest.sort == 'cluster' else 'restored'}."))
