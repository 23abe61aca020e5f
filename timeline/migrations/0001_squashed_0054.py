"""Make all tables of the timeline. It takes the place of the 53 migrations of versions before it.

A database of those versions has all of these migrations and goes on; `dashboard/management/commands/migrate.py` refuses
one that has only some. `timeline_chunk` and `timeline_track` are partitioned, which Django cannot say, so SQL
makes them. The storage makes a partition for each import and each source.
"""

from functools import partial
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField, DateTimeRangeField
from django.contrib.postgres.indexes import GinIndex, GistIndex
from django.db import migrations, models
from django.db.migrations.operations.base import Operation
from django.db.models.functions import Now

import timeline.models.alerts
import timeline.models.fields

REPLACED = """
    0001_initial 0002_lanes 0003_uploads 0005_objects 0006_chunks 0007_reach 0008_tide 0009_lifelines
    0010_live 0011_withdrawn 0012_kept_range 0013_lookup 0014_owners 0015_own_counters 0016_redacted
    0017_judged 0018_occurrences 0019_snapshot_parts 0020_incidents 0021_silences 0022_composite_keys
    0023_delete_after 0024_counts 0025_actors 0026_intent_changes 0027_causes 0028_empty_arrays
    0029_caused 0030_smaller_tracks 0031_logs 0032_views 0033_additions 0034_actor_rows 0035_alerts
    0036_actor_feeds 0037_noticed_incidents 0038_cluster_write_events 0039_log_stores
    0040_pulls_beside_continuous_ones 0041_retention 0042_namespaces 0043_collectors
    0044_namespaces_of_findings 0045_portions 0046_freed_spans 0047_keep_near_incidents 0048_parts
    0049_divided 0050_deleted_by_the_last_release 0051_places 0052_lives 0053_unnamed
    0054_names_of_fields
"""

CHUNKS = """
CREATE TABLE timeline_chunk (
    source_id bigint NOT NULL,
    sequence bigint NOT NULL,
    keys integer[] NOT NULL,
    first timestamptz NOT NULL,
    last timestamptz NOT NULL,
    lines bytea STORAGE EXTERNAL NOT NULL,
    low integer NOT NULL,
    high integer NOT NULL,
    PRIMARY KEY (source_id, sequence)
) PARTITION BY RANGE (source_id, sequence);
CREATE INDEX timeline_chunk_keys ON timeline_chunk USING brin (low, high) WITH (pages_per_range = 1);
CREATE INDEX timeline_chunk_times ON timeline_chunk USING brin (first, last);
CREATE SEQUENCE timeline_chunk_table;
"""
# Events are by far the most tracks, and most questions are not about them, so some indexes leave them out.
TRACKS = """
CREATE TABLE timeline_track (
    source_id bigint NOT NULL,
    id bigint NOT NULL,
    lane bigint NOT NULL,
    root bigint NOT NULL,
    strip bigint NOT NULL,
    place bigint NOT NULL,
    number integer NOT NULL,
    span tstzrange,
    changed timestamptz,
    life tstzrange NOT NULL,
    family text NOT NULL,
    "group" text NOT NULL,
    version text NOT NULL,
    kind text NOT NULL,
    namespace text NOT NULL,
    name text NOT NULL,
    uid text NOT NULL,
    lifeline bytea STORAGE EXTERNAL NOT NULL,
    owner bigint NOT NULL DEFAULT 0,
    needs bigint[] DEFAULT '{}',
    addresses text[] DEFAULT '{}',
    creator text NOT NULL DEFAULT '',
    writers text[] DEFAULT '{}',
    clues text NOT NULL DEFAULT '',
    unnamed bigint[],
    PRIMARY KEY (source_id, id)
) PARTITION BY LIST (source_id);
CREATE INDEX timeline_track_root ON timeline_track (root);
CREATE INDEX timeline_track_member ON timeline_track (root) WHERE span IS NOT NULL AND root <> 0;
CREATE INDEX timeline_track_life ON timeline_track (lane, life) INCLUDE (source_id, root, number, id);
CREATE INDEX timeline_track_span ON timeline_track USING brin (span) WITH (pages_per_range = 16) WHERE span IS NOT NULL;
CREATE INDEX timeline_track_family ON timeline_track (family, strip, place) WHERE span IS NOT NULL;
CREATE INDEX timeline_track_place ON timeline_track (strip, place) WHERE span IS NOT NULL AND family <> 'Events';
CREATE INDEX timeline_track_namespace ON timeline_track (namespace, strip, place) WHERE span IS NOT NULL;
CREATE INDEX timeline_track_namespace_place ON timeline_track (namespace, strip, place)
    WHERE span IS NOT NULL AND family <> 'Events';
CREATE INDEX timeline_track_creator ON timeline_track (creator, place) WHERE span IS NOT NULL AND family <> 'Events';
CREATE INDEX timeline_track_name ON timeline_track USING hash (name);
CREATE INDEX timeline_track_uid ON timeline_track USING hash (uid) WHERE family <> 'Events';
CREATE INDEX timeline_track_needs ON timeline_track USING gin (needs);
CREATE INDEX timeline_track_addresses ON timeline_track USING gin (addresses) WHERE addresses <> '{}';
"""


