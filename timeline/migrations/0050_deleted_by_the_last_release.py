"""Let the last release delete sources, clusters and uploads during a rolling upgrade.

It does not know these tables, so the database deletes their rows. Django cannot say that of a model yet. What a legal
hold keeps, the last release still cannot delete.
"""

from django.db import migrations

TABLES = (
    "timeline_share",
    "timeline_freed",
    "timeline_usage",
    "timeline_collector",
    "timeline_collected_batch",
    "timeline_portion",
    "timeline_portion_part",
)
CASCADE = """
    DO $$
    DECLARE found record;
    BEGIN
        FOR found IN
            SELECT conrelid::regclass AS name, conname, pg_get_constraintdef(oid) AS text FROM pg_constraint
            WHERE contype = 'f' AND confdeltype = 'a' AND conrelid::regclass::text IN ({tables})
        LOOP
            EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %I %s', found.name, found.conname,
                           found.conname, replace(found.text, ' DEFERRABLE', ' ON DELETE CASCADE DEFERRABLE'));
        END LOOP;
    END $$"""


class Migration(migrations.Migration):
    dependencies = [("timeline", "0049_divided")]

    operations = [
        migrations.RunSQL(CASCADE.format(tables=", ".join(f"'{table}'" for table in TABLES)), migrations.RunSQL.noop)
    ]
