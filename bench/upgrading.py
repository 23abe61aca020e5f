"""Upgrade a running Causeline from an older version, with both versions at work for a while, and count what was lost.

    python -m bench.upgrading --old 0bdecc5

The old version, any commit of this repository, watches two replays of the sample. While they go on, the database is
migrated, processes of this version are added, and those of the old one are stopped. In the end, what is stored is
compared with what was played. It exits with 1 if anything is lost, doubled or judged otherwise.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from bench.figures import SAMPLE
from bench.soak import judged_as_at_once, nothing_missing, until

_ROOT = Path(__file__).resolve().parent.parent
_STEP, _PAUSE = 4, 0.25  # commits that each cluster makes at once, and seconds between
_STREAMS = 10  # that are watched of each cluster before it goes on; what is listed is not counted as a change
_CONNECT = """
import django, sys
django.setup()
from timeline.models import Cluster
for file in sys.argv[1:]:
    Cluster.objects.create(name=file.split("/")[-1], reference={"how": "path", "path": file, "context": ""})
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", required=True, help="the commit or tag of the old version")
    options = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "dashboard.settings"
    os.environ.setdefault("CAUSELINE_SECRET_KEY", "only for this bench of Causeline, which signs nothing")
    os.environ |= {"DATABASE_URL": "postgresql:///replaced-below", "REDIS_URL": "redis://replaced-below"}
    import django

    django.setup()
    with tempfile.TemporaryDirectory(prefix="causeline-upgrade-") as folder:
        code = Path(folder, "old")
        code.mkdir()
        packed = subprocess.run(["git", "archive", options.old], cwd=_ROOT, check=True, capture_output=True)
        subprocess.run(["tar", "-x", "-C", str(code)], input=packed.stdout, check=True)
        wrong = upgraded(Path(folder), code)
    print("\n".join(wrong) or "nothing was lost or doubled, and everything is judged as at once")
    sys.exit(bool(wrong))


def upgraded(folder: Path, code: Path) -> list[str]:
    """Upgrade from the code of the old version; return what is wrong in the end."""
    from django.db import connection

    from collectors.replay import serve
    from collectors.replay.serving import kubeconfig
    from tests.rows.followed import doubled, expected, taped, watched
    from tests.servers.available import WEB, WORKERS, proxied
    from timeline.models import Cluster, Source

    tape = taped(SAMPLE)
    wrong: list[str] = []
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s: {text}", flush=True)

    def must(happens: Any, seconds: float, what: str) -> None:
        if not until(happens, seconds):
            wrong.append(f"it did not happen within {seconds} s that {what}")
        say(what)

    with ExitStack() as stack:
        parts = stack.enter_context(proxied(folder))
        alone = {"DATABASE_URL": parts.postgres.url(parts.postgres.primary.port), "CAUSELINE_DATABASE_DIRECT_URL": ""}
        parts.manage("migrate", "--verbosity", "0", "--skip-checks", code=code, **alone)
        parts.start(WEB[0], WORKERS[0], "beat", code=code, **alone)
        options: dict[str, Any] = {"speed": 100_000, "paused": True, "bookmark_seconds": 1}
        replays = [stack.enter_context(serve(tape, **options)) for _ in range(2)]
        files = [folder / f"cluster-{number}.json" for number in range(len(replays))]
        for file, replay in zip(files, replays, strict=True):
            file.write_text(json.dumps(kubeconfig(replay.url)))
        environment = {**os.environ, **alone}
        subprocess.run([sys.executable, "-c", _CONNECT, *map(str, files)], cwd=code, env=environment, check=True)

        stopped = threading.Event()

        def play() -> None:
            for _ in range(0, len(tape.commits), _STEP):
                for replay in replays:
                    replay.control(step=_STEP)
                stopped.wait(_PAUSE)

        def watched_at_least() -> int:
            """Return how many streams of the cluster with the fewest are watched. The tables are still the old ones."""
            with connection.cursor() as cursor:
                cursor.execute(
                    "SELECT count(*) FROM timeline_cluster LEFT JOIN timeline_stream"
                    " ON timeline_stream.source_id = timeline_cluster.source_id AND timeline_stream.state = 'watching'"
                    " GROUP BY timeline_cluster.id ORDER BY 1 LIMIT 1"
                )
                row = cursor.fetchone()
            return int(row[0]) if row else 0

        def names() -> list[str]:
            return sorted({holder.partition("@")[0] for holder in Cluster.objects.values_list("holder", flat=True)})

        must(lambda: watched_at_least() >= _STREAMS, 60, "the old version watches both clusters")
        player = threading.Thread(target=play, daemon=True)
        player.start()
        time.sleep(2)
        parts.manage("migrate", "--verbosity", "0", "--skip-checks")
        say("the database is migrated")
        sequences = dict(Source.objects.values_list("pk", "sequence"))
        must(
            lambda: all(now > sequences.get(pk, 0) for pk, now in Source.objects.values_list("pk", "sequence")),
            15,
            "the old version goes on with the new database",
        )
        parts.start(WEB[1], WORKERS[2])
        must(lambda: WORKERS[2] in names() and len(names()) == 2, 30, "workers of both versions watch")
        for name in (WORKERS[0], WEB[0]):
            parts.processes[name].terminate()
            parts.processes.pop(name).wait(30)
        parts.start(WORKERS[0], WEB[0])
        must(lambda: names() == sorted([WORKERS[0], WORKERS[2]]), 30, "only workers of the new version watch")
        stopped.set()
        player.join()
        kinds = {commit.uid: commit.resource.kind for commit in tape.commits}
        for cluster in Cluster.objects.select_related("source"):
            source = cluster.source
            assert source
            whole = partial(nothing_missing, source, expected(tape, watched(cluster)), kinds)
            must(whole, 60, f"{cluster.name}: nothing is lost")
            if twice := doubled(source):
                wrong.append(f"{cluster.name}: stored twice: {twice[:5]}")
            must(partial(judged_as_at_once, source), 60, f"{cluster.name}: it is judged as at once")
        must(parts.answers, 30, "pages are served")
    return wrong


if __name__ == "__main__":
    main()
