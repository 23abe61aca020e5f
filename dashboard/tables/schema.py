"""Declare the tables that Causeline exports: each column with its type and its meaning. It does no I/O.

`NAME` changes when a column is removed, or means something else; a column that is added does not change it.
"""

from typing import Literal, NamedTuple

NAME = "causeline.tables/v1"

# text; whole: 64 bits, signed; time: µs, UTC; length: µs; truth; texts: a list; json: text that holds JSON
Type = Literal["text", "whole", "time", "length", "truth", "texts", "json"]
SQL: dict[Type, str] = {
    "text": "VARCHAR",
    "whole": "BIGINT",
    "time": "TIMESTAMP",
    "length": "INTERVAL",
    "truth": "BOOLEAN",
    "texts": "VARCHAR[]",
    "json": "VARCHAR",
}


class Column(NamedTuple):
    name: str
    type: Type
    meaning: str


_NAMES = (
    Column("api_group", "text", "the API group; empty for core"),
    Column("kind", "text", ""),
    Column("namespace", "text", "empty for cluster-scoped objects"),
    Column("name", "text", ""),
)
_REVISION = (
    Column("resource_version", "text", "the revision of the change; null if the observation does not show it"),
    Column("revision", "whole", "the same as a number; null where it needs more than 63 bits"),
    Column(
        "space",
        "text",
        "the counter of the revision: revisions of one space order changes; empty for the one that most kinds share",
    ),
)
_COMMITTED = (
    Column("time", "time", "where the timeline draws the change; in one space never earlier than a lower revision"),
    Column("earliest", "time", "the earliest time at which it can have been committed"),
    Column("latest", "time", "the latest such time; null if no clock bounds it"),
)
_WHO = (
    Column("writer", "text", "the account, or else the program; empty if nothing says who it was"),
    Column("actor", "text", "the account; empty if the observation does not show it"),
    Column("user_agent", "text", ""),
)
_WHERE = (
    Column("audit_id", "text", "the id of the line of the audit log"),
    Column("file", "text", "where it was read"),
    Column("line", "whole", "the line in that file, from 1"),
)
_STANDING = (  # of an incident, and of a symptom
    Column("severity", "text", "that of its gravest finding"),
    Column("status", "text", "`confirmed` if one of its findings is"),
    Column("state", "text", "`ongoing` if an occurrence had not ended when the recording did, else `over`"),
    *_NAMES,
)
_COURSE = (  # of an incident, and of a symptom
    Column("findings", "whole", ""),
    Column("occurrences", "whole", "what happened to several objects alike counts once"),
    Column("first_time", "time", ""),
    Column("last_time", "time", ""),
    Column("effect", "text", "`none`, `possible` or `observed` harm"),
    Column("effect_text", "text", "of the gravest finding"),
)

