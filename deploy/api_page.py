"""Write the reference of the HTTP API as one Markdown page, from the OpenAPI description that Causeline serves."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

Schema = dict[str, Any]

_INTRODUCTION = """\
# HTTP API

This page is written from the description that Causeline serves at `/api/docs`, where you can also try requests out.
The API returns everything that the pages show.

Scripts authenticate with the header `Authorization: Bearer TOKEN`, where TOKEN is the
[start-up token](how-to/secure-it.md), or with the cookies of a signed-in user. Times are microseconds since 1970 in UTC
unless a field says otherwise. Errors are JSON objects with `title` and `detail`.
"""


def page(description: Schema) -> str:
    """Return the whole page for an OpenAPI description."""
    return "\n".join([_INTRODUCTION, *_operations(description), *_shapes(description["components"]["schemas"])])


def _operations(description: Schema) -> Iterator[str]:
    tagged: dict[str, list[tuple[str, str, Schema]]] = {}
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            tagged.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
    yield "| operation | what it does |\n|---|---|"
    for method, path, operation in chain.from_iterable(tagged.values()):
        heading = f"{method} {path}"
        yield f"| [{heading}](#{_anchor(heading)}) | {_sentence(operation)} |"
    yield ""
    for tag, operations in tagged.items():
        yield f"## {tag.capitalize()}\n"
        for method, path, operation in operations:
            yield f"### {method} {path}\n"
            yield f"{operation.get('description') or operation['summary']}\n"
            yield from _parameters(operation.get("parameters", []))
            yield from _body(operation.get("requestBody"))
            for status, response in operation["responses"].items():
                yield f"Answers {status}{_answer(response)}.\n"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _sentence(operation: Schema) -> str:
    """Return the first sentence of an operation's description."""
    description: str = operation.get("description") or operation["summary"]
    return re.split(r"(?<=\.)\s", description.strip(), maxsplit=1)[0].replace("\n", " ")


def _parameters(parameters: list[Schema]) -> Iterator[str]:
    if not parameters:
        return
    yield "| parameter | in | type | default |\n|---|---|---|---|"
    for each in parameters:
        schema = each["schema"]
        default = "required" if each.get("required") else _code(schema.get("default"))
        yield f"| `{each['name']}` | {each['in']} | {_type(schema)} | {default} |"
    yield ""


def _body(body: Schema | None) -> Iterator[str]:
    if body is None:
        return
    kinds = [f"`{media}`{_named(content.get('schema', {}))}" for media, content in body["content"].items()]
    yield f"The body is {' or '.join(kinds)}.\n"
    for content in body["content"].values():
        yield from _fields(content.get("schema", {}))


def _answer(response: Schema) -> str:
    named = [_named(content.get("schema", {})) for content in response.get("content", {}).values()]
    return f" with{named[0]}" if any(named) else ""


def _named(schema: Schema) -> str:
    return f" {_type(schema)}" if "$ref" in schema or "items" in schema else ""


def _shapes(schemas: dict[str, Schema]) -> Iterator[str]:
    yield "## Shapes\n"
    for name, schema in sorted(schemas.items()):
        yield f"### {name}\n"
        if about := schema.get("description"):
            yield f"{about}\n"
        yield from _fields(schema)


def _fields(schema: Schema) -> Iterator[str]:
    if not (properties := schema.get("properties")):
        return
    required = set(schema.get("required", ()))
    yield "| field | type |\n|---|---|"
    for name, field in properties.items():
        yield f"| `{name}` | {_type(field, schema.get('$defs'))}{'' if name in required else ', may be absent'} |"
    yield ""


def _type(schema: Schema, local: dict[str, Schema] | None = None) -> str:
    """Return the type in words, with links to the shapes it names."""
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        if local and name in local:
            return "object with " + ", ".join(f"`{field}`" for field in local[name]["properties"])
        return f"[{name}](#{name.lower()})"
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(_type(choice, local) for choice in choices)
    if "enum" in schema or "const" in schema:
        return ", ".join(_code(value) for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'], local)}" if schema.get("items") else "list"
    if isinstance(values := schema.get("additionalProperties"), dict):
        return f"object of {_type(values, local)}"
    return str(schema.get("type", "any")) + _bounds(schema)


def _bounds(schema: Schema) -> str:
    low, high, longest = schema.get("minimum"), schema.get("maximum"), schema.get("maxLength")
    if high is not None and high < 2**31:
        return f", {low} to {high}"
    return f", at most {longest} characters" if longest else ""


def _code(value: object) -> str:
    return "" if value is None else f"`{value}`" if value != "" else '`""`'
