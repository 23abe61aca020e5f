"""Read what the addresses and forms of pages ask for. What cannot be read answers 400, and what does not exist 404."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from django.core.exceptions import BadRequest
from django.http import Http404
from pydantic import BaseModel, ValidationError

from timeline.core.numbers import whole_number
from timeline.queries.sources import extents
from timeline.queries.syntax import WrongTerm

if TYPE_CHECKING:
    from django.http import HttpRequest, QueryDict

    from timeline.queries.sources.extents import SourceRow

NOTE = 2000  # characters of a note
_Schema = TypeVar("_Schema", bound=BaseModel)


class NoteTooLong(BadRequest):
    """A note has too many characters. The message is a sentence for the person who wrote it."""


class WrongSearch(BadRequest):
    """A search has a term that means nothing here. The message is a sentence for the person who wrote it."""


def source_of(source_id: int) -> "SourceRow":
    """Return the source that an address names. Raises Http404."""
    found = extents.source(source_id)
    if found is None:
        raise Http404("No such recording.")
    return found


def number(request: "HttpRequest", name: str) -> int | None:
    """Return the whole number that a parameter of the address gives; None without one."""
    return whole_number(request.GET.get(name, ""), digits=17)  # a time in microseconds is before the year 5139


def checked(schema: type[_Schema], given: Mapping[str, object]) -> _Schema:
    """Return the parameters of an address as a schema describes them. Raises BadRequest, which names the wrong ones,
    and WrongSearch for a term of a search."""
    try:
        return schema.model_validate(given)
    except ValidationError as error:
        for each in error.errors():
            if isinstance(reason := each.get("ctx", {}).get("error"), WrongTerm):
                raise WrongSearch(str(reason)) from None
        wrong = ", ".join(str(each["loc"][0]) for each in error.errors())
        raise BadRequest(f"The address has a parameter that is not valid: {wrong}.") from None


def text_of(form: "QueryDict", name: str) -> str:
    """Return what was written into a field of a form, without NUL, which PostgreSQL cannot store."""
    return form.get(name, "").replace("\0", "").replace("\r\n", "\n").strip()


def note_of(form: "QueryDict", most: int = NOTE) -> str:
    """Return the note that a form has. Raises NoteTooLong."""
    written = text_of(form, "note")
    if len(written) > most:
        raise NoteTooLong(f"The note has {len(written)} characters; {most} are the most.")
    return written


def person(request: "HttpRequest") -> str:
    """Return the name of the signed-in user; "" without accounts."""
    return request.user.get_username() if request.user.is_authenticated else ""
