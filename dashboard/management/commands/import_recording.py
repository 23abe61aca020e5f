"""This command does the work of `causeline import`, with servers that already run."""

import sys
import time
from pathlib import Path
from typing import NoReturn

from django.conf import settings
from django.core.management.base import CommandParser
from django.db import DatabaseError

from collectors.formats import NotARecording
from collectors.uploads.recordings import Count, import_into, title
from dashboard.access import change_log
from dashboard.cli.terminal import Progress, Terminal, plain, say
from dashboard.cli.text import show_skipped
from dashboard.management.base import BaseCommand
from dashboard.presentation import wording
from timeline.models import Cluster, Finding, Source
from timeline.payloads import documents
from timeline.storage import store


class Command(BaseCommand):
    help = "Import files, folders and archives as one recording, or add them to one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE")
        parser.add_argument("--name", default="")
        parser.add_argument("--once", action="store_true", help="leave a recording of this name as it is")

    def handle(self, *, files: list[str], name: str, once: bool, **options: object) -> None:
        source = Source.objects.filter(name=name, ready=True).order_by("pk").last() if name else None
        if source and Cluster.objects.filter(source=source).exists():
            _give_up(f"a cluster feeds {name}: disconnect that first, or import under another name", 2)
        if source is None or not once:
            source = self._import(files, name, source)
            change_log.note_command("import", source=source.pk, name=source.name)
        self.stdout.write(f"timeline: /sources/{source.pk}/")

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