TABLES: dict[str, tuple[str, tuple[Column, ...]]] = {
    "entries": (
        "What was read: one row for each observation of a change that says something new, in the order of reading.",
        (
            Column("entry", "whole", "its place in the order of reading, from 1"),
            Column("object", "whole", "the number of the object by name and UID, as in `tracks`"),
            *_NAMES,
            Column("uid", "text", "empty if the observation does not show it"),
            Column("change", "text", "`created`, `modified`, `deleted`, or `observed` if a list showed the object"),
            Column("action", "text", "the subresource that was written, such as `status`"),
            Column("received", "time", "when the request was received, or another lower bound of the commit"),
            Column("staged", "time", "when it was answered, or another upper bound; null without one"),
            Column("clock", "text", "`audit` for times of an audit log, `object` for whole seconds of the object"),
            Column("level", "text", "how much the observation shows: `Metadata`, `Request` or `RequestResponse`"),
            *_REVISION[:2],
            Column("replaces", "text", "the revision that the change surely replaced; null if that is not known"),
            *_WHO,
            Column("client_address", "text", "the addresses from which the request came"),
            Column("client_pod", "text", "the Pod to which the token of the request is bound"),
            *_WHERE,
            Column("body", "json", "the redacted object after the change; null if it was not observed or not kept"),
        ),
    ),
    "tracks": (
        "Objects: one row for each incarnation of an object.",
        (
            Column("track", "whole", "its number"),
            Column("object", "whole", "the number by name and UID, as in `entries`"),
            *_NAMES,
            Column("uid", "text", "empty if no observation shows it"),
            Column("owner", "whole", "the track of its controller; null without one"),
            Column("root", "whole", "the track of the owner at the top; its own if it has no owner"),
            Column("began", "time", "when it was created, or first seen, as drawn"),
            Column("ended", "time", "when it was deleted, as drawn; null while it may exist"),
            Column("created", "truth", "whether its creation was observed"),
            Column("deleted", "truth", "whether its deletion was observed"),
            Column("creator", "text", "who created it; empty if that was not observed"),
            Column("moments", "whole", "the number of its changes"),
            Column("phase", "text", "its last phase"),
            Column("node", "text", "of a Pod: its node; null otherwise"),
            Column("images", "texts", "of a Pod: the images of its containers; null otherwise"),
            Column("ready_least", "length", "from its creation until it was Ready for the first time, at least"),
            Column("ready_most", "length", "the same, at most; null if it was not seen Ready, or nothing bounds it"),
            Column("lifetime_least", "length", "from its creation to its deletion, at least"),
            Column("lifetime_most", "length", "the same, at most; null if one of the two was not observed or bounded"),
        ),
    ),
    "moments": (
        "Changes: one row for each change of each object, observed once or more often.",
        (
            Column("track", "whole", "the object that it changed"),
            Column("number", "whole", "its place among the changes of its track in commit order, from 1"),
            *_COMMITTED,
            *_REVISION,
            Column("change", "text", "`created`, `modified`, `deleted`, or `observed` if a list showed the object"),
            Column("action", "text", "the subresource that was written, such as `status`"),
            Column("phase", "text", "the phase of the object from then on"),
            Column("text", "text", "what the timeline draws of the change; empty if it draws nothing"),
            *_WHO,
            *_WHERE,
            Column("facts", "json", "what is known of the state from then on, such as a Pod's `ready` and `node`"),
        ),
    ),
    "findings": (
        "Findings: one row for each violation of a rule by one object.",
        (
            Column("finding", "text", "its id"),
            Column("incidents", "texts", "the ids of the incidents that it has occurrences in, which is mostly one"),
            Column("symptom", "text", "the id of its symptom"),
            Column("rule", "text", ""),
            Column("severity", "text", "`error`, `warning` or `info`"),
            Column("verdict", "text", "how sure the order is: `exact`, `bounded` or `inconclusive`"),
            Column("status", "text", "`confirmed`; of watched clusters also `suspected`"),
            Column("track", "whole", "the object that it is about; null if it was not observed"),
            *_NAMES,
            Column("uid", "text", ""),
            Column("other_kind", "text", "the object that it waited for, lost, or collided with; null without one"),
            Column("other_namespace", "text", ""),
            Column("other_name", "text", ""),
            Column("summary", "text", "a sentence"),
            Column("why", "text", "why the verdict is what it is"),
            Column("first_time", "time", "when it began for the first time"),
            Column("last_time", "time", "when it ended for the last time"),
            Column("occurrences", "whole", "how often it happened"),
            Column("delay_least", "length", "the delay, at least; null if the violation is no delay"),
            Column("delay_most", "length", "the delay, at most; null if nothing bounds it"),
            Column("effect", "text", "`none`, `possible` or `observed` harm"),
            Column("effect_text", "text", ""),
            Column("cause_rule", "text", "the rule that reports causes of this kind; null where none is proven"),
            Column("cause", "text", "what is behind it, as far as it is proven; null where nothing proves a cause"),
            Column("writers", "texts", "who wrote what the proof shows"),
        ),
    ),
    "incidents": (
        "Incidents: what one cause did, each time it did it. The rule and the anchor are those of its gravest symptom.",
        (
            Column("incident", "text", "its id"),
            Column("rule", "text", ""),
            Column("title", "text", "a sentence"),
            Column("root", "text", "what it begins with; null where nothing proves that"),
            *_STANDING,
            Column("symptoms", "whole", ""),
            Column("subjects", "whole", "the number of objects that violated a rule"),
            *_COURSE,
            Column("cause", "text", "what is behind it, and for how many findings; null where nothing proves a cause"),
            Column("writers", "texts", "who wrote what the proof shows, the most frequent one first"),
        ),
    ),
    "symptoms": (
        "Symptoms of incidents: all findings of one rule about one anchor.",
        (
            Column("incident", "text", "the id of its incident"),
            Column("symptom", "text", "its id; the same symptom can be in several incidents"),
            Column("rule", "text", ""),
            Column("title", "text", "a sentence"),
            *_STANDING,
            Column("subjects", "whole", "the number of objects that violated the rule"),
            *_COURSE,
            Column("writers", "texts", "who wrote what the proof shows, the most frequent one first"),
        ),
    ),
    "actors": (
        "Actors: one row for each part of each process that wrote.",
        (
            Column("actor_id", "text", "its id"),
            Column("name", "text", "such as `job-controller in Pod kcm-a`"),
            Column("component", "text", ""),
            Column("process", "text", "the UID of its Pod, else its address and program"),
            Column("bound", "truth", "whether the process is surely one; else several may share address and program"),
            Column("account", "text", ""),
            Column("user_agent", "text", ""),
            Column("writes", "whole", "changes that it made"),
            Column("busiest", "whole", "writes in its busiest minute"),
            Column("stale", "whole", "updates that were refused because its copy had been replaced before"),
            Column("raced", "whole", "updates that were refused because of a write at the same time"),
            Column("unclear", "whole", "updates that were refused, and nothing shows which it was"),
            Column("retries", "whole", "writes of the same object within a minute after a refused one"),
            Column("refused", "whole", "other refused writes"),
            Column("copies", "whole", "acts of which it is known on which copy they rested"),
            Column("old", "whole", "those of them whose copy had been replaced"),
            Column("worst_lag_least", "length", "how old the oldest of these copies was, at least; null without any"),
            Column("worst_lag_most", "length", "the same, at most; null, because nothing bounds it"),
            Column("leases", "whole", "Leases that it held"),
            Column("findings", "whole", "findings that its writes prove"),
            Column("first_time", "time", "its first write; null without any"),
            Column("last_time", "time", "its last write"),
        ),
    ),
}


