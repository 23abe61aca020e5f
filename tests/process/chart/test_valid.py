"""These tests check with helm and kubeconform that the chart renders valid objects and refuses wrong values."""

import json
import re
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.chart.derive import CHART, MANIFESTS, derived, manifests, tool, values
from tests import ROOT
from tests.process.chart.schemas import write
from tests.process.chart.shapes import MINIMAL, SHAPES, helm, named, of_kind, rendered, text
from tests.servers.alertmanager import program


def conforms(folder: Path, *files: Path) -> tuple[int, list[dict[str, Any]]]:
    """Return how many objects kubeconform finds valid, and what it says of the others."""
    schemas = folder / "schemas"
    schemas.mkdir()
    command = [tool("kubeconform"), "-strict", "-output", "json", "-summary", "-schema-location", write(schemas)]
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True)
    answer = json.loads(done.stdout)
    return answer["summary"]["valid"], answer["resources"]


def test_every_object_of_every_shape_conforms_to_its_schema(tmp_path: Path) -> None:
    files = []
    for shape in SHAPES:
        files.append(tmp_path / f"{shape}.yaml")
        files[-1].write_text(text(shape), encoding="utf-8")
    valid, complaints = conforms(tmp_path, *files)
    assert complaints == []
    assert valid == sum(len(rendered(shape)) for shape in SHAPES)


def test_the_schemas_are_strict(tmp_path: Path) -> None:
    wrong = [
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"port": [{"port": 80}]}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "b"}, "spec": {"replicas": "two"}},
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "HTTPRoute",
            "metadata": {"name": "c"},
            "spec": {"x": 1},
        },
        {"apiVersion": "example.org/v1", "kind": "Unknown", "metadata": {"name": "d"}},
    ]
    (tmp_path / "wrong.yaml").write_text(yaml.safe_dump_all(wrong), encoding="utf-8")
    valid, complaints = conforms(tmp_path, tmp_path / "wrong.yaml")
    assert valid == 0
    assert {each["name"]: each["status"] for each in complaints} == {
        "a": "statusInvalid", "b": "statusInvalid", "c": "statusInvalid", "d": "statusError"
    }  # fmt: skip


def test_helm_has_no_complaint() -> None:
    done = helm("lint", SHAPES["all"], "--strict")
    assert (done.returncode, "1 chart(s) linted, 0 chart(s) failed" in done.stdout) == (0, True), done.stdout


def test_the_notes_say_what_to_do_next() -> None:
    done = helm("install", SHAPES["all"], "--dry-run=client")
    notes = done.stdout.partition("\nNOTES:\n")[2]
    assert "rollout status deployment/release-causeline-web" in notes, done.stderr
    assert "Open https://causeline.example.org/" in notes
    assert "sends to https://causeline.example.org as prod" in notes
    embedded = helm("install", SHAPES["embedded"], "--dry-run=client").stdout
    assert "lead causeline.example.org to the Service release-causeline, port 80" in embedded
    assert "The embedded servers are for trying" in embedded


def test_no_two_objects_have_the_same_name() -> None:
    for shape in SHAPES:
        found = [
            (each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]) for each in rendered(shape)
        ]
        assert len(found) == len(set(found)), shape
        for kind, namespace, name in found:
            assert (namespace is None) == kind.startswith("ClusterRole")
            assert len(name) <= 63


WRONG: dict[str, Any] = {
    **MINIMAL,
    "server": {**MINIMAL["server"], "settings": {"KEEP_DAYS": 3}},
    "webb": {},
    "web": {"replica": 3, "replicas": "3"},
    "data": {"accessMode": "RWX", "size": "20 GB"},
    "oidc": {"issuer": "http://plain.example.org"},
    "collector": {"url": "http://plain.example.org"},
    "inCluster": {
        "namespaces": ["Shop"],
        "include": ["*", "secrets", "*.", "pods/exec", "widgets.example.org/status"],
    },
}


def test_values_that_cannot_be_meant_are_refused_with_the_place() -> None:
    """No more than custom resources may be watched, too."""
    done = helm("template", WRONG)
    assert done.returncode != 0
    for says in (
        "additional properties 'webb' not allowed",
        "at '/web': additional properties 'replica' not allowed",
        "at '/web/replicas': got string, want integer",
        "must be one of 'ReadWriteMany', 'ReadWriteOnce'",
        "at '/data/size'",
        "at '/oidc/issuer'",
        "at '/collector/url'",
        "invalid propertyName 'KEEP_DAYS'",
        "at '/inCluster/namespaces/0'",
        *(f"at '/inCluster/include/{number}'" for number in range(5)),
    ):
        assert says in done.stderr, done.stderr


