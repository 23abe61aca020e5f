"""This module lists where credentials stand in texts and objects that people write and programs say."""

from typing import Any

import orjson

from tests.inputs.credentials import M, encoded, planted

SHAPES = dict(enumerate(planted("shapes.list")))  # notations, commands, messages
OBJECTS: dict[int, Any] = dict(enumerate(map(orjson.loads, planted("objects.list"))))  # fields of objects
OBJECTS[len(OBJECTS)] = {"spec": {"userDataBase64": encoded(f"#cloud-config\npassword: {M}")}}
