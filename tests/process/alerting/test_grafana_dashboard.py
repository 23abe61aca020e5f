"""These tests check the dashboard for Grafana: its metrics exist, Prometheus understands its queries, and its form is
that of Grafana's classic dashboards, as far as that can be checked without Grafana."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests import ROOT
from tests.database.metrics.test_metrics import documented
from tests.servers.alertmanager import program

DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy/grafana/causeline.json").read_text(encoding="utf-8"))
PANELS: list[dict[str, Any]] = [each for each in DASHBOARD["panels"] if each["type"] != "row"]
QUERIES = [target["expr"] for panel in PANELS for target in panel["targets"]]
OWN = re.compile(r"max(?: by \(([^)]*)\))? ?\((?:rate\()?(causeline_\w+)\{([^}]*)\}")
ADDED = {"_bucket": {"le"}, "_count": set[str](), "_sum": set[str]()}  # by the parts of a histogram


def metric(name: str) -> tuple[str, set[str]]:
    """Return the documented name and the labels of a metric, or of a part of a histogram."""
    part = next((part for part in ADDED if name.endswith(part) and name not in documented()), "")
    name = name.removesuffix(part) if part else name
    return name, documented()[name][1] | ADDED.get(part, set())


def test_every_metric_exists_with_its_labels() -> None:
    for query in QUERIES:
        named = re.findall(r"causeline_\w+", query)
        assert named == [name for _, name, _ in OWN.findall(query)], "figures of several web processes count once"
        for by, name, selected in OWN.findall(query):
            documented_name, labels = metric(name)
            assert documented_name in documented()
            assert {each.strip() for each in by.split(",") if each.strip()} == labels, query
            assert set(re.findall(r"(\w+)=", selected)) <= labels | {"job"}
    written = " ".join(each["legendFormat"] for panel in PANELS for each in panel["targets"])
    known = {label for _, labels, _ in documented().values() for label in labels}
    assert set(re.findall(r"\{\{(\w+)\}\}", written)) <= known


def test_prometheus_understands_every_query(tmp_path: Path) -> None:
    filled = [each.replace("$__rate_interval", "5m").replace("$job", ".+") for each in QUERIES]
    rules = [{"record": f"panel:{at}", "expr": expression} for at, expression in enumerate(filled)]
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}), encoding="utf-8")
    checked = subprocess.run([program("promtool"), "check", "rules", str(file)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"{len(rules)} rules found" in checked.stdout


def test_the_dashboard_has_the_form_of_a_classic_dashboard() -> None:
    assert isinstance(DASHBOARD["schemaVersion"], int) and "id" not in DASHBOARD and "__inputs" not in DASHBOARD
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", DASHBOARD["uid"]) and DASHBOARD["title"]
    assert set(DASHBOARD["time"]) == {"from", "to"} and isinstance(DASHBOARD["annotations"]["list"], list)
    names = [each["name"] for each in DASHBOARD["templating"]["list"]]
    assert names == ["datasource", "job"]
    used = set(re.findall(r"\$\{?(\w+)", json.dumps(DASHBOARD["panels"]))) - {"__rate_interval"}
    assert used <= set(names)
    ids = [each["id"] for each in DASHBOARD["panels"]]
    assert len(ids) == len(set(ids))
    for panel in PANELS:
        assert panel["type"] in {"timeseries", "stat"} and panel["title"] and panel["description"].endswith(".")
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert set(panel["fieldConfig"]) == {"defaults", "overrides"} and panel["fieldConfig"]["defaults"]["unit"]
        letters = [each["refId"] for each in panel["targets"]]
        assert len(letters) == len(set(letters)) > 0


def test_no_two_panels_lie_on_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for each in DASHBOARD["panels"]:
        at = each["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] >= 0 and at["x"] + at["w"] <= 24 and not cells & taken, each["title"]
        taken |= cells


def test_what_is_known_of_clusters_sources_requests_and_imports_has_a_panel() -> None:
    parts = ("causeline_source_", "causeline_cluster_", "causeline_http_", "causeline_ingested_")
    for name in (each for each in documented() if each.startswith(parts)):
        assert any(name in query for query in QUERIES), name
