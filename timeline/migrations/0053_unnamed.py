"""A track knows the keys of stored entries of its name that carry no UID and that have no track of their own, because a
watch shows the same changes with one."""

from django.db import migrations

_ADD = "ALTER TABLE timeline_track ADD COLUMN unnamed bigint[]"
_REMOVE = "ALTER TABLE timeline_track DROP COLUMN unnamed"


class Migration(migrations.Migration):
    dependencies = [("timeline", "0052_lives")]

    operations = [migrations.RunSQL(_ADD, _REMOVE)]
