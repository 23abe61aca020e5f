"""This module has the class that all management commands of Causeline extend."""

from django.core.management import base


class BaseCommand(base.BaseCommand):
    """This command runs without Django's system checks, which import all pages and take a second."""

    requires_system_checks = ()
