"""This migration gives every account the grants for what it could do before there were roles."""

from typing import Any

from django.conf import settings
from django.db import migrations


def give_roles(apps: Any, schema_editor: object) -> None:
    """Make administrators of those who were staff, and responders of the others: everybody could see everything,
    acknowledge, silence and upload. Who has uploaded a recording is its editor without a grant."""
    User = apps.get_model(settings.AUTH_USER_MODEL)
    Grant = apps.get_model("dashboard", "Grant")
    Grant.objects.bulk_create(
        [
            Grant(user_id=number, role="admin" if staff else "responder", created_by="upgrade")
            for number, staff in User.objects.filter(grants=None).values_list("pk", "is_staff")
        ],
        batch_size=1000,
    )


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0008_audit_records")]

    operations = [migrations.RunPython(give_roles, migrations.RunPython.noop)]
