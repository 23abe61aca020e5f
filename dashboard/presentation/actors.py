"""Write the texts of the rows on the page of actors. It makes no queries and no HTML."""

from typing import Any

from dashboard.presentation.wording import count, number_of
from timeline.payloads.actors import ActorRowPayload, ActorsPayload
from timeline.queries.filters import NOT_KNOWN, ActorFilter

COLUMNS: tuple[dict[str, str], ...] = (
    {"order": "name", "name": "Actor", "help": "A part of a process: the component and the Pod or address"},
    {"order": "writes", "name": "Writes", "help": "Changes that it made"},
    {"order": "busiest", "name": "Writes/s", "help": "In its busiest minute"},
    {"order": "conflicts", "name": "Conflicts", "help": "Updates and patches that were refused with 409"},
    {"order": "retries", "name": "Retries", "help": "Writes of an object within a minute after a refused one"},
    {"order": "refused", "name": "Other refusals", "help": "Writes that were refused for another reason"},
    {"order": "lag", "name": "Age of old copies", "help": "At least this old: the median and the oldest one"},
    {"order": "leases", "name": "Leases", "help": "Those that it holds at the end, and those that it held"},
    {"order": "findings", "name": "Findings", "help": "Findings in whose proof one of its writes stands"},
)


def summary(found: ActorsPayload) -> str:
    """Return how many actors are listed, as a sentence."""
    every = number_of(found["all"], "actor")
    kept = f"{count(found['total'])} of {every}" if found["total"] < found["all"] else every
    return f"{kept}; only those with most writes are kept" if found["more"] else kept


def row(each: ActorRowPayload, source_id: int) -> dict[str, Any]:
    """Return a row as the page shows it."""
    wanted = ActorFilter(actor=each["account"] or NOT_KNOWN)
    return {
        **each,
        "rate": _rate(each["busiest"]),
        "conflicts": each["stale"] + each["raced"] + each["unclear"],
        "why": _why(each),
        "lag": _lag(each),
        "copies_text": f"{count(each['old'])} of {count(each['copies'])} acts" if each["old"] else "",
        "timeline": f"/sources/{source_id}/{wanted.query()}",
        "incidents": f"/sources/{source_id}/incidents/{wanted.query(acknowledged=True)}",
        "held": [
            {"name": lease["name"], "namespace": lease["namespace"], "now": lease["now"]} for lease in each["leases"]
        ],
        "more_leases": each["leases_total"] - len(each["leases"]),
        "identity": f"Pod UID {each['process']}" if each["bound"] else each["process"].strip() or "not known",
    }


def _rate(busiest: int) -> str:
    """Return writes in a minute as writes a second."""
    rate = busiest / 60
    return f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}" if rate >= 0.1 else f"{rate:.2f}"


def _why(each: ActorRowPayload) -> str:
    """Return why the conflicts of an actor happened, as far as that is known."""
    parts = (("stale", each["stale"]), ("races", each["raced"]), ("not known", each["unclear"]))
    return " · ".join(f"{number} {word}" for word, number in parts if number)


def _lag(each: ActorRowPayload) -> str:
    if not each["copies"]:
        return "–"
    if not each["old"]:
        return "none old"
    return f"{each['median_lag_text']} · {each['worst_lag_text']}"
