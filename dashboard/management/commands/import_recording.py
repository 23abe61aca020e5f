"""Do the work of `causeline import`, with servers that already run."""

import sys
import time
from pathlib import Path
from typing import NoReturn

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import DatabaseError, transaction

from collectors.formats import NotARecording
from collectors.uploads.additions import read_into
from collectors.uploads.recordings import Count, import_into, title
from dashboard.access.trail import change_log
from dashboard.cli.terminal import Progress, Terminal, say
from dashboard.cli.text import show_skipped
from dashboard.management.base import BaseCommand
from dashboard.presentation import wording
from timeline.core.printable import plain
from timeline.models import Cluster, Finding, Source, Upload
from timeline.payloads import documents
from timeline.storage import store


class Command(BaseCommand):
    help = "Import files, folders and archives as one recording, or add them to one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE")
        parser.add_argument("--name", default="")
        parser.add_argument("--cluster", default="")
        parser.add_argument("--or-name", default="", help="a recording of this name if no such cluster is connected")
        parser.add_argument("--once", action="store_true", help="leave a recording of this name as it is")

    def handle(self, *, files: list[str], name: str, cluster: str, or_name: str, once: bool, **options: object) -> None:
        if cluster and or_name and not Cluster.objects.filter(name=cluster).exists():
            name, cluster = or_name, ""
        if cluster:
            self._add(files, name, cluster)
            return
        source = Source.objects.filter(name=name, ready=True).order_by("pk").last() if name else None
        if source and Cluster.objects.filter(source=source).exists():
            _give_up(f"a cluster feeds {name}: add audit logs with --cluster, or import under another name", 2)
        if source is None or not once:
            source = self._import(files, name, source)
            change_log.note_command("import", source=source.pk, name=source.name)
        self.stdout.write(f"timeline: /sources/{source.pk}/")

    def _add(self, files: list[str], name: str, called: str) -> None:
        """Let the worker that watches a cluster add these audit logs to its source."""
        cluster = Cluster.objects.filter(name=called).first()
        if name:
            _give_up("--name is for a recording of its own: leave it out, or leave --cluster out", 2)
        if cluster is None:
            _give_up(f"no cluster named {called} is connected; causeline clusters lists them", 2)
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
            _give_up(str(error), 2)
        progress.end()
        change_log.note_command("import", source=upload.source_id, cluster=cluster.pk, name=cluster.name)
        terminal = Terminal(sys.stderr)
        show_skipped(count.skips.kept, count.skips.count, terminal, "the home page tells them")
        terminal.wrapped(
            f"{plain(called)}: {count.kept} observations were read; the worker that watches it adds them.", ""
        )
        self.stdout.write(f"timeline: /sources/{upload.source_id}/")

    def _import(self, files: list[str], name: str, known: Source | None) -> Source:
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
                _give_up(str(error), 2)
            if isinstance(error, DatabaseError | store.Overtaken):
                _give_up(f"the database could not take it: {error}", 1)
            if isinstance(error, KeyboardInterrupt):
                _give_up("stopped; nothing was imported", 130)
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


def _give_up(words: str, status: int) -> NoReturn:
    say(plain(words.strip()))
    sys.exit(status)