def with_setting(**setting: str) -> dict[str, Any]:
    return {**MINIMAL, "server": {**MINIMAL["server"], "settings": setting}}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "image.repository is empty"),
        ({"image": {"repository": "r"}}, "server.existingSecret is empty"),
        ({"image": {"repository": "r"}, "server": {"existingSecret": "s"}}, "server.hosts is empty"),
        ({**MINIMAL, "gateway": {"enabled": True}}, "gateway.parentRefs is empty"),
        ({**MINIMAL, "worker": {"autoscaling": {"by": "keda"}}}, "worker.autoscaling.prometheusAddress is empty"),
        ({**MINIMAL, "oidc": {"enabled": True}}, "oidc.issuer is empty"),
        ({**MINIMAL, "collector": {"enabled": True}}, "collector.url is empty"),
        ({"server": {"enabled": False}}, "Nothing would be installed"),
        (with_setting(CAUSELINE_TOKEN="t" * 32), "settings.CAUSELINE_TOKEN is a secret: write it into the Secret"),
        (with_setting(CAUSELINE_HTTPS="off"), "server.settings.CAUSELINE_HTTPS: this chart sets it"),
    ],
)
def test_what_is_missing_or_belongs_elsewhere_is_said(given: dict[str, Any], says: str) -> None:
    done = helm("template", given)
    assert done.returncode != 0 and says in done.stderr, done.stderr


def test_prometheus_understands_the_alerts(tmp_path: Path) -> None:
    (rule,) = of_kind("all", "PrometheusRule")
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump(rule["spec"]), encoding="utf-8")
    checked = subprocess.run([program("promtool"), "check", "rules", str(file)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    metrics = (ROOT / "docs/metrics.md").read_text(encoding="utf-8")
    for alert in rule["spec"]["groups"][0]["rules"]:
        assert 'namespace="observability"' in alert["expr"]
        assert alert["annotations"]["summary"].endswith(".") and alert["annotations"]["description"].endswith(".")
        for metric in [word for word in alert["expr"].replace("{", " ").replace("(", " ").split() if "_" in word]:
            name = metric.removesuffix("_bucket")
            assert not name.startswith("causeline_") or f"| `{name}` |" in metrics, name
    (first, *_) = rule["spec"]["groups"][0]["rules"]
    assert f'service="{named("all", "Service", "release-causeline-metrics")["metadata"]["name"]}"' in first["expr"]


def test_what_is_derived_is_up_to_date() -> None:
    for path, expected in derived().items():
        assert path.read_text(encoding="utf-8") == expected, f"{path}: run `make chart`"


def test_the_plain_manifests_are_what_the_chart_renders() -> None:
    made = manifests()
    assert made
    assert {path.name for path in MANIFESTS.glob("*.yaml")} == set(made)
    for name, expected in made.items():
        assert (MANIFESTS / name).read_text(encoding="utf-8") == expected, f"{name}: run `make chart`"


def test_every_value_has_a_meaning_and_is_used() -> None:
    templates = "".join(path.read_text(encoding="utf-8") for path in (CHART / "templates").iterdir())
    for each in values():
        assert each.meaning.endswith("."), each.path
        assert each.path.rpartition(".")[2] in templates, f"no template uses {each.path}"


def test_the_values_on_the_page_are_understood() -> None:
    page = (ROOT / "docs/how-to/install-with-helm.md").read_text(encoding="utf-8")
    fragments = [yaml.safe_load(textwrap.dedent(block)) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    rules = [each for each in fragments if "externalRules" in each]
    assert len(rules) == 1 and len(fragments) > 10
    for fragment in fragments:
        if fragment not in rules:
            done = helm("template", {**MINIMAL, **fragment})
            assert done.returncode == 0, f"{fragment}: {done.stderr}"
    asked = [
        metric["external"]["metric"]["name"]
        for scaler in of_kind("all", "HorizontalPodAutoscaler")
        for metric in scaler["spec"]["metrics"]
        if metric["type"] == "External"
    ]
    assert asked == [each["name"]["as"] for each in rules[0]["externalRules"]]
    for manifest in re.findall(r"`([a-z-]+\.yaml)`", page):
        assert (MANIFESTS / manifest).is_file(), manifest
