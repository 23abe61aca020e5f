"""Declare the comparison document, which `causeline compare --output json`, the API and the page use.

Lengths of time are in seconds, as [least, most] between which they are known to lie.
"""

from typing import Literal

from typing_extensions import TypedDict  # Pydantic does not accept that of typing before Python 3.12

from timeline.payloads.findings import ObjectPayload

DifferenceType = Literal["outcome", "missing", "extra", "order", "finding", "delay", "actor", "spec"]


class RunPayload(TypedDict):
    label: str
    objects: int
    first: str | None  # ISO 8601 UTC; None if nothing was observed
    last: str | None
    url: str  # the page of the owner; "" in a document of the command line


class DifferencePayload(TypedDict):
    """This is one thing in which the bad run differs from all good runs."""

    type: DifferenceType
    role: str  # which objects it is about: "Pod", "Service that it needs"
    subject: str  # what of them: "last Pod created", "spec.parallelism", the id of a rule
    text: str  # one sentence
    good: list[str]  # what the good runs show
    bad: list[str]  # what the bad run shows
    others: list[str]  # of an order: the further steps that changed places with the subject
    good_runs: int  # in how many good runs it holds
    of_runs: int  # of how many in which it could hold
    sure: bool  # false if an object may only not have been seen
    ratio: list[float | None] | None  # of a delay: [least, most] times as long as in the good runs; most may be unknown
    good_seconds: list[float] | None
    bad_seconds: list[float] | None
    objects: list[
        ObjectPayload
    ]  # objects of the bad run that it is about; of what is missing, those of a good run; at most 5


class StepPayload(TypedDict):
    """This is a step of the work, with the time since the owner was created."""

    role: str
    step: str  # "first Pod created"
    good: list[float] | None  # [least, most] seconds over all good runs; negative before the owner was created
    bad: list[float] | None  # None, as above, if no clock tells when; or if the step was not seen
    good_runs: int  # in how many good runs it was seen
    of_runs: int
    seen: bool  # whether it was seen in the bad run
    differs: bool  # whether a difference is about it


class OwnerComparisonPayload(TypedDict):
    """This compares the runs of one owner."""

    role: str  # "Job report-0 in nightly"
    good: list[ObjectPayload | None]  # the owner in each good run; None if it has none
    bad: ObjectPayload | None
    differences: list[DifferencePayload]
    more_differences: int  # that are not listed
    steps: list[StepPayload]  # in the order in which the good runs took them; at most 60


class ComparisonPayload(TypedDict):
    """This is the comparison document `causeline.comparison/v1`."""

    schema: Literal["causeline.comparison/v1"]
    good: list[RunPayload]
    bad: RunPayload
    common: list[DifferencePayload]  # writers and fields that differ alike in three owners or more; not repeated below
    owners: list[OwnerComparisonPayload]  # those that differ, the most different ones first
    more_owners: int  # that differ and are not listed
    alike: int  # owners that were compared and do not differ, or only as `common` says
    differences: int  # of all owners
    notes: list[str]  # what could not be compared, and why
