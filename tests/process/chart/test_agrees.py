"""These tests compare what the chart renders with the application: its settings, commands, probes, ports and rights."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from celery import Celery
from django.urls import resolve

from collectors.watch import rbac
from dashboard.celery import app
from dashboard.cli import __main__ as cli
from dashboard.cli.collect import collect
from deploy.chart.derive import secret_settings
from tests import ROOT, variables
from tests.process.chart.shapes import SERVER, SHAPES, container, environment, named, of_kind, pods
from tests.process.deploy.test_deploy import command_of, dockerfile, services
from tests.variables import OURS

VALUES = {
    "CAUSELINE_SECRET_KEY": "s3cret" * 6,
    "CAUSELINE_OIDC_CLIENT_SECRET": "oidc",
    "CAUSELINE_CREDENTIALS_KEY": "s3cret" * 7,
    "metrics": "m" * 40,
}
VALUES |= {"DATABASE_URL": "postgresql://causeline:p@db/causeline", "REDIS_URL": "redis://:p@valkey:6379/0"}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_pod_is_restricted_and_writes_only_to_its_volumes(shape: str) -> None:
    """https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted"""
    for component, pod in pods(shape).items():
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True and spec["securityContext"]["runAsUser"] > 0
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & set(spec)
        allowed = container(pod)["securityContext"]
        assert allowed["allowPrivilegeEscalation"] is False and allowed["privileged"] is False
        assert allowed["capabilities"] == {"drop": ["ALL"]}
        assert allowed["readOnlyRootFilesystem"] is True
        volumes = {each["name"]: set(each) - {"name"} for each in spec["volumes"]}
        assert set().union(*volumes.values()) <= {"configMap", "emptyDir", "persistentVolumeClaim", "secret"}
        mounted = {each["mountPath"]: each["name"] for each in container(pod)["volumeMounts"]}
        claimed = {"buffer"} if component == "collector" else {"data"}
        assert set(mounted.values()) - claimed <= set(volumes)
        assert "/tmp" in mounted and container(pod)["resources"]["limits"]["memory"]
        if component in SERVER:
            assert environment(pod)["CAUSELINE_DATA_DIR"] in mounted
            assert component in {"beat", "migrate"} or mounted["/var/lib/causeline"] == "data"


@pytest.mark.parametrize("shape", SHAPES)
def test_every_setting_is_one_and_secrets_come_from_secrets(shape: str) -> None:
    known = variables.settings()
    for component, pod in pods(shape).items():
        given = {name: value for name, value in environment(pod).items() if OURS.fullmatch(name)}
        if component in SERVER:
            assert set(given) <= set(known)
            assert {name for name, each in known.items() if each.required} <= set(given)
        else:  # a setting of a command that reads it itself may be given as a file, as any other
            assert {name.removesuffix("_FILE") for name in given} <= {
                each.removesuffix("_FILE") for each in {*known, *variables.elsewhere()}
            }
        for name in {*secret_settings(), "CAUSELINE_SECRET_KEY", "CAUSELINE_CREDENTIALS_KEY"} & set(given):
            assert set(given[name]) - {"optional"} == {"name", "key"}
    assert of_kind(shape, "Secret") == []


@pytest.mark.parametrize("shape", ["all", "sign-in"])
def test_the_settings_start_with_what_the_chart_gives(shape: str) -> None:
    given = {
        name: value if isinstance(value, str) else VALUES[value["key"]]
        for name, value in environment(pods(shape)["web"]).items()
    }
    code = """if True:
        import json
        from dashboard import settings
        print(json.dumps([settings.ALLOWED_HOSTS, settings.ADDRESS, settings.HTTPS, settings.METRICS_PORT,
                          str(settings.HEARTBEAT_FILE), settings.KEEP_BYTES, settings.METRICS_TOKEN]))
    """
    done = subprocess.run([sys.executable, "-c", code], env=given, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    hosts, address, *others = json.loads(done.stdout)
    more = ["causeline.internal"] if shape == "all" else []
    assert (hosts, address) == (["causeline.example.org", *more, "127.0.0.1"], "https://causeline.example.org")
    given_by_people = [10**12, "m" * 40] if shape == "all" else [0, ""]
    assert others == [True, 9464, "/tmp/heartbeat", *given_by_people]


def test_the_commands_are_those_of_compose() -> None:
    for component, pod in pods("minimal").items():
        assert "command" not in container(pod), "arguments replace the image's own command"
        arguments = container(pod)["args"]
        if component == "worker":
            at = arguments.index("--concurrency")
            del arguments[at : at + 2]
        elif component == "beat":
            at = arguments.index("--pidfile")
            del arguments[at : at + 2]
        assert arguments == command_of(component), component
    assert dockerfile("ENTRYPOINT") == []
    assert isinstance(app, Celery)
    given = [pods("all")[name]["spec"]["containers"][0]["args"] for name in ("worker", "periodic")]
    assert {each[each.index("--queues") + 1] for each in given} == set(app.conf.task_queues)


def test_the_collector_is_a_command_that_finds_its_settings() -> None:
    pod = pods("collector of namespaces")["collector"]
    program, *words = container(pod)["args"]
    assert program == "causeline" and cli._parser().parse_args(words).run is collect
    given, mounts = environment(pod), container(pod)["volumeMounts"]
    assert (given["CAUSELINE_COLLECT_URL"], given["CAUSELINE_COLLECT_CLUSTER"]) == (
        "https://causeline.example.org",
        "prod",
    )
    assert given["CAUSELINE_COLLECT_NAMESPACES"] == "shop,payments"
    folders = {each["mountPath"]: each["name"] for each in mounts}
    for variable, volume in (("TOKEN", "token"), ("CA", "authority"), ("BUFFER", "buffer")):
        path = given[f"CAUSELINE_COLLECT_{variable}_{'DIR' if variable == 'BUFFER' else 'FILE'}"]
        assert folders[str(Path(path).parent)] == volume
    (claim,) = named("collector of namespaces", "StatefulSet", "watcher-collector")["spec"]["volumeClaimTemplates"]
    assert claim["metadata"]["name"] == "buffer"
    assert int(given["CAUSELINE_COLLECT_BUFFER_BYTES"]) < 10 * 2**30, claim["spec"]["resources"]
    lost = pods("all")["collector"]["spec"]["volumes"]
    assert {"name": "buffer", "emptyDir": {"sizeLimit": "10Gi"}} in lost


def test_probes_ask_what_the_application_answers() -> None:
    for shape in ("minimal", "all"):
        web = container(pods(shape)["web"])
        ports = {each["name"]: each["containerPort"] for each in web["ports"]}
        assert ports == {
            "http": int(web["args"][-1]),
            "metrics": int(environment(pods(shape)["web"])["CAUSELINE_METRICS_PORT"]),
        }
        asked = {probe: web[f"{probe}Probe"]["httpGet"] for probe in ("startup", "liveness", "readiness")}
        assert [resolve(each["path"]).url_name for each in asked.values()] == ["live", "live", "health"]
        for each in asked.values():
            headers = {header["name"]: header["value"] for header in each["httpHeaders"]}
            assert headers["Host"] in environment(pods(shape)["web"])["CAUSELINE_HOSTS"].split(",")
            assert headers["X-Forwarded-Proto"] == "https" and each["port"] == "http"
        for component in {"worker", "periodic", "beat", "collector"} & set(pods(shape)):
            pod = pods(shape)[component]
            for probe in ("startup", "liveness"):
                *_, command = container(pod)[f"{probe}Probe"]["exec"]["command"]
                assert command == services()["worker"]["healthcheck"]["test"][1]
                assert f"find {environment(pod)['CAUSELINE_HEARTBEAT_FILE']} " in command


def rights(rules: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    """Return each right that rules of RBAC give: the API group, the resource and the verb."""
    return {
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def needed(kind: str = "ClusterRole", **options: Any) -> set[tuple[str, str, str]]:
    """Return the rights that `causeline connect --print-rbac` prints."""
    arguments = {"include": [], "exclude": [], **options}
    printed = [each for each in yaml.safe_load_all(rbac.manifest(**arguments)) if each["kind"] == kind]
    return rights(printed[0]["rules"])


def test_who_watches_has_the_rights_that_watching_needs_and_no_others() -> None:
    (role,) = of_kind("collector", "ClusterRole")
    assert rights(role["rules"]) == needed()
    for shape, names, events in (
        ("collector of namespaces", ["shop", "payments"], False),
        ("in-cluster namespaces", ["shop"], True),
    ):
        roles = of_kind(shape, "Role")
        assert [role["metadata"]["namespace"] for role in roles] == names
        assert [bound["metadata"]["namespace"] for bound in of_kind(shape, "RoleBinding")] == names
        assert of_kind(shape, "ClusterRole", "ClusterRoleBinding") == []
        for role in roles:
            assert rights(role["rules"]) == needed("Role", namespaces=names, events=events)
    for component in ("worker", "collector"):
        role = named("all", "ClusterRole", f"observability-release-causeline-{component}")
        given = SHAPES["all"]["inCluster" if component == "worker" else "collector"]
        chosen = {name: given.get(name, []) for name in ("include", "exclude")}
        assert rights(role["rules"]) == needed(**chosen)
    for shape in SHAPES:
        for role in of_kind(shape, "Role", "ClusterRole"):
            for group, resource, verb in rights(role["rules"]):
                assert resource != "secrets" and verb != "*" and (resource != "*" or group == "example.org")
        for bound in of_kind(shape, "RoleBinding", "ClusterRoleBinding"):
            assert {each["namespace"] for each in bound["subjects"]} == {"observability"}


def test_the_embedded_servers_are_those_of_compose() -> None:
    ours = pods("embedded")
    assert container(ours["postgresql"])["image"] == f"docker.io/library/{services()['postgres']['image']}"
    assert container(ours["valkey"])["image"] == f"docker.io/{services()['valkey']['image']}"
    assert container(ours["valkey"])["command"][-1] == services()["valkey"]["command"][-1]
    script = named("embedded", "ConfigMap", "release-causeline-postgresql")["data"]["causeline.sh"]
    assert script.strip() == (ROOT / "deploy/postgres-role.sh").read_text(encoding="utf-8").strip()
    assert os.access(ROOT / "deploy/postgres-role.sh", os.X_OK)
    given = environment(ours["web"])
    assert given["DATABASE_URL"].replace("$(POSTGRES_PASSWORD)", "p") == (
        "postgresql://causeline:p@release-causeline-postgresql:5432/causeline"
    )
    names = list(given)
    assert names.index("POSTGRES_PASSWORD") < names.index("DATABASE_URL"), "a variable refers to earlier ones only"
    assert names.index("VALKEY_PASSWORD") < names.index("REDIS_URL")
