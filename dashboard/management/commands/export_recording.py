"""Do the work of `causeline export`, with servers that already run."""

import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
from django.core.management.base import CommandParser

from dashboard.cli.output import NotWritable, writable, write
from dashboard.cli.terminal import say
from dashboard.management.base import BaseCommand
from dashboard.management.sources import named
from dashboard.web.downloads import lines_of
from timeline.history.packing import packed
from timeline.models import Source
from timeline.storage import exports


class Command(BaseCommand):
    help = "Write a recording, or what was found in it, to a file or to standard output."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("source", metavar="SOURCE")
        parser.add_argument("--format", choices=["findings", "recording"], default="findings")
        parser.add_argument("--output", default="-")
        parser.add_argument("--packed", action="store_true", help="pack a recording with zstd")

    def handle(self, *, source: str, format: str, output: str, packed: bool, **options: object) -> None:
        pieces = _findings(named(source)) if format == "findings" else _recording(named(source), packed)
        try:
            if output != "-":
                writable(Path(output), [])
                write(Path(output), pieces)
                return
            for piece in pieces:
                sys.stdout.buffer.write(piece)
            sys.stdout.flush()
        except NotWritable as error:
            say(str(error))
            sys.exit(2)
        except BrokenPipeError:
            sys.stderr.close()  # the reader, such as `head`, has closed the pipe


def _findings(source: Source) -> Iterator[bytes]:
    yield orjson.dumps(exports.document(source), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _recording(source: Source, pack: bool) -> Iterator[bytes]:
    lines = lines_of(source)
    return packed(lines) if pack else lines
