"""These tests compare docs/settings.md with the code: each variable is there, with its default and meaning."""

import re

from tests import ROOT, variables
from timeline.judge import rulebook
from timeline.judging.rulebook import settings

DOCS = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
DEVELOPMENT = ("Makefile", "deploy/bootstrap.sh", "deploy/install-browser.sh", "deploy/install-kubectl.sh")


def table(heading: str) -> dict[str, tuple[str, str]]:
    """Return default and meaning of each variable in the table below a heading."""
    section = DOCS.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+) \| ([^|]+) \|$", section, re.MULTILINE)
    assert len(rows) == len(dict.fromkeys(name for name, _, _ in rows)) == section.count("\n| `")
    return {name: (default, meaning) for name, default, meaning in rows}


def interpolated() -> dict[str, str]:
    """Return the default (`:-`) or the message (`:?`) of each variable that docker-compose.yml takes from its user."""
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    return dict(re.findall(r"\$\{(\w+)(:[-?][^}]*)\}", text))


def test_every_variable_is_documented_and_every_documented_one_is_read() -> None:
    assert set(table("Causeline")) == set(variables.settings()) | variables.elsewhere()


def test_the_documented_default_and_meaning_are_those_in_the_code() -> None:
    documented = table("Causeline")
    for name, variable in variables.settings().items():
        default, meaning = documented[name]
        assert meaning == variable.meaning, name
        if variable.required:
            assert default == "required", name
        elif variable.default is not None:
            assert default == (f"`{variable.default}`" if variable.default else "empty"), name
        else:
            assert default not in {"required", "empty"}, name
    for name, (least, most) in variables.ranges().items():
        assert f"From {least} to {most}" in documented[name][1], name


def test_each_number_has_a_range() -> None:
    numbers = {name for name, each in variables.settings().items() if re.fullmatch(r"\d+", each.default or "")}
    assert numbers and numbers <= set(variables.ranges())


def test_what_compose_asks_for_is_documented_with_its_default() -> None:
    own = {name: given for name, given in interpolated().items() if name not in variables.settings()}
    documented = table("docker-compose.yml")
    assert set(documented) == set(own)
    for name, given in own.items():
        default, _ = documented[name]
        assert default == ("required" if given.startswith(":?") else f"`{given[2:]}`")


def test_what_is_documented_for_development_is_read_there() -> None:
    code = "\n".join((ROOT / name).read_text(encoding="utf-8") for name in DEVELOPMENT)
    read = set(re.findall(r"\$[({](PYTHON|\w+_ARGS|CAUSELINE_BROWSER)\b", code))
    assert set(table("Development")) == read


def test_every_threshold_of_a_rule_is_documented_with_its_default_and_meaning() -> None:
    rulebook()
    rows = {}
    for variable, setting in settings.items():
        unit = setting.unit or ("count" if float(setting.default).is_integer() else "part")
        rows[variable] = (f"`{setting.default:g}` | {unit}", setting.meaning)
    assert table("Rules") == rows


def test_every_limit_on_what_is_read_is_reported_where_formats_are() -> None:
    formats = (ROOT / "docs/formats.md").read_text(encoding="utf-8")
    limits = re.compile(r"CAUSELINE_[A-Z]+_LIMIT(?:_BYTES)?")
    declared = {name for name in variables.settings() if limits.fullmatch(name)}
    assert set(limits.findall(formats)) == declared - {"CAUSELINE_UPLOAD_LIMIT_BYTES"}


def test_the_tables_are_found() -> None:
    assert {"CAUSELINE_SECRET_KEY", "DATABASE_URL", "REDIS_URL"} <= set(table("Causeline"))
    assert variables.settings()["CAUSELINE_UPLOAD_LIMIT_BYTES"].default == "4294967296"
