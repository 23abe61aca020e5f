"""These tests check that the rendered objects fit together: what refers to another object, and who reaches whom."""

from typing import Any

import pytest

from tests.process.chart.shapes import SERVER, SHAPES, container, environment, named, of_kind, pods, rendered


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
    assert all(reached("minimal", name) == [53, 5432, 6379] for name in pods("minimal"))
    assert reached("collector", "collector") == [53]
    for shape in SHAPES:  # nothing is reached everywhere
        for policy in of_kind(shape, "NetworkPolicy"):
            assert all(rule.get("to") for rule in policy["spec"].get("egress", [])), policy["metadata"]["name"]
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