def _key(*names: str) -> models.CompositePrimaryKey:
    return models.CompositePrimaryKey(*names, blank=True, editable=False, primary_key=True, serialize=False)


class Tables(Operation):
    """Create the tables of several models. One operation for each would have Django make the classes of all models that
    refer to the new one again, which takes most of the time."""

    reversible = False

    def __init__(self, *models: migrations.CreateModel) -> None:
        self._models = models

    def state_forwards(self, app_label: str, state: Any) -> None:
        state.__dict__.pop("apps", None)  # the classes, which Django makes again when they are asked for
        for each in self._models:
            each.state_forwards(app_label, state)

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        for each in self._models:
            each.database_forwards(app_label, schema_editor, from_state, to_state)


class Cascade(migrations.RunPython):
    """Let the database delete rows of these tables with what they refer to, which Django cannot say of a model yet. A
    version that runs beside a newer one during a rolling upgrade does not know each table."""

    def __init__(self, *tables: str) -> None:
        super().__init__(partial(_cascade, tables))


def _cascade(tables: tuple[str, ...], apps: Any, schema_editor: Any) -> None:
    for statement in map(str, schema_editor.deferred_sql):  # the foreign keys are among them
        if statement.startswith(tuple(f'ALTER TABLE "{table}" ADD ' for table in tables)):
            statement = statement.replace(" DEFERRABLE ", " ON DELETE CASCADE DEFERRABLE ")
        schema_editor.execute(statement, params=None)
    schema_editor.deferred_sql.clear()


