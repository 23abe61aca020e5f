"""Write the software bill of materials (SBOM) of a release: a CycloneDX 1.6 document of the parts of Causeline.

It names the packages of requirements-all.lock, which the image installs, and the vendored files, each of which
has a VENDOR.json beside it.
"""

import json
import re
from datetime import datetime
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata
from pathlib import Path
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.contrib.this.builders import this_component
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import License
from cyclonedx.model.tool import ToolRepository
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

VENDOR = "dashboard/static/dashboard/vendor"
_OWN = "causeline"
_BLOCK = re.compile(
    r"^(?P<name>[a-z0-9-]+)(?:\[\S+\])?==(?P<version>[^\s;]+)(?P<rest>(?:[^\n]*\n)(?: .*\n)*)", re.MULTILINE
)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_VIA = re.compile(r"^    #   ([a-z0-9-]+)", re.MULTILINE)
_ONE_VIA = re.compile(r"^    # via ([a-z0-9-]+)", re.MULTILINE)
_LONGEST_NAME = 64  # characters; some packages write the whole text of the licence into `License:`


class Locked(NamedTuple):
    """A package as a lock file pins it."""

    name: str
    version: str
    sha256: list[str]  # of each file that may be installed
    needed_by: list[str]


class NotValid(Exception):
    """The document does not follow CycloneDX's schema; the message says where."""


def document(source: Path, version: str, made: datetime) -> str:
    """Return the document as JSON.

    The same source tree, version and time always give the same bytes. Raises NotValid.
    """
    packages = locked((source / "requirements-all.lock").read_text(encoding="utf-8"))
    own = Component(
        type=ComponentType.APPLICATION,
        name=_OWN,
        version=version,
        bom_ref=_OWN,
        purl=PackageURL("pypi", name=_OWN, version=version),
        licenses=[_LICENSES.make_from_string("Apache-2.0")],
    )
    components = {_OWN: own} | {package.name: _package(package) for package in packages}
    vendored = [_vendored(about, source) for about in sorted((source / VENDOR).glob("*/VENDOR.json"))]
    bom = Bom(
        metadata=BomMetaData(component=own, timestamp=made, tools=ToolRepository(components=[this_component()])),
        components=[*(components[package.name] for package in packages), *vendored],
        serial_number=uuid5(NAMESPACE_URL, f"{_OWN} {version} {made.isoformat()}"),
    )
    for name, component in components.items():
        needed = [components[package.name] for package in packages if name in package.needed_by]
        bom.register_dependency(component, [*needed, *vendored] if component is own else needed)
    text = JsonV1Dot6(bom).output_as_string(indent=2)
    if error := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        raise NotValid(str(error))
    return text + "\n"


def locked(lock: str) -> list[Locked]:
    """Return the packages of a lock file that uv wrote, in its order."""
    return [
        Locked(
            block["name"],
            block["version"],
            _HASH.findall(block["rest"]),
            _VIA.findall(block["rest"]) + _ONE_VIA.findall(block["rest"]),
        )
        for block in _BLOCK.finditer(lock)
    ]


_LICENSES = LicenseFactory()


def _package(package: Locked) -> Component:
    """Return a package of PyPI. The hashes are those of its files; one of these is installed."""
    page = ExternalReference(
        type=ExternalReferenceType.DISTRIBUTION,
        url=XsUri(f"https://pypi.org/project/{package.name}/{package.version}/"),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=each) for each in package.sha256],
    )
    try:
        licenses = _licenses(metadata(package.name))
    except PackageNotFoundError:  # it is only installed on another platform
        licenses = []
    return Component(
        name=package.name,
        version=package.version,
        bom_ref=package.name,
        purl=PackageURL("pypi", name=package.name, version=package.version),
        external_references=[page],
        licenses=licenses,
    )


def _licenses(about: PackageMetadata) -> list[License]:
    """Return what the metadata of an installed package says: an SPDX expression, a name, or classifiers."""
    declared = next((about[field] for field in ("License-Expression", "License") if field in about), "")
    if declared and "\n" not in declared and len(declared) <= _LONGEST_NAME:
        return [_LICENSES.make_from_string(declared)]
    classified = [
        each.rpartition(" :: ")[2] for each in about.get_all("Classifier", []) if each.startswith("License :: ")
    ]
    return [_LICENSES.make_with_name(each) for each in classified]


def _vendored(about: Path, source: Path) -> Component:
    declared = json.loads(about.read_text(encoding="utf-8"))
    group, _, name = declared["name"].rpartition("/")
    return Component(
        name=name,
        group=group or None,
        version=declared["version"],
        bom_ref=f"{declared['name']}#{declared['file']}",  # one package may have several files here
        purl=PackageURL("npm", namespace=group or None, name=name, version=declared["version"]),
        licenses=[_LICENSES.make_from_string(declared["licence"])],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=declared["sha256"])],
        properties=[Property(name="causeline:path", value=f"{about.parent.relative_to(source)}/{declared['file']}")],
    )
