"""Declare the line of the audit trail as it is exported: one JSON object on each line.

It imports no Django, so that `causeline schema audit` is quick.
"""

import json
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter
from typing_extensions import TypedDict

SCHEMA = "causeline.audit/v1"


class AuditLine(TypedDict):
    """One record of what somebody did or saw in Causeline. Unknown fields may be added in later versions."""

    schema: Literal["causeline.audit/v1"]
    id: Annotated[int, Field(description="Grows with each record. Numbers may be missing.")]
    at: Annotated[str, Field(description="When, in UTC, such as 2026-11-23T09:40:00.123456Z.")]
    action: Annotated[str, Field(description="What was done; docs/how-to/share-and-audit.md lists the actions.")]
    who: Annotated[
        str, Field(description="The name of the account or the token, or the user of the machine; empty if unknown.")
    ]
    way: Annotated[str, Field(description="How they came in, such as account, token, link or command.")]
    account: Annotated[int | None, Field(description="The number of the account.")]
    role: Annotated[str, Field(description="The role at the time: viewer, responder, editor or admin; or empty.")]
    source: Annotated[int | None, Field(description="The number of the recording, or of what was watched.")]
    cluster: Annotated[int | None, Field(description="The number of the connected cluster.")]
    thing: Annotated[str, Field(description="What exactly, such as an incident with its id.")]
    name: Annotated[str, Field(description="The name of the source, the cluster or the thing at the time.")]
    address: Annotated[str, Field(description="The network address that the request came from.")]
    request: Annotated[str, Field(description="The id of the request, as in the log and in X-Request-ID.")]
    outcome: Annotated[Literal["done", "refused", "failed"], Field(description="What came of it.")]
    status: Annotated[int | None, Field(description="The HTTP status of the answer.")]
    details: Annotated[dict[str, str | int], Field(description="More fields, which depend on the action.")]


def schema() -> str:
    """Return the JSON Schema of a line as text."""
    return json.dumps(_schema(), indent=2, ensure_ascii=False) + "\n"


def _schema() -> dict[str, Any]:
    made = TypeAdapter(AuditLine).json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA} | {
        key: value for key, value in made.items() if key != "title"
    }