class Migration(migrations.Migration):
    replaces = [("timeline", name) for name in REPLACED.split()]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        Tables(
            migrations.CreateModel(
                name="Alert",
                fields=[
                    ("pk", _key("receiver", "identity")),
                    ("receiver", models.TextField()),
                    ("identity", models.CharField(max_length=32)),
                    ("name", models.TextField()),
                    ("source", models.BigIntegerField(null=True)),
                    ("cluster", models.TextField()),
                    ("namespace", models.TextField()),
                    ("objects_named", ArrayField(models.TextField())),
                    ("labels", models.JSONField()),
                    ("annotations", models.JSONField()),
                    ("url", models.TextField()),
                    ("fingerprint", models.TextField()),
                    ("started", models.DateTimeField()),
                    ("ended", models.DateTimeField(null=True)),
                    ("seen", models.DateTimeField()),
                ],
                options={
                    "indexes": [
                        models.Index(fields=["-started", "receiver", "identity"], name="alert_newest"),
                        models.Index(fields=["seen"], name="alert_seen"),
                        GistIndex(timeline.models.alerts.Duration("started", "ended"), name="alert_duration"),
                        GinIndex(fields=["objects_named"], name="alert_objects"),
                    ]
                },
            ),
            migrations.CreateModel(
                name="Cluster",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=253)),
                    ("created", models.DateTimeField(auto_now_add=True)),
                    ("reference", models.JSONField(default=dict)),
                    ("secret", models.BinaryField(null=True)),
                    ("include", models.JSONField(default=list)),
                    ("exclude", models.JSONField(default=list)),
                    ("keep_days", models.IntegerField(null=True)),
                    ("keep_bytes", models.BigIntegerField(null=True)),
                    ("paused", models.BooleanField(default=False)),
                    ("holder", models.TextField(default="")),
                    ("epoch", models.BigIntegerField(default=0)),
                    ("expires_at", models.DateTimeField(null=True)),
                    (
                        "state",
                        models.CharField(
                            choices=[
                                ("waiting", "Waiting"),
                                ("connecting", "Connecting"),
                                ("live", "Live"),
                                ("failing", "Failing"),
                                ("paused", "Paused"),
                            ],
                            default="waiting",
                            max_length=10,
                        ),
                    ),
                    ("error", models.TextField(default="")),
                    ("error_at", models.DateTimeField(null=True)),
                    (
                        "source",
                        models.ForeignKey(
                            null=True, on_delete=models.SET_NULL, related_name="current_of", to="timeline.source"
                        ),
                    ),
                    ("delete_after", models.DateTimeField(null=True)),
                    ("write_events", models.BooleanField(default=False)),
                    ("namespaces", models.JSONField(db_default=[], default=list)),
                    ("keep_incident_days", models.IntegerField(null=True)),
                    ("keep_incident_minutes", models.IntegerField(null=True)),
                ],
                options={
                    "constraints": [
                        models.UniqueConstraint(
                            condition=models.Q(("delete_after", None)), fields=("name",), name="cluster_name_once"
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("keep_days__range", (1, 36500))), name="cluster_keeps_days_in_range"
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("keep_bytes__range", (1, 1000000000000000000))),
                            name="cluster_keeps_bytes_in_range",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("keep_incident_days__range", (0, 36500))),
                            name="cluster_incident_days_in_range",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("keep_incident_minutes__range", (1, 10080))),
                            name="cluster_incident_minutes_in_range",
                        ),
                    ]
                },
            ),
            migrations.CreateModel(
                name="Source",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=253)),
                    ("ready", models.BooleanField(default=False)),
                    ("created", models.DateTimeField(auto_now_add=True)),
                    ("entries", models.BigIntegerField(default=0)),
                    ("skipped", models.BigIntegerField(default=0)),
                    ("first", models.DateTimeField(null=True)),
                    ("last", models.DateTimeField(null=True)),
                    ("histogram", models.JSONField(default=list)),
                    ("census", models.JSONField(default=list)),
                    ("stored", models.BigIntegerField(default=0)),
                    ("table", models.BigIntegerField(default=0)),
                    ("inputs", models.JSONField(default=list)),
                    ("document", models.JSONField(db_column="told", default=dict)),
                    ("skips", models.JSONField(default=list)),
                    ("tide", models.JSONField(default=dict)),
                    ("ended", models.TextField(default="")),
                    ("sequence", models.BigIntegerField(default=0)),
                    (
                        "cluster",
                        models.ForeignKey(
                            null=True, on_delete=models.SET_NULL, related_name="sources", to="timeline.cluster"
                        ),
                    ),
                    (
                        "owner",
                        models.ForeignKey(
                            null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL
                        ),
                    ),
                    ("own_counters", models.JSONField(default=list)),
                    ("redacted", models.JSONField(default=dict)),
                    ("judged", models.IntegerField(default=0)),
                    ("judging", models.IntegerField(default=0)),
                    ("attempts", models.IntegerField(default=0)),
                    ("mostly_skipped", models.JSONField(default=dict)),
                    ("delete_after", models.DateTimeField(null=True)),
                    ("row_counts", models.JSONField(default=dict)),
                    ("actors", models.JSONField(default=list)),
                    ("views", models.IntegerField(default=0)),
                    ("actors_total", models.IntegerField(default=0)),
                    ("keep_days", models.IntegerField(null=True)),
                    ("namespaces", models.JSONField(db_default=[], default=list)),
                    ("divided", models.BigIntegerField(null=True)),
                ],
                options={
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(("keep_days__range", (0, 36500))), name="source_keeps_days_in_range"
                        )
                    ]
                },
            ),
            migrations.CreateModel(
                name="Share",
                fields=[
                    ("pk", _key("source", "namespace")),
                    ("namespace", models.TextField()),
                    ("changes", models.BigIntegerField()),
                    ("histogram", timeline.models.fields.Packed()),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                ],
            ),
            migrations.CreateModel(
                name="Stream",
                fields=[
                    ("pk", _key("source", "group", "resource", "namespace")),
                    ("group", models.TextField()),
                    ("version", models.TextField()),
                    ("kind", models.TextField()),
                    ("resource", models.TextField()),
                    ("namespaced", models.BooleanField(default=True)),
                    (
                        "state",
                        models.CharField(
                            choices=[
                                ("waiting", "Waiting"),
                                ("listing", "Listing"),
                                ("watching", "Watching"),
                                ("failing", "Failing"),
                                ("forbidden", "Forbidden"),
                                ("missing", "Missing"),
                            ],
                            default="waiting",
                            max_length=9,
                        ),
                    ),
                    ("error", models.TextField(default="")),
                    ("error_at", models.DateTimeField(null=True)),
                    ("listed_at", models.DateTimeField(null=True)),
                    ("watermark", models.DecimalField(decimal_places=0, max_digits=39, null=True)),
                    ("watermark_at", models.DateTimeField(null=True)),
                    ("entries", models.BigIntegerField(default=0)),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                    ("namespace", models.TextField(db_default="", default="")),
                ],
            ),
            migrations.CreateModel(
                name="Gap",
                fields=[
                    ("pk", _key("source", "group", "kind", "since", "until")),
                    ("group", models.TextField()),
                    ("kind", models.TextField()),
                    ("since", models.DateTimeField()),
                    ("until", models.DateTimeField()),
                    ("since_revision", models.DecimalField(decimal_places=0, max_digits=39, null=True)),
                    ("revision", models.DecimalField(decimal_places=0, max_digits=39, null=True)),
                    ("reason", models.TextField()),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                ],
            ),
            migrations.CreateModel(
                name="Delta",
                fields=[
                    ("pk", _key("source", "sequence")),
                    ("sequence", models.BigIntegerField()),
                    ("at", models.DateTimeField()),
                    ("changed", models.JSONField()),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                ],
            ),
            migrations.CreateModel(
                name="SnapshotPart",
                fields=[
                    ("pk", _key("source", "number")),
                    ("number", models.IntegerField()),
                    ("after", models.BigIntegerField()),
                    ("lines", models.BinaryField()),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                ],
                options={"db_table": "timeline_memory"},
            ),
            migrations.CreateModel(
                name="Collector",
                fields=[
                    (
                        "cluster",
                        models.OneToOneField(
                            on_delete=models.CASCADE, primary_key=True, serialize=False, to="timeline.cluster"
                        ),
                    ),
                    ("holder", models.TextField(default="")),
                    ("epoch", models.BigIntegerField(default=0)),
                    ("renewed_at", models.DateTimeField(null=True)),
                    ("version", models.TextField(default="")),
                    ("buffered", models.BigIntegerField(default=0)),
                    ("behind", models.FloatField(default=0)),
                    ("accepted", models.BigIntegerField(default=0)),
                    ("accepted_at", models.DateTimeField(null=True)),
                    ("taken", models.BigIntegerField(default=0)),
                    ("asked", models.BigIntegerField(null=True)),
                    ("known", models.BinaryField(null=True)),
                    ("known_after", models.BigIntegerField(null=True)),
                    ("problem", models.TextField(default="")),
                    ("problem_at", models.DateTimeField(null=True)),
                ],
            ),
            migrations.CreateModel(
                name="CollectedBatch",
                fields=[
                    ("pk", _key("cluster", "number")),
                    ("number", models.BigIntegerField()),
                    ("arrived", models.DateTimeField()),
                    ("size", models.IntegerField()),
                    ("lines", models.BinaryField()),
                    ("restored", models.TextField(default="")),
                    ("attempts", models.IntegerField(default=0)),
                    ("aside", models.TextField(default="")),
                    ("settled", models.BooleanField(db_column="told", default=False)),
                    ("cluster", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.cluster")),
                ],
                options={"db_table": "timeline_collected_batch"},
            ),
            migrations.CreateModel(
                name="Finding",
                fields=[
                    ("pk", _key("source", "identity")),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                    ("identity", models.CharField(max_length=16)),
                    ("rule", models.TextField()),
                    ("severity", models.TextField()),
                    ("namespace", models.TextField()),
                    ("subject", models.BigIntegerField()),
                    ("root", models.BigIntegerField()),
                    ("tracks", ArrayField(models.BigIntegerField())),
                    ("first", models.DateTimeField()),
                    ("last", models.DateTimeField()),
                    ("document", models.JSONField()),
                    ("occurrences", models.JSONField()),
                    ("withdrawn", models.BooleanField(default=False)),
                    ("anchor", ArrayField(models.TextField(), default=list)),
                    ("incident", models.CharField(default="", max_length=16)),
                    ("namespaces", ArrayField(models.TextField(), null=True)),
                    ("part", models.JSONField(null=True)),
                ],
                options={
                    "indexes": [
                        models.Index(
                            models.F("source"),
                            models.F("incident"),
                            models.Case(
                                models.When(severity="error", then=models.Value(0)),
                                models.When(severity="warning", then=models.Value(1)),
                                default=models.Value(2),
                            ),
                            models.F("first"),
                            models.F("identity"),
                            name="finding_gravest",
                        ),
                        models.Index(fields=["source", "first", "identity"], name="finding_first"),
                        GinIndex(fields=["tracks"], name="finding_tracks"),
                    ]
                },
            ),
            migrations.CreateModel(
                name="Incident",
                fields=[
                    ("pk", _key("source", "identity")),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                    ("identity", models.CharField(max_length=16)),
                    ("rule", models.TextField()),
                    ("rank", models.SmallIntegerField()),
                    ("status", models.TextField()),
                    ("group", models.TextField()),
                    ("kind", models.TextField()),
                    ("namespace", models.TextField()),
                    ("name", models.TextField()),
                    ("title", models.TextField()),
                    ("subjects", models.IntegerField()),
                    ("names", ArrayField(models.TextField())),
                    ("findings", models.IntegerField()),
                    ("occurrences", models.IntegerField()),
                    ("first", models.DateTimeField()),
                    ("last", models.DateTimeField()),
                    ("open", models.BooleanField()),
                    ("times", ArrayField(models.BigIntegerField())),
                    ("effect", models.TextField()),
                    ("effect_text", models.TextField()),
                    ("actors", ArrayField(models.TextField())),
                    ("advice", ArrayField(models.TextField())),
                    ("roots", ArrayField(models.BigIntegerField())),
                    ("worst", models.CharField(max_length=16)),
                    ("words", models.TextField()),
                    ("cause", models.TextField(default="")),
                    ("caused", models.CharField(default="", max_length=16)),
                    ("namespaces", ArrayField(models.TextField(), null=True)),
                ],
                options={
                    "indexes": [
                        models.Index(fields=["source", "rank", "first", "identity"], name="incident_gravest"),
                        models.Index(fields=["source", "-last", "rank", "identity"], name="incident_newest"),
                    ]
                },
            ),
            migrations.CreateModel(
                name="NoticedIncident",
                fields=[
                    ("pk", _key("source", "identity")),
                    ("identity", models.CharField(max_length=16)),
                    ("at", models.DateTimeField()),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                ],
                options={
                    "db_table": "timeline_noticed_incident",
                    "indexes": [models.Index(fields=["at"], name="noticed_at")],
                },
            ),
            migrations.CreateModel(
                name="Occurrence",
                fields=[
                    ("pk", _key("source", "key")),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                    ("key", models.CharField(max_length=16)),
                    ("rank", models.SmallIntegerField()),
                    ("rule", models.TextField()),
                    ("namespace", models.TextField()),
                    ("families", ArrayField(models.TextField())),
                    ("words", models.TextField()),
                    ("tracks", ArrayField(models.BigIntegerField())),
                    ("first", models.DateTimeField()),
                    ("last", models.DateTimeField()),
                    ("findings", ArrayField(models.CharField(max_length=16))),
                    ("namespaces", ArrayField(models.TextField(), null=True)),
                ],
                options={
                    "indexes": [
                        models.Index(fields=["source", "rank", "first", "key"], name="occurrence_order"),
                        models.Index(fields=["source", "first", "rank", "key"], name="occurrence_first"),
                        models.Index(fields=["source", "-last", "rank", "key"], name="occurrence_newest"),
                    ]
                },
            ),
            migrations.CreateModel(
                name="Silence",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("cluster", models.ForeignKey(null=True, on_delete=models.CASCADE, to="timeline.cluster")),
                    ("source", models.ForeignKey(null=True, on_delete=models.CASCADE, to="timeline.source")),
                    ("rule", models.TextField(default="")),
                    ("namespace", models.TextField(default="")),
                    ("owner", models.TextField(default="")),
                    ("actor", models.TextField(default="")),
                    ("reason", models.TextField()),
                    ("by", models.TextField()),
                    ("created", models.DateTimeField(auto_now_add=True)),
                    ("expires", models.DateTimeField()),
                ],
                options={
                    "indexes": [models.Index(fields=["expires"], name="silence_expires")],
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(
                                ("actor", ""), ("namespace", ""), ("owner", ""), ("rule", ""), _negated=True
                            ),
                            name="silence_matches_something",
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="BaselineIncident",
                fields=[
                    ("pk", _key("source", "identity")),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                    ("identity", models.CharField(max_length=16)),
                    ("rank", models.SmallIntegerField()),
                    ("hourly", models.FloatField()),
                    ("by", models.TextField()),
                    ("at", models.DateTimeField()),
                    ("ended", models.TextField(default="")),
                ],
            ),
            migrations.CreateModel(
                name="Acknowledgement",
                fields=[
                    ("pk", _key("source", "identity")),
                    ("identity", models.CharField(max_length=16)),
                    ("by", models.TextField()),
                    ("at", models.DateTimeField(auto_now=True)),
                    ("note", models.TextField()),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                    ("rank", models.SmallIntegerField(null=True)),
                    ("ended", models.TextField(default="")),
                ],
            ),
            migrations.CreateModel(
                name="Track",
                fields=[
                    ("pk", _key("source", "id")),
                    ("source", models.ForeignKey(on_delete=models.DO_NOTHING, to="timeline.source")),
                    ("id", models.BigIntegerField()),
                    ("lane", models.BigIntegerField()),
                    ("root", models.BigIntegerField()),
                    ("strip", models.BigIntegerField()),
                    ("place", models.BigIntegerField()),
                    ("number", models.IntegerField()),
                    ("span", DateTimeRangeField(null=True)),
                    ("changed", models.DateTimeField(null=True)),
                    ("life", DateTimeRangeField()),
                    ("family", models.TextField()),
                    ("group", models.TextField()),
                    ("version", models.TextField()),
                    ("kind", models.TextField()),
                    ("namespace", models.TextField()),
                    ("name", models.TextField()),
                    ("uid", models.TextField()),
                    ("lifeline", timeline.models.fields.Packed()),
                    ("owner", models.BigIntegerField(default=0)),
                    ("needs", timeline.models.fields.Sparse(models.BigIntegerField(), default=list)),
                    ("addresses", timeline.models.fields.Sparse(models.TextField(), default=list)),
                    ("creator", models.TextField(default="")),
                    ("writers", timeline.models.fields.Sparse(models.TextField(), default=list)),
                    ("clues", models.TextField(default="")),
                    ("unnamed", timeline.models.fields.Sparse(models.BigIntegerField(), default=list)),
                ],
                options={"db_table": "timeline_track", "managed": False},
            ),
            migrations.CreateModel(
                name="Strip",
                fields=[
                    ("pk", _key("source", "place")),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                    ("place", models.BigIntegerField()),
                    ("root", models.BigIntegerField()),
                    ("family", models.TextField()),
                    ("group", models.TextField()),
                    ("kind", models.TextField()),
                    ("namespace", models.TextField()),
                    ("name", models.TextField()),
                    ("members", models.IntegerField()),
                    ("span", DateTimeRangeField()),
                    ("changed", models.DateTimeField()),
                ],
            ),
            migrations.CreateModel(
                name="Chunk",
                fields=[
                    ("pk", _key("source", "sequence")),
                    ("source", models.ForeignKey(on_delete=models.DO_NOTHING, to="timeline.source")),
                    ("sequence", models.BigIntegerField()),
                    ("keys", ArrayField(models.IntegerField())),
                    ("first", models.DateTimeField()),
                    ("last", models.DateTimeField()),
                    ("lines", models.BinaryField()),
                    ("low", models.IntegerField()),
                    ("high", models.IntegerField()),
                ],
                options={"db_table": "timeline_chunk", "managed": False},
            ),
            migrations.CreateModel(
                name="IntentChange",
                fields=[
                    ("pk", _key("source", "at", "track", "number")),
                    ("at", models.DateTimeField()),
                    ("track", models.BigIntegerField()),
                    ("number", models.IntegerField()),
                    ("lane", models.BigIntegerField()),
                    ("namespace", models.TextField()),
                    ("wide", models.BooleanField()),
                    ("grade", models.SmallIntegerField()),
                    ("document", timeline.models.fields.Packed()),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                ],
                options={
                    "db_table": "timeline_intent_change",
                    "indexes": [
                        models.Index(fields=["source", "lane", "at"], name="intent_of_lane"),
                        models.Index(fields=["source", "grade", "at"], name="intent_of_grade"),
                        models.Index(fields=["source", "namespace", "grade", "at"], name="intent_of_namespace"),
                        models.Index(
                            condition=models.Q(("wide", True)),
                            fields=["source", "grade", "at"],
                            name="intent_of_cluster",
                        ),
                    ],
                },
            ),
            migrations.CreateModel(
                name="Log",
                fields=[
                    ("pk", _key("source", "number")),
                    ("number", models.IntegerField()),
                    ("name", models.TextField()),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                ],
            ),
            migrations.CreateModel(
                name="LogPage",
                fields=[
                    ("pk", _key("source", "log", "number")),
                    ("log", models.IntegerField()),
                    ("number", models.IntegerField()),
                    ("first", models.DateTimeField()),
                    ("last", models.DateTimeField()),
                    ("count", models.SmallIntegerField()),
                    ("worst", models.SmallIntegerField()),
                    ("objects_named", ArrayField(models.TextField())),
                    ("times", models.BinaryField()),
                    ("lines", models.BinaryField()),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                ],
                options={
                    "db_table": "timeline_log_page",
                    "indexes": [
                        models.Index(fields=["source", "first"], name="log_page_first"),
                        GinIndex(fields=["objects_named"], name="log_page_objects"),
                    ],
                },
            ),
            migrations.CreateModel(
                name="ActorRow",
                fields=[
                    ("pk", _key("source", "identity")),
                    ("identity", models.CharField(max_length=16)),
                    ("name", models.TextField()),
                    ("words", models.TextField()),
                    ("writes", models.BigIntegerField()),
                    ("busiest", models.BigIntegerField()),
                    ("conflicts", models.BigIntegerField()),
                    ("retries", models.BigIntegerField()),
                    ("refused", models.BigIntegerField()),
                    ("lag", models.BigIntegerField()),
                    ("leases", models.IntegerField()),
                    ("findings", models.IntegerField()),
                    ("document", timeline.models.fields.Packed()),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                ],
                options={"db_table": "timeline_actor_row"},
            ),
            migrations.CreateModel(
                name="ObjectView",
                fields=[
                    ("pk", _key("source", "track")),
                    ("track", models.BigIntegerField()),
                    ("document", timeline.models.fields.Packed()),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                ],
                options={"db_table": "timeline_object_view"},
            ),
            migrations.CreateModel(
                name="Upload",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=253)),
                    (
                        "state",
                        models.CharField(
                            choices=[
                                ("receiving", "Receiving"),
                                ("waiting", "Waiting"),
                                ("importing", "Importing"),
                                ("adding", "Adding"),
                                ("done", "Done"),
                                ("failed", "Failed"),
                                ("cancelled", "Cancelled"),
                            ],
                            default="receiving",
                            max_length=9,
                        ),
                    ),
                    ("attempt", models.IntegerField(default=0)),
                    ("created", models.DateTimeField(auto_now_add=True)),
                    ("seen", models.DateTimeField(auto_now_add=True)),
                    ("bytes_total", models.BigIntegerField(default=0)),
                    ("bytes_read", models.BigIntegerField(default=0)),
                    ("entries", models.BigIntegerField(default=0)),
                    ("skipped", models.BigIntegerField(default=0)),
                    ("skipped_examples", models.JSONField(default=list)),
                    ("error", models.TextField(default="")),
                    ("source", models.ForeignKey(null=True, on_delete=models.SET_NULL, to="timeline.source")),
                    (
                        "owner",
                        models.ForeignKey(
                            null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL
                        ),
                    ),
                    ("cluster", models.ForeignKey(null=True, on_delete=models.CASCADE, to="timeline.cluster")),
                ],
            ),
            migrations.CreateModel(
                name="UploadFile",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("number", models.IntegerField()),
                    ("name", models.TextField()),
                    ("size", models.BigIntegerField()),
                    ("refused", models.TextField(default="")),
                    ("upload", models.ForeignKey(on_delete=models.CASCADE, related_name="files", to="timeline.upload")),
                ],
                options={
                    "constraints": [models.UniqueConstraint(fields=("upload", "number"), name="upload_file_once")]
                },
            ),
            migrations.CreateModel(
                name="Portion",
                fields=[
                    ("pk", _key("upload", "number")),
                    ("number", models.IntegerField()),
                    ("files", ArrayField(models.IntegerField())),
                    (
                        "state",
                        models.CharField(
                            choices=[("waiting", "Waiting"), ("reading", "Reading"), ("read", "Read")],
                            default="waiting",
                            max_length=7,
                        ),
                    ),
                    ("reader", models.CharField(default="", max_length=16)),
                    ("seen", models.DateTimeField(auto_now_add=True)),
                    ("bytes_read", models.BigIntegerField(default=0)),
                    ("bytes_decompressed", models.BigIntegerField(default=0)),
                    ("formats", models.JSONField(default=dict)),
                    ("skips", models.JSONField(default=list)),
                    ("upload", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.upload")),
                ],
            ),
            migrations.CreateModel(
                name="PortionPart",
                fields=[
                    ("pk", _key("upload", "portion", "reader", "number")),
                    ("portion", models.IntegerField()),
                    ("reader", models.CharField(max_length=16)),
                    ("number", models.IntegerField()),
                    ("lines", models.BinaryField()),
                    ("upload", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.upload")),
                ],
                options={"db_table": "timeline_portion_part"},
            ),
            migrations.CreateModel(
                name="Addition",
                fields=[
                    ("pk", _key("source", "upload", "number")),
                    ("number", models.IntegerField()),
                    ("lines", models.BinaryField()),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                    ("upload", models.ForeignKey(on_delete=models.CASCADE, to="timeline.upload")),
                ],
            ),
            migrations.CreateModel(
                name="AuditBatch",
                fields=[
                    ("pk", _key("source", "way", "digest")),
                    ("way", models.CharField(choices=[("audit", "Audit"), ("admission", "Admission")], max_length=9)),
                    ("digest", models.CharField(max_length=64)),
                    ("arrived", models.DateTimeField()),
                    ("size", models.IntegerField()),
                    ("lines", models.BinaryField(null=True)),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                ],
                options={
                    "db_table": "timeline_audit_batch",
                    "indexes": [
                        models.Index(
                            condition=models.Q(("lines__isnull", False)),
                            fields=["source", "way", "arrived"],
                            name="audit_batch_waits",
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="ActorFeed",
                fields=[
                    ("pk", _key("source", "way")),
                    ("way", models.CharField(choices=[("audit", "Audit"), ("admission", "Admission")], max_length=9)),
                    ("since", models.DateTimeField()),
                    ("last", models.DateTimeField()),
                    ("batches", models.BigIntegerField(default=0)),
                    ("events", models.BigIntegerField(default=0)),
                    ("repeated", models.BigIntegerField(default=0)),
                    ("unread", models.BigIntegerField(default=0)),
                    ("late", models.BigIntegerField(default=0)),
                    ("dropped", models.BigIntegerField(default=0)),
                    ("added", models.BigIntegerField(db_column="told", default=0)),
                    ("compared", models.JSONField(default=dict)),
                    ("gaps", models.JSONField(default=list)),
                    ("problem", models.TextField(default="")),
                    ("problem_at", models.DateTimeField(null=True)),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                ],
                options={"db_table": "timeline_actor_feed"},
            ),
            migrations.CreateModel(
                name="LogStore",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("kind", models.CharField(max_length=20)),
                    ("fields", models.JSONField(default=dict)),
                    ("secret", models.BinaryField(null=True)),
                    ("continuous", models.BooleanField(default=False)),
                    ("reached", models.DateTimeField(null=True)),
                    ("error", models.TextField(default="")),
                    ("error_at", models.DateTimeField(null=True)),
                    (
                        "cluster",
                        models.OneToOneField(on_delete=models.CASCADE, related_name="log_store", to="timeline.cluster"),
                    ),
                ],
            ),
            migrations.CreateModel(
                name="Pull",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("since", models.DateTimeField()),
                    ("until", models.DateTimeField()),
                    ("continuous", models.BooleanField(default=False)),
                    ("alone", models.BooleanField(default=False)),
                    (
                        "state",
                        models.CharField(
                            choices=[
                                ("asking", "Asking"),
                                ("ready", "Ready"),
                                ("waiting", "Waiting"),
                                ("pulling", "Pulling"),
                                ("handing", "Handing"),
                                ("done", "Done"),
                                ("failed", "Failed"),
                                ("cancelled", "Cancelled"),
                            ],
                            default="asking",
                            max_length=9,
                        ),
                    ),
                    ("attempt", models.IntegerField(default=0)),
                    ("created", models.DateTimeField(auto_now_add=True)),
                    ("seen", models.DateTimeField(auto_now_add=True)),
                    ("cost_bytes", models.BigIntegerField(null=True)),
                    ("cost_records", models.BigIntegerField(null=True)),
                    ("cost_note", models.TextField(default="")),
                    ("records", models.BigIntegerField(default=0)),
                    ("bytes", models.BigIntegerField(default=0)),
                    ("skipped", models.BigIntegerField(default=0)),
                    ("reached", models.DateTimeField(null=True)),
                    ("note", models.TextField(default="")),
                    ("error", models.TextField(default="")),
                    (
                        "owner",
                        models.ForeignKey(
                            null=True, on_delete=models.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL
                        ),
                    ),
                    (
                        "store",
                        models.ForeignKey(on_delete=models.CASCADE, related_name="pulls", to="timeline.logstore"),
                    ),
                    (
                        "upload",
                        models.ForeignKey(null=True, on_delete=models.SET_NULL, related_name="+", to="timeline.upload"),
                    ),
                ],
                options={
                    "constraints": [
                        models.UniqueConstraint(
                            condition=models.Q(("state__in", ["asking", "ready", "waiting", "pulling", "handing"])),
                            fields=("store", "continuous"),
                            name="pull_once",
                        )
                    ]
                },
            ),
            migrations.CreateModel(
                name="Hold",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("reason", models.TextField()),
                    ("by", models.TextField()),
                    ("since", models.DateTimeField(db_default=Now())),
                    (
                        "cluster",
                        models.ForeignKey(
                            null=True, on_delete=models.CASCADE, related_name="holds", to="timeline.cluster"
                        ),
                    ),
                    (
                        "source",
                        models.ForeignKey(
                            null=True, on_delete=models.CASCADE, related_name="holds", to="timeline.source"
                        ),
                    ),
                ],
                options={
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(
                                models.Q(("cluster__isnull", False), ("source", None)),
                                models.Q(("cluster", None), ("source__isnull", False)),
                                _connector="OR",
                            ),
                            name="hold_of_one",
                        ),
                        models.UniqueConstraint(fields=("source",), name="hold_of_source_once"),
                        models.UniqueConstraint(fields=("cluster",), name="hold_of_cluster_once"),
                    ]
                },
            ),
            migrations.CreateModel(
                name="Usage",
                fields=[
                    ("pk", _key("source", "day")),
                    ("day", models.DateField()),
                    ("at", models.DateTimeField()),
                    ("entries", models.BigIntegerField()),
                    ("chunks", models.BigIntegerField()),
                    ("tracks", models.BigIntegerField()),
                    ("findings", models.BigIntegerField()),
                    ("logs", models.BigIntegerField()),
                    ("evidence", models.BigIntegerField()),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                ],
                options={"db_table": "timeline_usage"},
            ),
            migrations.CreateModel(
                name="FreedSpan",
                fields=[
                    ("pk", _key("source", "since")),
                    ("since", models.DateTimeField()),
                    ("until", models.DateTimeField()),
                    ("source", models.ForeignKey(db_index=False, on_delete=models.CASCADE, to="timeline.source")),
                ],
                options={"db_table": "timeline_freed"},
            ),
        ),
        migrations.RunSQL(CHUNKS),
        migrations.RunSQL(TRACKS),
        Cascade(
            "timeline_share",
            "timeline_freed",
            "timeline_usage",
            "timeline_collector",
            "timeline_collected_batch",
            "timeline_portion",
            "timeline_portion_part",
        ),
    ]
