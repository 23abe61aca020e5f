"""Give pydantic-settings the variables of the environment, and put its errors into Causeline's words."""

from typing import Any, Self

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from dashboard.environment.variables import SettingError, text

PREFIX = "CAUSELINE_"


class VariablesOrFiles(PydanticBaseSettingsSource):
    """Read each variable, or the file that `<name>_FILE` names."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[str, str, bool]:
        return text(variable_of(field_name, field), ""), field_name, False

    def __call__(self) -> dict[str, Any]:
        """Return the text of each variable that is set, under the name that pydantic knows it by."""
        found = {}
        for name, field in self.settings_cls.model_fields.items():
            if value := self.get_field_value(field, name)[0]:
                found[str(field.validation_alias or name)] = value
        return found


class Environment(BaseSettings):
    """The base class of settings whose values come from environment variables alone."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", hide_input_in_errors=True)

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], *_: Any, **__: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (VariablesOrFiles(settings_cls),)

    @classmethod
    def read(cls) -> Self:
        """Return the settings. Raises SettingError with one sentence about the first variable that is wrong."""
        try:
            return cls()
        except ValidationError as error:
            sentence = sentence_of(cls, error)
        raise SettingError(sentence)  # outside of the handler, because a chained error would show the value


def written(default: str) -> Any:
    """Return a default in the form in which the variable would be set; the field's type parses it."""
    return default


def variable_of(name: str, field: FieldInfo) -> str:
    """Return the name of a field's variable."""
    return str(field.validation_alias or PREFIX + name.upper())


def range_of(field: FieldInfo) -> tuple[int, int] | None:
    """Return the least and the most of a whole number, or None for a field of another type."""
    bounds = {
        key: value for each in field.metadata for key in ("ge", "le") if (value := getattr(each, key, None)) is not None
    }
    return (bounds["ge"], bounds["le"]) if field.annotation is int else None


def sentence_of(settings: type[BaseSettings], error: ValidationError) -> str:
    """Return a sentence about the first wrong variable: what is wrong, and what to write instead.

    Only values of numbers are shown, because they are never secret. Parsers of texts decide themselves what they show.
    """
    first = error.errors(include_url=False)[0]
    key = str(first["loc"][0])
    ((name, field),) = (each for each in settings.model_fields.items() if key in {each[0], each[1].validation_alias})
    variable = variable_of(name, field)
    if first["type"] == "missing":
        text(variable)  # raises the error that says so
    if bounds := range_of(field):
        given = text(variable)
        shown = given[:40] if given.strip().lstrip("+-").isdecimal() else repr(given[:40])
        return f"{variable} is {shown}; write a whole number from {bounds[0]} to {bounds[1]}."
    return f"{variable} {first['ctx']['error']}"
