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
from tests import variables
from tests.chart.shapes import SHAPES, environment, named, of_kind, pods, rendered
from tests.test_deploy import command_of, dockerfile, services
from tests.variables import OURS, ROOT

SERVER = ("web", "worker", "periodic", "beat", "migrate")
VALUES = {
    "CAUSELINE_SECRET_KEY": "s3cret" * 6,
    "CAUSELINE_OIDC_CLIENT_SECRET": "oidc",
    "CAUSELINE_CREDENTIALS_KEY": "s3cret" * 7,
    "metrics": "m" * 40,
}
VALUES |= {"DATABASE_URL": "postgresql://causeline:p@db/causeline", "REDIS_URL": "redis://:p@valkey:6379/0"}


def container(pod: dict[str, Any]) -> dict[str, Any]:
    (only,) = pod["spec"]["containers"]
    found: dict[str, Any] = only
    return found


def selected(shape: str, selector: dict[str, Any]) -> set[str]:
    """Return the components whose Pods a selector of labels selects."""
    found = set()
    for component, pod in pods(shape).items():
        labels = pod["metadata"]["labels"]
        if all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items()) and all(
            labels.get(each["key"]) in each["values"] for each in selector.get("matchExpressions", [])
        ):
            found.add(component)
    return found


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


@pytest.mark.parametrize("shape", ["minimal", "all", "sign-in"])
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
    queues = {pods("all")[name]["spec"]["containers"][0]["args"][6] for name in ("worker", "periodic")}
    assert queues == set(app.conf.task_queues)


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


