"""This test checks which objects every namespace or node has."""

from timeline.layout.furniture import is_furniture


def test_furniture_is_what_every_namespace_or_node_has() -> None:
    assert is_furniture("", "ConfigMap", "shop", "kube-root-ca.crt")
    assert is_furniture("", "ServiceAccount", "shop", "default")
    assert is_furniture("coordination.k8s.io", "Lease", "kube-node-lease", "node-1")
    assert not is_furniture("coordination.k8s.io", "Lease", "kube-system", "kube-scheduler")
    assert not is_furniture("", "ConfigMap", "shop", "settings")
