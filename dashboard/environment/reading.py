"""Declare the settings of reading recordings, which commands that need no database read, too."""

from typing import Annotated

from pydantic import Field

from collectors.formats.stream import Limits
from dashboard.environment.parsing import Patterns, Whole, one_of
from dashboard.environment.sources import Environment, written

_LIMITS = Limits()


class Reading(Environment):
    """How much of a recording is read, and what is redacted."""

    line_limit_bytes: Whole = Field(
        _LIMITS.line_bytes,
        ge=1,
        le=1024**3,
        description=(
            "The longest line of a recording, or object in it, in bytes. A longer one is skipped, counted and "
            "shown; a worker needs a few times this much memory. From 1 to 1073741824."
        ),
    )
    content_limit_bytes: Whole = Field(
        _LIMITS.content_bytes,
        ge=1,
        le=10**18,
        description=(
            "How many bytes may come out of the compressed files and archives of one recording, and out of the "
            "changes of a recording of kwok. The rest is not read, and the recording says so. "
            "From 1 to 1000000000000000000."
        ),
    )
    ratio_limit: Whole = Field(
        _LIMITS.ratio,
        ge=1,
        le=10**9,
        description=(
            "How many times its own size a compressed file may unpack to, once more than 256 MiB came out of it. "
            "The rest is not read, and the recording says so. From 1 to 1000000000."
        ),
    )
    member_limit: Whole = Field(
        _LIMITS.members,
        ge=1,
        le=10**9,
        description=(
            "How many files one recording may have, in folders and archives; folders in archives count. Further "
            "files are not read, and the recording says so. From 1 to 1000000000."
        ),
    )
    depth_limit: Whole = Field(
        _LIMITS.depth,
        ge=1,
        le=250,
        description=(
            "How deeply the JSON of a stored object may be nested. A deeper one is skipped, counted and shown. "
            "From 1 to 250."
        ),
    )
    object_limit: Whole = Field(
        _LIMITS.objects,
        ge=1,
        le=10**9,
        description=(
            "How many objects one recording may contain. Reading stops there, and the recording says so. From 1 "
            "to 1000000000."
        ),
    )
    redact: Annotated[str, one_of("normal", "strict")] = Field(
        written("normal"),
        description=(
            "`strict` stores facts and no objects: findings stay the same, and the pages of objects show neither "
            "YAML nor differences ([more](redaction.md#keep-no-objects-at-all))."
        ),
    )
    redact_patterns: Patterns = Field(
        written(""),
        description=(
            "Regular expressions of credentials of your own, one on each line, which are redacted besides all "
            "that Causeline knows ([more](redaction.md#patterns-of-your-own)). Each repetition needs an upper "
            "bound."
        ),
    )