def page() -> str:
    """Return docs/tables.md: every table with its columns."""
    parts = [_BEGINNING]
    for name, (meaning, columns) in TABLES.items():
        rows = [f"| `{each.name}` | {SQL[each.type]} | {each.meaning} |" for each in columns]
        parts += [f"## {name}", meaning, "\n".join(["| column | type | meaning |", "|---|---|---|", *rows])]
    return "\n\n".join(parts) + "\n"


_BEGINNING = f"""\
# Tables

These are the tables that `causeline export --format parquet` writes and `causeline sql` asks
([Query a recording with SQL](how-to/query-with-sql.md)). The page is written by `make docs` from
`dashboard/tables/schema.py`.

The schema is `{NAME}`. The footer of each file has this name under `causeline.schema`, besides `causeline.version`,
`causeline.table` and `causeline.recording`, and the meaning of each column. A column that is added keeps the name; one
that is removed, or means something else, changes it.

- Times are TIMESTAMP in microseconds, always UTC.
- Lengths of time are bounds, in two columns that end in `_least` and `_most`. In the files they are microseconds in
  64 bits, which readers of Arrow see as a duration and `causeline sql` as an INTERVAL; others see a whole number.
- Revisions are text, because they may need more than 64 bits, and numbers where they fit. Compare revisions of one
  space only.
- Columns of JSON are text: `facts->>'$.node'` reads a field.
- What is empty text is known to be nothing or was not shown; what is null does not apply or is not known.
- All of it is redacted as everything else is ([what is redacted](redaction.md)).
- Numbers of tracks, objects and entries hold within one export, and not beyond."""
