"""This module keeps addresses, which may have passwords, out of Django's error page where CAUSELINE_DEBUG is on."""

import re

from django.views.debug import SafeExceptionReporterFilter


class WithoutAddresses(SafeExceptionReporterFilter):
    """Hides settings whose name says that they are an address, beside those that Django hides."""

    hidden_settings = re.compile(f"{SafeExceptionReporterFilter.hidden_settings.pattern}|URL|BROKER", re.IGNORECASE)
