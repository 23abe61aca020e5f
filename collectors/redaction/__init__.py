"""Pure: what must never be stored is taken out of everything that is observed, before anything else sees it.

`timeline/core/secret_names.py` says by which names a credential is known, `forms.py` which are known by themselves.
`objects.py` walks an object, `text.py` reads the texts in it, `commands.py` arguments and command lines. `quick.py`
does the same of JSON, and quickly; `entries.py` of everything in an entry besides the object. docs/redaction.md
describes it for users.
"""

from collectors.redaction.cached import redact_json
from collectors.redaction.objects import redact
from collectors.redaction.policy import PatternError, Policy, current, use
from timeline.core.masks import BY_FORM, BY_NAME, COPY, OWN

__all__ = [
    "BY_FORM",
    "BY_NAME",
    "COPY",
    "OWN",
    "PatternError",
    "Policy",
    "current",
    "redact",
    "redact_json",
    "use",
]
