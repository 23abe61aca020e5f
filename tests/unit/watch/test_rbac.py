"""These tests check which rights Causeline asks a cluster for, and what rules lack without them."""

import pytest
import yaml

from collectors.watch import rbac
from collectors.watch.access import affected_rules
from dashboard.cli import __main__ as cli


def test_the_manifest_grants_what_is_watched_and_no_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    manifest = rbac.manifest(["*.example.com", "rollouts.argoproj.io", "secrets"], ["events"])
    documents = list(yaml.safe_load_all(manifest))
    kinds = ["Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Secret"]
    assert [each["kind"] for each in documents] == kinds
    rules = {rule["apiGroups"][0]: rule for rule in documents[2]["rules"]}
    assert all(rule["verbs"] == ["get", "list", "watch"] for rule in rules.values())
    assert {"pods", "services", "configmaps", "persistentvolumeclaims"} <= set(rules[""]["resources"])
    assert not {"secrets", "events"} & set(rules[""]["resources"])
    assert rules["example.com"]["resources"] == ["*"] and rules["argoproj.io"]["resources"] == ["rollouts"]
    assert "jobs" in rules["batch"]["resources"] and "jobs" in rules["batch.volcano.sh"]["resources"]
    assert cli.main(["connect", "--print-rbac", "--include", "rollouts.argoproj.io"]) == 0
    assert "rollouts" in capsys.readouterr().out


def test_rules_say_what_they_lack() -> None:
    affected = {each.rule: each for each in affected_rules({"Pod"})}
    assert affected["pod-before-service"].wholly and not affected["missing-reference"].wholly
    assert "lease-stolen" not in affected
