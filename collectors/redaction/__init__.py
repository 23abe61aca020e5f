"""Remove from what was observed what must never be stored. It does no I/O.

`timeline/core/secret_names.py` decides which names belong to credentials; `forms.py` recognises credentials by their
form. `objects.py` walks an object, `field_names.py` judges its fields, and `roles.py` says what the name of one makes
of others. `text.py` cleans free text: `named_values.py`, `spaced_values.py` and `sections.py` find values by names in
it, and `commands.py` reads arguments and command lines.
`cached.py` cleans objects in JSON in parts, and remembers what it made of parts that rarely change; `unchanged.py`
recognises before that objects which hold nothing to redact, which `neutral.py` tells by their strings.
`intents.py` reads what somebody wants of an object, from the parts that say it. `entries.py` cleans everything in an
entry except the object. `collectors/gate.py` calls all of this for whatever comes from outside.
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
