"""Declare what narrows lists and windows: the fields of filters, which are the parameters of addresses.

Pages, the HTTP API, reports, shared and embedded views and the tools for agents read and write their parameters by
these classes. `js/state/store.js` has the same names.
"""

from typing import Annotated, Any, Literal, Self
from urllib.parse import urlencode

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from timeline.core.actors import is_called
from timeline.core.times import LATEST
from timeline.judging.findings import Severity
from timeline.payloads.findings import IncidentRowPayload, IncidentState
from timeline.payloads.incidents.making import words
from timeline.queries.syntax import WrongTerm, read

LEAST = 4  # characters of an identity that name an incident where they name only one
NOT_KNOWN = "?"  # as an actor: changes without a known maker

Number = Annotated[int, Field(ge=0, le=2**63 - 1)]
Words = Annotated[str, Field(max_length=1000, pattern=r"^[^\x00]*$")]  # PostgreSQL knows no NUL character
Time = Annotated[int, Field(ge=0, le=LATEST)]  # microseconds since 1970
Key = Annotated[str, Field(max_length=16, pattern=r"^[0-9a-f]*$")]  # of a finding or an incident


def _listed(given: Any) -> Any:
    """Return the items of a parameter, between which commas stand, in one text or in several."""
    texts = [given] if isinstance(given, str) else given
    if any("\0" in text or len(text) > 1000 for text in texts):
        raise ValueError("it has more than 1000 characters, or a NUL character")
    return tuple(word for text in texts for word in text.split(",") if word)


Listed = Annotated[tuple[str, ...], BeforeValidator(_listed), WithJsonSchema({"type": "string"})]


class Filter(BaseModel):
    """What everything is narrowed by that findings are about. The default matches everything."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    namespace: Words = ""
    rule: Words = ""
    severity: Literal[Severity, ""] = ""

    def parameters(self, **further: int | str | bool | None) -> dict[str, str]:
        """Return the parameters of an address with this filter, and further ones, without those that say nothing."""
        own = {name: _written(value) for name, value in self.model_dump(exclude_defaults=True).items()}
        further = {name: value for name, value in further.items() if value is not None and value is not False}
        return {name: _written(value) for name, value in further.items() if value != ""} | own

    def query(self, **further: int | str | bool | None) -> str:
        """Return the query of an address with these parameters: "?namespace=shop"; "" without any."""
        return f"?{urlencode(given)}" if (given := self.parameters(**further)) else ""

    def but(self, **changed: Any) -> Self:
        """Return the same filter with some fields changed, which are not checked again."""
        return self.model_copy(update=changed)


class ActorFilter(Filter):
    """A filter that also knows who wrote what."""

    # An account or a program: only lanes that it changed, and incidents whose proofs it wrote, with their findings.
    actor: Words = ""


class ObjectFilter(ActorFilter):
    """A filter that also knows kinds and names of objects, which are those of one source."""

    kinds: Listed = ()  # families, as the overview names them
    name: Words = ""  # a part of the names of objects, or of the summary of a finding
    kind: Listed = ()  # kinds as kubectl names them: deployments, po; unlike `kinds`, which names families of kinds
    node: Words = ""  # a node: only Pods that were on it, and itself; with "*" for any characters
    image: Words = ""  # a part of the image of a container: only Pods that had it

    def narrowing(self) -> dict[str, Any]:
        """Return the fields by which lanes, findings and incidents are narrowed alike."""
        return {name: getattr(self, name) for name in ObjectFilter.model_fields}


class IncidentFilter(ActorFilter):
    """What a list of incidents is narrowed by."""

    state: Literal[IncidentState, ""] = ""
    start: Time | None = None  # those that happened at or after it; microseconds since 1970, as the next one
    end: Time | None = None
    q: Words = ""  # words of the title, of names, or of actors; and terms, which are read as other parameters
    harmless: bool = True  # also infos without an effect; they are listed in any case if the severity is "info"
    silenced: bool = False  # also those that a silence or the baseline takes out of the lists
    acknowledged: bool = True  # also those that somebody has acknowledged

    @model_validator(mode="before")
    @classmethod
    def _with_terms(cls, given: Any) -> Any:
        """Return the parameters with those that the terms of `q` mean (see `queries.syntax`), and `q` without them."""
        text = given.get("q") if isinstance(given, dict) else None
        if not isinstance(text, str) or ":" not in text:
            return given
        found = read(text)
        if other := found.fields.keys() - cls.model_fields.keys():
            terms = ", ".join(f"{name.removesuffix('s')}:" for name in sorted(other))
            raise WrongTerm(f"{terms} can be searched in one cluster or recording, not in all of them.")
        return {**given, **found.fields, "q": found.words}

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.start is not None and self.end is not None and self.start > self.end:
            raise WrongTerm("The time since which incidents are asked for lies after the time until which they are.")
        return self

    def matches(self, row: IncidentRowPayload) -> bool:
        """Return whether an incident matches, as the database decides it for all sources."""
        named = [text for each in row["symptoms"] for text in (each["title"], each["anchor"]["name"], *each["names"])]
        text = words(row["title"], named, row["actors"])
        return (
            self.severity in ("", row["severity"])
            and (self.harmless or self.severity == "info" or row["severity"] != "info" or row["effect"] != "none")
            and (not self.rule or self.rule in row["rules"])
            and (not self.namespace or self.namespace in row["anchored_in"])
            and self.state in ("", row["state"])
            and (not self.actor or _is_by(row["actors"], self.actor))
            and all(word in text or is_named(row["id"], word) for word in self.q.lower().split())
            and (self.start is None or row["end"] >= self.start)
            and (self.end is None or row["start"] <= self.end)
        )


def is_named(identity: str, word: str) -> bool:
    """Return whether a word is the identity of an incident, or begins it."""
    return len(word) >= LEAST and identity.startswith(word)


def _is_by(actors: list[str], actor: str) -> bool:
    return not actors if actor == NOT_KNOWN else any(is_called(each, actor) for each in actors)


class SourceIncidentFilter(IncidentFilter, ObjectFilter):
    """What the incidents of one source are narrowed by."""

    root: Number | None = None  # only those that name this root owner (`Track.root`), or an object that it owns
    track: Number | None = None  # only those that name this object (`Track.id`), in any incarnation, or what it owns


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    return str(int(value) if isinstance(value, bool) else value)