@pytest.mark.parametrize("shape", SHAPES)
def test_everything_that_is_referred_to_is_there(shape: str) -> None:
    names = {(each["kind"], each["metadata"]["name"]) for each in rendered(shape)}
    for each in of_kind(shape, "Deployment", "StatefulSet"):
        component = each["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/component"]
        assert selected(shape, each["spec"]["selector"]) == {component}
    for pod in pods(shape).values():
        account = pod["spec"].get("serviceAccountName")
        assert account is None or ("ServiceAccount", account) in names
        for volume in pod["spec"]["volumes"]:
            claim = volume.get("persistentVolumeClaim", {}).get("claimName", "uploads")
            assert claim == "uploads" or ("PersistentVolumeClaim", claim) in names
    for service in of_kind(shape, "Service"):
        (component,) = selected(shape, {"matchLabels": service["spec"]["selector"]})
        ports = {port["name"] for port in container(pods(shape)[component])["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
    for budget in of_kind(shape, "PodDisruptionBudget"):
        assert len(selected(shape, budget["spec"]["selector"])) == 1
    for scaler in of_kind(shape, "HorizontalPodAutoscaler", "ScaledObject"):
        deployment = named(shape, "Deployment", scaler["spec"]["scaleTargetRef"]["name"])
        assert "replicas" not in deployment["spec"], "an upgrade would undo the scaling"
    for bound in of_kind(shape, "RoleBinding", "ClusterRoleBinding"):
        assert (bound["roleRef"]["kind"], bound["roleRef"]["name"]) in names
        assert {("ServiceAccount", each["name"]) for each in bound["subjects"]} <= names


def test_traffic_is_led_to_the_service_and_read_by_prometheus() -> None:
    service = named("all", "Service", "release-causeline")
    (ingress,), (route,) = of_kind("all", "Ingress"), of_kind("all", "HTTPRoute")
    hosts = ["causeline.example.org", "causeline.internal"]
    assert [rule["host"] for rule in ingress["spec"]["rules"]] == hosts == route["spec"]["hostnames"]
    for rule in ingress["spec"]["rules"]:
        backend = rule["http"]["paths"][0]["backend"]["service"]
        assert backend == {"name": service["metadata"]["name"], "port": {"name": service["spec"]["ports"][0]["name"]}}
    (backend,) = route["spec"]["rules"][0]["backendRefs"]
    assert backend == {"name": service["metadata"]["name"], "port": service["spec"]["ports"][0]["port"]}
    assert route["spec"]["rules"][0]["timeouts"] == {"request": "0s"}
    assert of_kind("ingress", "Ingress")[0]["spec"]["tls"] == [
        {"hosts": ["causeline.example.org"], "secretName": "causeline-tls"}
    ]
    (monitor,) = of_kind("all", "ServiceMonitor")
    wanted = monitor["spec"]["selector"]["matchLabels"]
    watched = [each for each in of_kind("all", "Service") if wanted.items() <= each["metadata"]["labels"].items()]
    assert [each["metadata"]["name"] for each in watched] == ["release-causeline-metrics"]
    assert monitor["spec"]["endpoints"][0]["port"] == watched[0]["spec"]["ports"][0]["name"]


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


def test_only_who_watches_has_a_token_of_kubernetes() -> None:
    for shape in SHAPES:
        expected = {"collector"} | ({"worker"} if SHAPES[shape].get("inCluster") else set())
        mounting = {name for name, pod in pods(shape).items() if pod["spec"]["automountServiceAccountToken"]}
        assert mounting == expected & set(pods(shape))


def reached(shape: str, component: str) -> list[int | str]:
    """Return the ports that the Pods of a component may connect to."""
    found = []
    for policy in of_kind(shape, "NetworkPolicy"):
        if component in selected(shape, policy["spec"]["podSelector"]):
            for rule in policy["spec"].get("egress", []):
                found += [port["port"] for port in rule["ports"]]
    return sorted(set(found))


def test_each_part_reaches_what_it_needs_and_nothing_else() -> None:
    (deny,) = [each for each in of_kind("all", "NetworkPolicy") if each["metadata"]["name"].endswith("-deny")]
    assert selected("all", deny["spec"]["podSelector"]) == set(pods("all"))
    assert deny["spec"]["policyTypes"] == ["Ingress", "Egress"] and len(deny["spec"]) == 2
    outside = [53, 443, 587, 5432, 6379, 6443]
    assert {name: reached("all", name) for name in pods("all")} == {
        "web": outside, "worker": outside, "periodic": outside,
        "beat": [53, 5432, 6379], "migrate": [53, 5432, 6379], "collector": [53, 443, 6443],
    }  # fmt: skip
    assert reached("embedded", "postgresql") == reached("embedded", "valkey") == [53]
    assert of_kind("plain", "NetworkPolicy") == []


def test_migrations_run_before_the_new_pods_and_after_an_embedded_server_is_there() -> None:
    hooks = {}
    for shape in ("minimal", "embedded"):
        (job,) = of_kind(shape, "Job")
        hooks[shape] = job["metadata"]["annotations"]["helm.sh/hook"]
        assert "serviceAccountName" not in job["spec"]["template"]["spec"], "the account does not exist that early"
    assert hooks == {"minimal": "pre-install,pre-upgrade", "embedded": "post-install,pre-upgrade"}
    assert of_kind("plain", "Job") == []


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


def test_pods_that_share_a_volume_of_one_node_are_kept_on_one_node() -> None:
    for component, pod in pods("one node").items():
        shares = {"persistentVolumeClaim"} & {key for volume in pod["spec"]["volumes"] for key in volume}
        if not shares:
            continue
        (term,) = pod["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert term["topologyKey"] == "kubernetes.io/hostname"
        assert selected("one node", term["labelSelector"]) == {"web", "worker", "periodic"}, component
        assert "topologySpreadConstraints" not in pod["spec"]


def test_a_pooler_and_secrets_of_others_are_used() -> None:
    for component in SERVER:
        given = environment(pods("pooler")[component])
        assert given["DATABASE_URL"] == {"name": "causeline-app", "key": "pooler"}
        assert given["CAUSELINE_DATABASE_DIRECT_URL"] == {"name": "causeline-app", "key": "uri"}
        assert given["REDIS_URL"] == {"name": "valkey", "key": "uri"}
