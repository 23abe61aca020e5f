"""`python -m dashboard.management [--migrate] FUNCTION OPTIONS` does what a command of `causeline` does.

FUNCTION is one of this package, such as `accounts.activate`, and OPTIONS are its arguments as JSON.
"""

import json
import sys

import django
from django.core.management import call_command

from dashboard.management.performing import perform


def main() -> int:
    """Call the function, once the database is migrated if that is asked for. Return the exit status."""
    *flags, function, options = sys.argv[1:]
    django.setup()
    if "--migrate" in flags:
        call_command("migrate", verbosity=0)
    return perform(function, json.loads(options))


if __name__ == "__main__":
    sys.exit(main())
