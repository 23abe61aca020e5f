"""This module makes JSON Schemas of Kubernetes objects, which kubeconform would fetch from the internet otherwise.

The Python client has a Pydantic model of each of Kubernetes' own kinds, generated from Kubernetes' OpenAPI document,
and Pydantic makes the schemas of these. Those of other kinds are in CustomResourceDefinitions, which
deploy/install-chart-tools.sh fetches. No schema allows a field that it does not know.
"""

import json
from pathlib import Path
from typing import Any

import yaml
from kubernetes.client import models

from deploy.chart.derive import tool

Schema = dict[str, Any]
# By group and version: the kinds that the chart uses. kubeconform calls the group without a name v1, too.
KINDS = {
    ("v1", "v1"): ["ConfigMap", "PersistentVolumeClaim", "Service", "ServiceAccount"],
    ("apps", "v1"): ["Deployment", "StatefulSet"],
    ("autoscaling", "v2"): ["HorizontalPodAutoscaler"],
    ("batch", "v1"): ["Job"],
    ("networking.k8s.io", "v1"): ["Ingress", "NetworkPolicy"],
    ("policy", "v1"): ["PodDisruptionBudget"],
    ("rbac.authorization.k8s.io", "v1"): ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
}


def write(folder: Path) -> str:
    """Write the schemas of all kinds into a folder. Return the location that kubeconform takes."""
    for (group, version), kinds in KINDS.items():
        (folder / group).mkdir(exist_ok=True)
        for kind in kinds:
            _write(folder, group, version, kind, getattr(models, f"{version.capitalize()}{kind}").model_json_schema())
    for file in (Path(tool("helm")).parent.parent / "crds").glob("*.yaml"):
        definition = yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)["spec"]
        (folder / definition["group"]).mkdir(exist_ok=True)
        for version in definition["versions"]:
            schema = _closed(version["schema"]["openAPIV3Schema"])
            _write(folder, definition["group"], version["name"], definition["names"]["kind"], schema)
    return f"{folder}/{{{{.Group}}}}/{{{{.ResourceKind}}}}-{{{{.ResourceAPIVersion}}}}.json"


def _write(folder: Path, group: str, version: str, kind: str, schema: Schema) -> None:
    (folder / group / f"{kind.lower()}-{version}.json").write_text(json.dumps(schema), encoding="utf-8")


def _closed(schema: Schema) -> Schema:
    """Return the schema of a CustomResourceDefinition without Kubernetes' own words, closed to further fields."""
    made = {key: value for key, value in schema.items() if not key.startswith("x-kubernetes-") and key != "description"}
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["integer", "string"]}
    if properties := schema.get("properties"):
        made["properties"] = {name: _closed(each) for name, each in properties.items()}
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            made["additionalProperties"] = False
    elif isinstance(further := schema.get("additionalProperties"), dict):
        made["additionalProperties"] = _closed(further)
    if items := schema.get("items"):
        made["items"] = _closed(items)
    return made
