"""An analysis as one HTML file that needs nothing else: no server, no network, no files beside it.

Django's template engine alone is used, without its settings, which is why all values handed to it are text.
"""

import importlib.metadata
import tomllib
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from django.template import Context, Engine
from django.utils.safestring import mark_safe

from collectors.analysis import Analysis
from collectors.formats import Skipped
from dashboard import figures, inlining, wording
from dashboard.catalogue import sections, words
from timeline import documents
from timeline.coverage import coverage, judgeable
from timeline.excerpt import excerpt
from timeline.judge import rulebook
from timeline.payloads import FindingGroupPayload
from timeline.rulebook import Finding, settings
from timeline.verdicts import duration

_HOME = Path(__file__).resolve().parent
_SHEETS = ("palette", "base", "timeline", "findings", "controls", "document", "report")
_STAND_INS = {f"js/{name}.js": f"js/report/{name}.js" for name in ("api", "address", "links")}
_SKIPPED = 200  # reasons shown
_LINES = 8  # lines told of each
_NAMES = 12  # files named in the title
_FINDINGS = 1000  # told; a file with many more would be too large to send
_OPEN = 40  # findings shown with their proof from the start


def page(
    analysis: Analysis,
    findings: Sequence[Finding],
    *,
    title: str = "",
    rules: Collection[str] = (),
    namespaces: Collection[str] = (),
) -> str:
    """The whole file; the same bytes for the same recording. By `rules` and `namespaces` the findings were chosen."""
    drawn = excerpt(analysis.world, findings, namespaces)
    every = drawn.findings
    groups = every[:_FINDINGS]
    folder = wording.folder({proof["file"] for group in groups for proof in group["proof"] if proof["file"]})
    context = {
        **_assets(),
        **_summary(analysis, every),
        **_seen(analysis),
        "title": title or _title(analysis.name),
        "only_rules": ", ".join(rules),
        "only_namespaces": ", ".join(namespaces),
        "settings": [f"{each.variable} = {each.value:g}" for each in settings.values() if each.value != each.default],
        "drawn": wording.count(len(drawn.window["lanes"])),
        "lanes": wording.count(drawn.lanes),
        "left_out": wording.some(drawn.lanes - len(drawn.window["lanes"])),
        "merged": wording.some(drawn.window["merged"]),
        "findings_shown": wording.count(len(groups)),
        "findings_more": wording.some(len(every) - len(groups)),
        "groups": [_group(group, folder, index < _OPEN) for index, group in enumerate(groups)],
        "rules": [
            {"id": rule.id, "title": rule.title, "sections": sections(rule)}
            for rule in rulebook()
            if any(group["rule"] == rule.id for group in groups)
        ],
        "held": {"overview": drawn.overview, "window": drawn.window, "findings": groups},
    }
    engine = Engine(dirs=[str(folder) for folder in (_HOME.parent / "templates", _HOME / "templates")])
    rendered: str = engine.get_template("report.html").render(Context(context))
    return rendered


def _assets() -> dict[str, Any]:
    """Styles, scripts and pictures, and the policy that lets these and nothing else in."""
    styles = inlining.styles(f"css/{name}.css" for name in _SHEETS)
    scripts = {
        "theme": inlining.script("js/theme.js"),
        "plotly": inlining.script("vendor/plotly/plotly-cartesian.min.js"),
        "module": inlining.module("js/report/report.js", _STAND_INS),
    }
    return {
        "version": version(),
        "logo": inlining.data_url(inlining.STATIC / "logo.svg"),
        # Plotly fills the second, empty sheet by calls, which no policy forbids; else it would add one of its own.
        "policy": inlining.policy(scripts.values(), [styles, ""]),
        "styles": mark_safe(styles),
        "scripts": {name: mark_safe(code) for name, code in scripts.items()},
        "skeletons": figures.skeletons(),
    }


def _summary(analysis: Analysis, groups: Sequence[FindingGroupPayload]) -> dict[str, Any]:
    first, last = analysis.world.first, analysis.world.last
    counts = Counter(group["severity"] for group in groups)
    return {
        "name": analysis.name,
        "source": {"name": analysis.name, "skipped": wording.some(analysis.skips)},
        "coverage_page": "#seen",
        "nothing": analysis.nothing,
        "clocks": analysis.clocks,
        "span": wording.span(first, last),
        "length": duration(last - first),
        "entries": f"{wording.count(analysis.entries)} change{'s' if analysis.entries != 1 else ''}",
        "counts": [
            {
                "severity": severity,
                "count": wording.count(counts[severity]),
                "word": wording.plural(severity, counts[severity]),
            }
            for severity in ("error", "warning", "info")
            if counts[severity]
        ],
    }


def _seen(analysis: Analysis) -> dict[str, Any]:
    """What was seen, what can be judged by it, and what was skipped."""
    rows = coverage(analysis.world)
    titles = {rule.id: rule.title for rule in rulebook()}
    shown = analysis.skipped_alike()[:_SKIPPED]
    return {
        "judged": [
            {
                "rule": each.rule,
                "title": titles[each.rule],
                "verdict": each.told,
                "can": each.verdict != "not",
                "why": each.why,
                "remedies": each.remedy.splitlines(),
            }
            for each in judgeable(rows, rulebook())
        ],
        "coverage": [
            {
                "name": row.name,
                "level": row.level,
                "state": row.followed,
                "holes": wording.some(row.holes),
                "entries": wording.count(row.entries),
            }
            for row in rows
        ],
        "skipped": [_skip(alike) for alike in shown],
        "skipped_more": wording.some(analysis.skips - sum(map(len, shown))),
    }


def _skip(alike: Sequence[Skipped]) -> dict[str, str]:
    """What was skipped of one file for one reason; first what is more than a line."""
    lines = [wording.count(each.line) for each in alike if each.line]
    more = f" and {wording.count(len(lines) - _LINES)} more" if len(lines) > _LINES else ""
    return {"file": alike[0].file, "lines": ", ".join(lines[:_LINES]) + more, "reason": alike[0].reason}


def version() -> str:
    """Of Causeline: as installed, else as the checkout says."""
    try:
        return importlib.metadata.version("causeline")
    except importlib.metadata.PackageNotFoundError:
        project = tomllib.loads((_HOME.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return str(project["version"])


def _title(name: str) -> str:
    names = ["standard input" if part == "-" else Path(part).name or part for part in name.split(", ")]
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return ", ".join(names[:_NAMES]) + more


def _group(group: FindingGroupPayload, folder: str, early: bool) -> dict[str, Any]:
    several = group["findings"] if len(group["findings"]) > 1 else []
    return {
        "key": group["key"],
        "open": early and group["severity"] != "info",
        "severity": group["severity"],
        "summary": group["summary"],
        "clock": wording.clock(documents.timestamp(group["start"]))[:12],
        "verdict": group["verdict"],
        "status": group["status"],
        "rule": group["rule"],
        "namespace": group["namespace"],
        "effect": group["effect"],
        "effect_text": group["effect_text"],
        "why": words(group["why"]),
        "proof": [wording.proof(proof, folder) for proof in group["proof"]],
        "objects": [each["subject"]["name"] for each in several],
        "count": wording.count(len(several)) if several else "",
        "often": [wording.often(each) for each in group["findings"] if each["count"] > 1 and not several],
        "advice": [words(line) for line in group["advice"]],
    }
