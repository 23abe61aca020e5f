"""Show what sources take, run retention, and place and lift legal holds."""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from collectors import tasks
from collectors.watch.server import connections
from collectors.watch.server.connections import ClusterRefused
from dashboard.access.trail import change_log
from dashboard.cli.servers.retention import DEFAULT
from dashboard.cli.terminal import give_up, say
from dashboard.management.recordings import named
from dashboard.presentation.clusters import storage
from timeline.core.printable import plain
from timeline.models import Cluster
from timeline.queries.sources import usage as usage_queries
from timeline.storage.keeping import holds, retention, usage
from timeline.storage.keeping import periods as keeping


def show_usage() -> None:
    """Measure all sources, and print what each takes, the largest first."""
    usage.record(timezone.now())
    page = 1
    while rows := usage_queries.usage(page)[: usage_queries.PAGE]:
        for row in rows:
            print(plain(f"{row.source:>6}  {row.name}: {storage.taken(row)}"))
        page += 1


def run(*, dry_run: bool = False, within: int = 0) -> None:
    """Delete now what is not to be kept; or print what will be deleted within some days of what is stored now."""
    if dry_run:
        _foresee(within)
        return
    change_log.note_command("retention")  # first, because it deletes in many transactions
    tasks.keep()


def _foresee(days: int) -> None:
    at = timezone.now() + timedelta(days=days)
    for cluster in Cluster.objects.order_by("name"):
        for each in retention.foresee(cluster, at):
            words = "kept by a legal hold" if each.held else storage.freed(each)
            print(plain(f"{each.source:>6}  {cluster.name}: {words}"))
    for source in keeping.expired(at).defer("document", "skips", "histogram"):
        print(plain(f"{source.pk:>6}  {source.name}: the whole recording, {source.entries:,} entries"))


def keep(*, name: str, **texts: str | None) -> None:
    """Change how long a cluster or a recording is kept: what is given, and nothing else. The texts are numbers, or the
    word default for what the settings say."""
    given = {column: None if text == DEFAULT else int(text) for column, text in texts.items() if text is not None}
    if not given:
        give_up("Say what to change, such as --keep-days 30.")
    cluster = Cluster.objects.filter(name=name).first()
    try:
        if cluster:
            with transaction.atomic():
                connections.keep(cluster, given)
                change_log.note_command("keep", cluster=cluster.pk, name=name, **_noted(given))
        else:
            source = named(name)
            if given.keys() != {"keep_days"}:
                give_up("Of a recording, only --keep-days can be changed.")
            with transaction.atomic():
                keeping.change_days(source, given["keep_days"])
                change_log.note_command("keep", source=source.pk, name=name, **_noted(given))
    except (ClusterRefused, ValueError) as error:
        give_up(str(error))
    say(plain(f"How long {name} is kept is changed. `causeline retention --dry-run` shows what will be deleted."))


def _noted(given: dict[str, int | None]) -> dict[str, str]:
    return {name: DEFAULT if value is None else str(value) for name, value in given.items()}


def hold(*, name: str, reason: str) -> None:
    """Put a recording or a cluster under a legal hold, so that nothing of it is deleted."""
    kept = _kept(name)
    try:
        with transaction.atomic():
            placed = holds.place(reason, change_log.user_of_machine(), **kept)
            change_log.note_command("hold", **kept, name=name, reason=placed.reason)
    except ValueError as error:
        give_up(str(error))
    say(plain(f"{name} is under a legal hold. Nothing of it is deleted before `causeline unhold` lifts it."))


@transaction.atomic
def unhold(*, name: str) -> None:
    """Lift the legal hold of a recording or a cluster."""
    kept = _kept(name)
    lifted = holds.lift(**kept)
    if lifted is None:
        source = kept.get("source")
        other = holds.of_source(source) if source is not None else None
        give_up(f"{name} is kept by the hold of its cluster." if other else f"{name} is under no legal hold.")
    change_log.note_command("unhold", **kept, name=name, reason=lifted.reason)
    say(plain(f"The legal hold of {name} is lifted. It was: {lifted.reason}"))


def _kept(name: str) -> dict[str, int]:
    """Return the cluster with a name, or else the recording with a name or number, as arguments of `holds.place`."""
    cluster = Cluster.objects.filter(name=name).first()
    return {"cluster": cluster.pk} if cluster else {"source": named(name).pk}
