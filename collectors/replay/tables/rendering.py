"""Render objects as a Table (meta.k8s.io/v1), with the columns that kubectl shows. It does no I/O."""

import re
from collections.abc import Iterable, Sequence

import orjson
from msgspec.structs import replace

from collectors.replay.commits import Commit
from collectors.replay.tables.columns import Column, Document, columns_of

TABLE, METADATA = "Table", "PartialObjectMetadata"
_AS = re.compile(r"; *as=(\w+)")


def requested_representation(accept: str) -> str:
    """Return which form of objects a client accepts first: Table, PartialObjectMetadata, or "" for whole objects."""
    found = _AS.search(accept.partition(",")[0])
    return found[1].removesuffix("List") if found else ""


def metadata_of(commit: Commit) -> Commit:
    """Return the commit with only the metadata of its object."""
    return replace(commit, body=orjson.dumps(_partial(orjson.loads(commit.body))))


def _partial(document: Document) -> Document:
    return {"kind": METADATA, "apiVersion": "meta.k8s.io/v1", "metadata": document["metadata"]}


def table(commits: Iterable[Commit], kind: tuple[str, str], now: int, metadata: Document, *, include: str) -> bytes:
    """Return a Table of objects of one kind. `include` is what each row has of its object: Object, Metadata or None."""
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
