"""Rows that belong to a source have primary keys that begin with the source (see docs/decisions/0024).

PostgreSQL keeps the rows as they are: a unique index takes the place of the surrogate key, whose column is dropped from
the catalogue alone. The index of the foreign key goes, too, because the primary key begins with the same column.
"""

import django.db.models.deletion
from django.db import migrations, models

_KEYS = {  # the columns that follow the source, and the unique constraint that was there before
    "stream": (["group", "resource"], "stream_once", "stream"),
    "gap": (["group", "kind", "since", "until"], "gap_once", "gap"),
    "delta": (["sequence"], "delta_once", "delta"),
    "snapshotpart": (["number"], "memory_once", "memory"),
    "strip": (["place"], "strip_once", "strip"),
    "finding": (["identity"], "finding_once", "finding"),
    "acknowledgement": (["identity"], "acknowledged_once", "acknowledgement"),
    "occurrence": (["key"], "occurrence_once", "occurrence"),
}

_SWAP = """
CREATE UNIQUE INDEX {table}_key ON {table} (source_id, {columns});
ALTER TABLE {table} DROP CONSTRAINT {unique}, DROP COLUMN id;
ALTER TABLE {table} ADD CONSTRAINT {table}_pkey PRIMARY KEY USING INDEX {table}_key;
"""


def _swapped(model: str) -> migrations.SeparateDatabaseAndState:
    columns, unique, table = _KEYS[model]
    words = {"table": f"timeline_{table}", "unique": unique, "columns": ", ".join(f'"{column}"' for column in columns)}
    key = models.CompositePrimaryKey("source", *columns, blank=True, editable=False, primary_key=True, serialize=False)
    return migrations.SeparateDatabaseAndState(
        [migrations.RunSQL(_SWAP.format(**words))],
        [
            migrations.RemoveConstraint(model, unique),
            migrations.RemoveField(model, "id"),
            migrations.AddField(model, "pk", key),
        ],
    )


def _without_index(model: str) -> migrations.AlterField:
    to_source = models.ForeignKey("timeline.source", django.db.models.deletion.CASCADE, db_index=False)
    return migrations.AlterField(model, "source", to_source)


class Migration(migrations.Migration):
    dependencies = [("timeline", "0021_silences")]

    operations = [
        *(_swapped(model) for model in _KEYS),
        *(_without_index(model) for model in (*_KEYS, "incident", "baselineincident")),
    ]
