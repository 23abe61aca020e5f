"""What Django's error page leaves out where CAUSELINE_DEBUG is on: addresses can have passwords in them."""

import re

from django.views.debug import SafeExceptionReporterFilter


class WithoutAddresses(SafeExceptionReporterFilter):
    """Hides settings whose name says that they are an address, beside those that Django hides."""

    hidden_settings = re.compile(f"{SafeExceptionReporterFilter.hidden_settings.pattern}|URL|BROKER", re.IGNORECASE)
