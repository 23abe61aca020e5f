"""`make chart` runs this program. It makes again what is derived from other files: the chart's rules of RBAC, its JSON
Schema and README, and the plain manifests in deploy/manifests, which helm renders from the chart.

Comments of values.yaml that begin with `# --` say what the value below them means. The type of a value follows from its
default, except where `schema.SPECIAL` says more.
"""

import argparse
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from collectors.watch import rbac
from dashboard import __version__
from dashboard.environment.declarations import Settings
from dashboard.environment.sources import variable_of
from deploy.chart.schema import OWN, schema

ROOT = Path(__file__).resolve().parent.parent.parent
CHART = ROOT / "deploy/chart/causeline"
MANIFESTS = ROOT / "deploy/manifests"
NAMESPACE = "causeline"


class Value(NamedTuple):
    """One value of the chart: its path such as `web.replicas`, its default, and what it means."""

    path: str
    default: Any
    meaning: str


def tool(name: str) -> str:
    """Return the path of a program that deploy/install-chart-tools.sh installs, or of one in PATH."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "causeline/chart-tools/bin" / name
    found = str(cache) if cache.exists() else shutil.which(name)
    if not found:
        raise SystemExit(f"{name} is not installed; run deploy/install-chart-tools.sh.")
    return found


def values() -> list[Value]:
    """Return the documented values in the order of values.yaml."""
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    meanings = _meanings(text)
    found = []
    for path, default in _leaves(yaml.safe_load(text), (), set(meanings)):
        found.append(Value(path, default, meanings[path]))
    return found


def _meanings(text: str) -> dict[str, str]:
    """Return the comment `# --` of each value, by the path of the key in the line below it."""
    meanings, above, meaning = {}, list[tuple[int, str]](), ""
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("# -- "):
            meaning = stripped.removeprefix("# -- ")
        elif stripped and not stripped.startswith(("#", "-")):
            depth = len(line) - len(line.lstrip())
            while above and above[-1][0] >= depth:
                above.pop()
            above.append((depth, stripped.partition(":")[0]))
            if meaning:
                meanings[".".join(key for _, key in above)] = meaning
            meaning = ""
    return meanings


def _leaves(node: Any, above: tuple[str, ...], documented: set[str]) -> Iterator[tuple[str, Any]]:
    path = ".".join(above)
    if path in documented:
        yield path, node
        return
    if not isinstance(node, dict):
        raise SystemExit(f"{CHART}/values.yaml: {path} has no comment `# --` that says what it means.")
    for key, each in node.items():
        yield from _leaves(each, (*above, key), documented)


def rules() -> dict[str, list[dict[str, Any]]]:
    """Return the rules of RBAC for watching, and for writing Events."""
    objects = yaml.safe_load_all(rbac.manifest([], [], events=True))
    (granted,) = [each["rules"] for each in objects if each["kind"] == "ClusterRole"]
    return {"watching": granted[:-1], "events": granted[-1:]}


def secret_settings() -> list[str]:
    """Return the settings whose values are secrets, which belong into a Secret."""
    fields = Settings.model_fields.items()
    names = (variable_of(name, field) for name, field in fields if not field.repr)
    return sorted(name for name in names if name.startswith("CAUSELINE_") and name not in OWN)


def readme() -> str:
    """Return the README of the chart."""
    rows = "\n".join(
        f"| `{each.path}` | {_shown(each.default)} | {each.meaning.replace('|', chr(92) + '|')} |" for each in values()
    )
    return _README.format(rows=rows)


def _shown(default: Any) -> str:
    return "empty" if default in ("", [], {}) and default is not False else f"`{json.dumps(default)}`"


def render(*arguments: str) -> str:
    """Return what helm renders of the chart."""
    command = [tool("helm"), "template", "causeline", str(CHART), "--namespace", NAMESPACE, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def manifests() -> dict[str, str]:
    """Return the plain manifests by the name of their file. Each is rendered from the values beside it."""
    found = {}
    for given in sorted((MANIFESTS / "values").glob("*.yaml")):
        head = f"# `make chart` made this from deploy/manifests/values/{given.name}; docs/how-to/install-with-helm.md\n"
        head += "# says how to apply it. Before an upgrade, delete the finished Job, which cannot be changed.\n"
        found[given.name] = head + render("--values", str(given)).removeprefix("---\n")
    return found


def derived() -> dict[Path, str]:
    """Return the text of every derived file but the manifests."""
    chart = (CHART / "Chart.yaml").read_text(encoding="utf-8").splitlines()
    named = [line if not line.startswith("appVersion:") else f'appVersion: "{__version__}"' for line in chart]
    defaults = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    return {
        CHART / "Chart.yaml": "\n".join(named) + "\n",
        CHART / "README.md": readme(),
        CHART / "files/rules.json": json.dumps(rules(), indent=1) + "\n",
        CHART / "files/settings.json": json.dumps({"own": OWN, "secret": secret_settings()}, indent=1) + "\n",
        CHART / "files/postgres-role.sh": (ROOT / "deploy/postgres-role.sh").read_text(encoding="utf-8"),
        CHART / "values.schema.json": json.dumps(schema(defaults, values()), indent=1) + "\n",
    }


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    for path, text in derived().items():
        path.write_text(text, encoding="utf-8")
    for name, text in manifests().items():
        (MANIFESTS / name).write_text(text, encoding="utf-8")


_README = """\
# The Helm chart of Causeline

[Install with Helm](../../../docs/how-to/install-with-helm.md) says how to install, upgrade and remove it, what it needs
of your cluster, and what to do when something fails. The values below are made from the comments of `values.yaml` by
`make chart`. A value that is not in this table is refused.

| value | default | meaning |
|---|---|---|
{rows}
"""


if __name__ == "__main__":
    main()
