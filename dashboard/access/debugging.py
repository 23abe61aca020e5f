"""Keep addresses, which may have passwords, out of Django's error page where CAUSELINE_DEBUG is on."""

import re

from django.views.debug import SafeExceptionReporterFilter


class WithoutAddresses(SafeExceptionReporterFilter):
    """Hide the settings that Django hides, and those whose names say that they are addresses."""

    hidden_settings = re.compile(f"{SafeExceptionReporterFilter.hidden_settings.pattern}|URL|BROKER", re.IGNORECASE)
