#!/bin/sh
# Install what the tests of the Helm chart need, unless it is there: helm and kubeconform, which are built from their Go
# modules (that takes some minutes, once), and the CustomResourceDefinitions that the chart can make objects of.
# Go checks each module against its public checksum database. Everything is kept in the user's cache.
set -eu
HELM=helm.sh/helm/v4/cmd/helm@v4.3.1
KUBECONFORM=github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0
GATEWAY=sigs.k8s.io/gateway-api@v1.6.3
PROMETHEUS=github.com/prometheus-operator/prometheus-operator@v0.94.1
KEDA=github.com/kedacore/keda/v2@v2.20.2

cache="${XDG_CACHE_HOME:-$HOME/.cache}/causeline/chart-tools"
versions="$HELM $KUBECONFORM $GATEWAY $PROMETHEUS $KEDA"
if [ "$(cat "$cache/versions" 2>/dev/null)" = "$versions" ]; then
    exit
fi

go=go
if ! command -v go >/dev/null; then
    go=/usr/local/go/bin/go
fi
if ! command -v "$go" >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends golang-go
    go=go
fi
if ! command -v "$go" >/dev/null; then
    echo "causeline: the tests of the chart need Go 1.21 or newer; install it and try again." >&2
    exit 1
fi
# helm needs a newer Go than some systems have; Go 1.21 and newer fetch that by themselves with this setting.
export GOTOOLCHAIN="${GOTOOLCHAIN:-auto}" GOFLAGS=

mkdir -p "$cache/bin" "$cache/crds"
cd "$cache"
echo "causeline: building helm and kubeconform; this takes some minutes, once." >&2
GOBIN="$cache/bin" "$go" install "$KUBECONFORM"
GOBIN="$cache/bin" "$go" install "$HELM"

# fetch MODULE FILE...: copy files of a module into the folder crds.
fetch() {
    folder=$("$go" mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
    shift
    for file in "$@"; do
        cp "$folder/$file" "$cache/crds/"
        chmod u+w "$cache/crds/$(basename "$file")"
    done
}
fetch "$GATEWAY" config/crd/standard/gateway.networking.k8s.io_httproutes.yaml
fetch "$PROMETHEUS" example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml \
    example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml
fetch "$KEDA" config/crd/bases/keda.sh_scaledobjects.yaml
echo "$versions" >versions
