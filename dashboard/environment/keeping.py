"""Declare how long, and how much, is kept of what Causeline stores."""

from pydantic import Field

from dashboard.environment.parsing import Whole
from dashboard.environment.sources import Environment

KEEP_DAYS_AT_MOST = 36_500  # a hundred years; some thousand years more would lead to dates before year 1
KEEP_BYTES_AT_MOST = 10**18
INCIDENT_MINUTES_AT_MOST = 10_080  # a week
HOURS_AT_MOST = 87_600  # ten years


class Keeping(Environment):
    """How long, and how much, is kept."""

    upload_patience_hours: Whole = Field(
        24,
        ge=1,
        le=HOURS_AT_MOST,
        description=(
            "How long an interrupted upload is kept so that it can be resumed, in hours since its last byte "
            "arrived. From 1 to 87600."
        ),
    )
    keep_days: Whole = Field(
        14,
        ge=1,
        le=KEEP_DAYS_AT_MOST,
        description=(
            "How long the observations of live sources are kept, in days, unless a cluster has its own value. "
            "From 1 to 36500, and the same for a cluster."
        ),
    )
    keep_bytes: Whole = Field(
        0,
        ge=0,
        le=KEEP_BYTES_AT_MOST,
        description=(
            "How many bytes the entries of a cluster may take in the database, unless the cluster has its own "
            "value; the oldest are deleted first, a table at a time. From 0 to 1000000000000000000; 0 sets no "
            "limit."
        ),
    )
    keep_incident_days: Whole = Field(
        0,
        ge=0,
        le=KEEP_DAYS_AT_MOST,
        description=(
            "How long what connected clusters did near incidents is kept, in days, if that is longer than "
            "`CAUSELINE_KEEP_DAYS`, unless a cluster has its own value. From 0 to 36500; 0 keeps it no longer than the "
            "rest."
        ),
    )
    keep_incident_minutes: Whole = Field(
        30,
        ge=1,
        le=INCIDENT_MINUTES_AT_MOST,
        description=(
            "What counts as near an incident for `CAUSELINE_KEEP_INCIDENT_DAYS`, in minutes before and after each time "
            "that it happened, unless a cluster has its own value. From 1 to 10080."
        ),
    )
    recording_days: Whole = Field(
        0,
        ge=0,
        le=KEEP_DAYS_AT_MOST,
        description=(
            "How long recordings are kept, in days since their import, unless a recording has its own value. From 0 "
            "to 36500; 0 keeps them until somebody deletes them."
        ),
    )
    audit_days: Whole = Field(
        365,
        ge=1,
        le=KEEP_DAYS_AT_MOST,
        description=(
            "How long records of the audit trail are kept, which say who did and saw what in Causeline, in days. "
            "From 1 to 36500."
        ),
    )
    alert_days: Whole = Field(
        90,
        ge=1,
        le=KEEP_DAYS_AT_MOST,
        description=(
            "How long alerts that other programs have sent are kept, in days since their last notification came. "
            "From 1 to 36500."
        ),
    )
    alert_count: Whole = Field(
        1_000_000,
        ge=1,
        le=10**9,
        description=(
            "How many alerts are kept. Those whose last notification came first are deleted first. From 1 to "
            "1000000000."
        ),
    )
    live_memory_hours: Whole = Field(
        6,
        ge=1,
        le=HOURS_AT_MOST,
        description=(
            "How long a worker keeps deleted objects of a live source in memory, in hours. Objects that ended "
            "earlier stay in the database and are not judged again. From 1 to 87600."
        ),
    )
