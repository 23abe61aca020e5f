"""The class that all management commands of Causeline extend."""

from django.core.management import base


class BaseCommand(base.BaseCommand):
    """Run a command without Django's system checks, which import all pages and take a second."""

    requires_system_checks = ()
