"""Remove from everything that is observed what must never be stored, before anything else sees it. It does no I/O.

`timeline/core/secret_names.py` decides which names belong to credentials; `forms.py` recognises credentials by their
form. `objects.py` walks an object, `field_names.py` judges its fields, and `roles.py` says what the name of one makes
of others. `text.py` cleans free text: `named_values.py`, `spaced_values.py` and `sections.py` find values by names in
it, and `commands.py` reads arguments and command lines.
`cached.py` cleans objects in JSON quickly: `unchanged.py` skips those that hold nothing to redact, which
`neutral.py` tells by their strings, `apart.py` redacts single fields such as environments by themselves, and
`parts.py` looks up what is known of specs and managedFields.
`entries.py` cleans everything in an entry except the object, and `screening.py` finds out for many entries at once that
nothing in them has to be cleaned.
docs/redaction.md is for users.
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
