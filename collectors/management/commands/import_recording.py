import time
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from collectors import receiving, tasks
from collectors.formats import NotARecording
from timeline.models import Source, Upload


class Command(BaseCommand):
    help = "Import a recording through the worker, and wait until its timeline can be opened."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--name", help="what the recording is called; else the file's name")
        parser.add_argument("--once", action="store_true", help="leave a recording of this name as it is")

    def handle(self, *, file: Path, name: str | None, once: bool, **options: object) -> None:
        name = name or file.name
        known = Source.objects.filter(name=name, ready=True).first()
        if known and once:
            self.stdout.write(f"timeline: /sources/{known.pk}/")
            return
        try:
            receiving.check([(file, file.name)])
            upload = receiving.begin(name, [receiving.Announced(file.name, file.stat().st_size)])
        except (receiving.TooLarge, NotARecording, OSError) as error:
            raise CommandError(str(error)) from None
        try:
            with file.open("rb") as stream:
                receiving.keep(upload, stream)
        except (receiving.TooLarge, receiving.Ended, NotARecording, OSError) as error:
            receiving.fail(upload, str(error))
            raise CommandError(str(error)) from None
        tasks.queue(upload)
        while upload.state in {Upload.State.WAITING, Upload.State.IMPORTING}:
            time.sleep(0.2)
            upload.refresh_from_db()
        if upload.state != Upload.State.DONE:
            raise CommandError(upload.error or f"the import was {upload.state}")
        self.stderr.write(f"{upload.entries} entries of {name}, {upload.skipped} lines skipped")
        self.stdout.write(f"timeline: /sources/{upload.source_id}/")
