"""Make all tables of the dashboard. It takes the place of the 13 migrations of versions before it."""

from importlib import import_module

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

first = import_module("timeline.migrations.0001_squashed_0054")

REPLACED = """
    0001_failed_sign_ins 0002_process_figures 0003_access_tokens 0004_routes 0005_told_active
    0006_grants 0007_sign_ins 0008_audit_records 0009_grants_of_accounts 0010_share_links
    0011_personal_tokens 0012_grants_deleted_by_the_last_release 0013_route_states
"""
STAYS = """
CREATE FUNCTION dashboard_auditrecord_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND coalesce(current_setting('causeline.forgetting', true), '') = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'records of the audit trail are not changed, and only deleted when they are old';
END $$;
CREATE TRIGGER dashboard_auditrecord_stays BEFORE UPDATE OR DELETE ON dashboard_auditrecord
    FOR EACH ROW EXECUTE FUNCTION dashboard_auditrecord_stays();
"""


class Migration(migrations.Migration):
    replaces = [("dashboard", name) for name in REPLACED.split()]

    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("sessions", "0001_initial"),
        ("timeline", "0001_squashed_0054"),
    ]

    operations = [
        first.Tables(
            migrations.CreateModel(
                name="FailedSignIns",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=64)),
                    ("address", models.TextField()),
                    ("count", models.IntegerField(default=0)),
                    ("last", models.DateTimeField()),
                    ("locked_until", models.DateTimeField()),
                ],
                options={
                    "constraints": [models.UniqueConstraint(fields=("name", "address"), name="failed_sign_ins_once")]
                },
            ),
            migrations.CreateModel(
                name="SignIn",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("way", models.TextField()),
                    ("address", models.TextField()),
                    ("agent", models.TextField()),
                    ("began", models.DateTimeField(auto_now_add=True)),
                    ("last_used", models.DateTimeField()),
                    (
                        "session",
                        models.OneToOneField(
                            db_constraint=False, on_delete=models.CASCADE, related_name="+", to="sessions.session"
                        ),
                    ),
                    (
                        "user",
                        models.ForeignKey(on_delete=models.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL),
                    ),
                ],
            ),
            migrations.CreateModel(
                name="ProcessFigures",
                fields=[
                    ("process", models.CharField(max_length=32, primary_key=True, serialize=False)),
                    ("kind", models.TextField()),
                    ("reported", models.DateTimeField()),
                    ("figures", models.JSONField()),
                ],
            ),
            migrations.CreateModel(
                name="AccessToken",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=100)),
                    ("prefix", models.CharField(max_length=16)),
                    ("digest", models.CharField(max_length=64, unique=True)),
                    ("scopes", models.JSONField()),
                    ("created_by", models.TextField()),
                    ("created", models.DateTimeField(auto_now_add=True)),
                    ("expires", models.DateTimeField()),
                    ("last_used", models.DateTimeField(null=True)),
                    (
                        "cluster",
                        models.ForeignKey(null=True, on_delete=models.CASCADE, related_name="+", to="timeline.cluster"),
                    ),
                    (
                        "source",
                        models.ForeignKey(null=True, on_delete=models.CASCADE, related_name="+", to="timeline.source"),
                    ),
                    (
                        "owner",
                        models.ForeignKey(
                            db_constraint=False,
                            null=True,
                            on_delete=models.CASCADE,
                            related_name="+",
                            to=settings.AUTH_USER_MODEL,
                        ),
                    ),
                ],
                options={
                    "indexes": [models.Index(fields=["prefix"], name="access_token_prefix")],
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(("cluster", None), ("source", None), _connector="OR"),
                            name="token_is_limited_once",
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="ShareLink",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    (
                        "kind",
                        models.CharField(
                            choices=[("timeline", "Timeline"), ("incident", "Incident"), ("embedded", "Embedded")],
                            max_length=8,
                        ),
                    ),
                    ("incident", models.CharField(default="", max_length=16)),
                    ("query", models.TextField(default="")),
                    ("prefix", models.CharField(max_length=21)),
                    ("digest", models.CharField(max_length=64, unique=True)),
                    ("created_by", models.TextField()),
                    ("created", models.DateTimeField(auto_now_add=True)),
                    ("expires", models.DateTimeField()),
                    ("used", models.IntegerField(default=0)),
                    ("last_used", models.DateTimeField(null=True)),
                    (
                        "maker",
                        models.ForeignKey(
                            db_constraint=False,
                            null=True,
                            on_delete=models.CASCADE,
                            related_name="+",
                            to=settings.AUTH_USER_MODEL,
                        ),
                    ),
                    (
                        "source",
                        models.ForeignKey(
                            db_constraint=False, on_delete=models.CASCADE, related_name="+", to="timeline.source"
                        ),
                    ),
                ],
            ),
            migrations.CreateModel(
                name="Grant",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    (
                        "role",
                        models.CharField(
                            choices=[
                                ("viewer", "Viewer"),
                                ("responder", "Responder"),
                                ("editor", "Editor"),
                                ("admin", "Admin"),
                            ],
                            max_length=9,
                        ),
                    ),
                    ("namespaces", ArrayField(models.TextField(), default=list)),
                    ("created_by", models.TextField()),
                    ("created", models.DateTimeField(auto_now_add=True)),
                    (
                        "cluster",
                        models.ForeignKey(null=True, on_delete=models.CASCADE, related_name="+", to="timeline.cluster"),
                    ),
                    (
                        "group",
                        models.ForeignKey(null=True, on_delete=models.CASCADE, related_name="grants", to="auth.group"),
                    ),
                    (
                        "source",
                        models.ForeignKey(null=True, on_delete=models.CASCADE, related_name="+", to="timeline.source"),
                    ),
                    (
                        "user",
                        models.ForeignKey(
                            null=True, on_delete=models.CASCADE, related_name="grants", to=settings.AUTH_USER_MODEL
                        ),
                    ),
                ],
                options={
                    "constraints": [
                        models.CheckConstraint(
                            condition=models.Q(
                                models.Q(("group__isnull", False), ("user", None)),
                                models.Q(("group", None), ("user__isnull", False)),
                                _connector="OR",
                            ),
                            name="grant_is_for_one",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(("cluster", None), ("source", None), _connector="OR"),
                            name="grant_is_on_one_thing",
                        ),
                        models.CheckConstraint(
                            condition=models.Q(
                                ("namespaces", []),
                                models.Q(
                                    ("role__in", ["viewer", "responder"]),
                                    models.Q(("cluster__isnull", False), ("source__isnull", False), _connector="OR"),
                                ),
                                _connector="OR",
                            ),
                            name="grant_on_namespaces",
                        ),
                    ]
                },
            ),
            migrations.CreateModel(
                name="AuditRecord",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("at", models.DateTimeField()),
                    ("action", models.CharField(max_length=64)),
                    ("who", models.TextField()),
                    ("way", models.CharField(max_length=16)),
                    ("account", models.BigIntegerField(null=True)),
                    ("role", models.CharField(max_length=16)),
                    ("source", models.BigIntegerField(null=True)),
                    ("cluster", models.BigIntegerField(null=True)),
                    ("thing", models.TextField()),
                    ("name", models.TextField()),
                    ("address", models.TextField()),
                    ("request", models.CharField(max_length=64)),
                    ("outcome", models.CharField(max_length=7)),
                    ("status", models.SmallIntegerField(null=True)),
                    ("details", models.JSONField()),
                    ("once", models.BinaryField(null=True, unique=True)),
                ],
                options={
                    "indexes": [
                        models.Index(fields=["at"], name="audit_at"),
                        models.Index(fields=["who", "-id"], name="audit_who"),
                        models.Index(fields=["action", "-id"], name="audit_action"),
                        models.Index(fields=["source", "-id"], name="audit_source"),
                        models.Index(fields=["cluster", "-id"], name="audit_cluster"),
                        models.Index(fields=["name", "-id"], name="audit_name"),
                    ]
                },
            ),
            migrations.CreateModel(
                name="Destination",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=100, unique=True)),
                    ("kind", models.TextField()),
                    ("sealed", models.BinaryField()),
                    ("shown", models.JSONField(default=dict)),
                    ("created", models.DateTimeField(auto_now_add=True)),
                    ("failures", models.IntegerField(default=0)),
                    ("failing_since", models.DateTimeField(null=True)),
                    ("retry_at", models.DateTimeField(null=True)),
                    ("busy_until", models.DateTimeField(null=True)),
                    ("holder", models.TextField(default="")),
                ],
            ),
            migrations.CreateModel(
                name="Route",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("name", models.CharField(max_length=100, unique=True)),
                    ("place", models.IntegerField()),
                    ("enabled", models.BooleanField(default=True)),
                    ("since", models.DateTimeField()),
                    ("rank", models.SmallIntegerField(default=1)),
                    ("rule", models.TextField(default="")),
                    ("namespace", models.TextField(default="")),
                    ("owner", models.TextField(default="")),
                    ("changes", ArrayField(models.TextField())),
                    ("recordings", models.BooleanField(default=False)),
                    ("stop", models.BooleanField(default=False)),
                    ("grouping", ArrayField(models.TextField())),
                    ("wait_seconds", models.IntegerField(default=30)),
                    ("repeat_minutes", models.IntegerField(default=240)),
                    ("quiet_days", ArrayField(models.SmallIntegerField(), default=list)),
                    ("quiet_from", models.TimeField(null=True)),
                    ("quiet_until", models.TimeField(null=True)),
                    ("quiet_zone", models.TextField(default="UTC")),
                    ("by", models.TextField(default="")),
                    (
                        "cluster",
                        models.ForeignKey(null=True, on_delete=models.CASCADE, related_name="+", to="timeline.cluster"),
                    ),
                    (
                        "source",
                        models.ForeignKey(null=True, on_delete=models.CASCADE, related_name="+", to="timeline.source"),
                    ),
                    ("destinations", models.ManyToManyField(related_name="routes", to="dashboard.destination")),
                ],
            ),
            migrations.CreateModel(
                name="RouteState",
                fields=[
                    (
                        "pk",
                        models.CompositePrimaryKey(
                            "source", "route", "identity", blank=True, editable=False, primary_key=True, serialize=False
                        ),
                    ),
                    ("identity", models.CharField(max_length=16)),
                    ("rank", models.SmallIntegerField()),
                    ("since", models.DateTimeField()),
                    ("group", ArrayField(models.TextField())),
                    ("pending", models.TextField(default="")),
                    ("begun", models.BooleanField(default=False)),
                    ("notified", models.DateTimeField(db_column="told", null=True)),
                    ("refreshed", models.DateTimeField(null=True)),
                    ("last", models.DateTimeField(null=True)),
                    ("message", models.JSONField(default=dict)),
                    ("route", models.ForeignKey(on_delete=models.CASCADE, to="dashboard.route")),
                    (
                        "source",
                        models.ForeignKey(
                            db_constraint=False,
                            db_index=False,
                            on_delete=models.DO_NOTHING,
                            related_name="+",
                            to="timeline.source",
                        ),
                    ),
                ],
                options={
                    "db_table": "dashboard_told",
                    "indexes": [
                        models.Index(
                            condition=models.Q(
                                ("begun", True), models.Q(("pending", ""), _negated=True), _connector="OR"
                            ),
                            fields=["route"],
                            name="told_active",
                        )
                    ],
                },
            ),
            migrations.CreateModel(
                name="Delivery",
                fields=[
                    (
                        "id",
                        models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"),
                    ),
                    ("key", models.CharField(max_length=32, unique=True)),
                    ("group", models.TextField()),
                    ("refresh", models.BooleanField(default=False)),
                    ("messages", models.JSONField()),
                    (
                        "state",
                        models.CharField(
                            choices=[
                                ("waiting", "Waiting"),
                                ("sent", "Sent"),
                                ("refused", "Refused"),
                                ("expired", "Expired"),
                            ],
                            default="waiting",
                            max_length=7,
                        ),
                    ),
                    ("created", models.DateTimeField(auto_now_add=True)),
                    ("expires", models.DateTimeField()),
                    ("attempts", models.IntegerField(default=0)),
                    ("next_at", models.DateTimeField()),
                    ("answer", models.TextField(default="")),
                    ("ended", models.DateTimeField(null=True)),
                    ("destination", models.ForeignKey(on_delete=models.CASCADE, to="dashboard.destination")),
                    ("route", models.ForeignKey(null=True, on_delete=models.SET_NULL, to="dashboard.route")),
                ],
                options={
                    "indexes": [
                        models.Index(
                            condition=models.Q(("state", "waiting")),
                            fields=["destination", "next_at"],
                            name="delivery_waiting",
                        ),
                        models.Index(fields=["-id"], name="delivery_newest"),
                        models.Index(fields=["ended"], name="delivery_ended"),
                    ]
                },
            ),
        ),
        migrations.RunSQL(STAYS),
        first.Cascade("dashboard_grant"),
    ]
