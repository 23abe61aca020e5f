"""This pure module renders objects as a Table (meta.k8s.io/v1), with the columns that kubectl shows."""

import re
from collections.abc import Iterable, Sequence

import orjson
from msgspec.structs import replace

from collectors.replay.commits import Commit
from collectors.replay.table_columns import Column, Document, columns_of

TABLE, METADATA = "Table", "PartialObjectMetadata"
_AS = re.compile(r"; *as=(\w+)")


def requested_representation(accept: str) -> str:
    """As what a client wants objects, by the first media type that it accepts: Table, PartialObjectMetadata, or ""."""
    found = _AS.search(accept.partition(",")[0])
    return found[1].removesuffix("List") if found else ""


def metadata_of(commit: Commit) -> Commit:
    """The same with its metadata alone."""
    return replace(commit, body=orjson.dumps(_partial(orjson.loads(commit.body))))


def _partial(document: Document) -> Document:
    return {"kind": METADATA, "apiVersion": "meta.k8s.io/v1", "metadata": document["metadata"]}


def table(commits: Iterable[Commit], kind: tuple[str, str], now: int, metadata: Document, *, include: str) -> bytes:
    """A Table of objects of one kind. `include`: Object, Metadata or None, of each behind its row."""
    columns = columns_of(kind)
    return orjson.dumps(
        {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "columnDefinitions": [
                {
                    "name": column.name,
                    "type": "string",
                    "format": "name" if column.name == "Name" else "",
                    "description": "",
                    "priority": int(column.wide),
                }
                for column in columns
            ],
            "rows": [_row(orjson.loads(commit.body), columns, now, include) for commit in commits],
        }
    )


def _row(document: Document, columns: Sequence[Column], now: int, include: str) -> Document:
    row: Document = {"cells": [column.cell(document, now) for column in columns]}
    if include == "Object":
        row["object"] = document
    elif include != "None":
        row["object"] = _partial(document)
    return row
