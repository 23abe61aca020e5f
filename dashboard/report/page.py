"""This module writes a recording, or a part of it, as one HTML file that needs no server, no network and no other file.

Django's template engine alone is used, without its settings, which is why all values handed to it are text.
"""

from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from django.template import Context, Engine, Template
from django.utils.safestring import mark_safe

from collectors.analysis import Analysis
from dashboard import __version__
from dashboard.drawing import figures
from dashboard.presentation import pills, wording
from dashboard.presentation.bidi import shown
from dashboard.presentation.catalogue import sections, words
from dashboard.report import inlining
from timeline.core.durations import duration
from timeline.judge import rulebook
from timeline.judging.findings import Finding
from timeline.judging.rulebook import settings
from timeline.layout import outline
from timeline.layout.excerpt import excerpt
from timeline.payloads import documents
from timeline.payloads.findings import AcknowledgementPayload, FindingGroupPayload, SourceDocumentPayload
from timeline.payloads.measuring import StepsPayload
from timeline.payloads.windows import OverviewPayload, WindowPayload

_HOME = Path(__file__).resolve().parent.parent
_SHEETS = ("palette", "base", "timeline", "findings", "controls", "document", "report")
_STAND_INS = {f"js/state/{name}.js": f"js/report/{name}.js" for name in ("api", "address", "links")}
_SKIPPED = 200  # files and reasons that are shown
_NAMES = 12  # files named in the title
FINDINGS = 1000  # the most findings that are listed; a file with more would be too large to send
_OPEN = 40  # findings shown with their proof from the start


class Contents(NamedTuple):
    """These are the contents of a report, from a database or from an analysis."""

    name: str  # of the recording
    title: str
    nothing: str  # why there is nothing to judge; "" where there is
    first: int  # the start of what is drawn, in microseconds since 1970
    last: int
    entries: str  # how many changes there were, in words
    overview: OverviewPayload
    window: WindowPayload  # of all lanes that are drawn
    lanes: int  # the number of lanes, drawn or not
    findings: list[FindingGroupPayload]  # the gravest first
    findings_total: int
    coverage: SourceDocumentPayload
    skipped: list[tuple[str, int, str]]  # file, line, reason
    skips: int  # all that was skipped
    mostly_skipped: Sequence[str]  # a sentence for each file of which most was skipped
    chosen: list[tuple[str, str]]  # the filters of findings and lanes: a heading, and words
    steps: StepsPayload | None  # for measuring; None where there are too many changes
    search: str = ""  # of the timeline that the report opens with


def page(
    analysis: Analysis,
    findings: Sequence[Finding],
    *,
    title: str = "",
    rules: Collection[str] = (),
    namespaces: Collection[str] = (),
) -> str:
    """Return the report of an analysis. `rules` and `namespaces` say how the findings were filtered."""
    drawn = excerpt(analysis.world, findings, namespaces)
    chosen = [("Rules", rules), ("Namespaces", namespaces)]
    return rendered(
        Contents(
            name=analysis.name,
            title=title or _title(analysis.name),
            nothing=analysis.nothing,
            first=analysis.world.first,
            last=analysis.world.last,
            entries=f"{wording.count(analysis.entries)} change{'s' if analysis.entries != 1 else ''}",
            overview=drawn.overview,
            window=drawn.window,
            lanes=drawn.lanes,
            findings=drawn.findings[:FINDINGS],
            findings_total=len(drawn.findings),
            coverage=documents.as_read(documents.source_document(analysis.world, rulebook()), analysis.skipped),
            skipped=[(each.file, each.line, each.reason) for each in analysis.skipped],
            skips=analysis.skips,
            mostly_skipped=analysis.mostly_skipped,
            chosen=[(heading, f"only {', '.join(names)}") for heading, names in chosen if names],
            steps=outline.steps(analysis.world.commits()) if analysis.entries <= outline.STEPS else None,
        )
    )


def rendered(contents: Contents) -> str:
    """Return the whole file. The same contents give the same bytes."""
    groups, window = contents.findings, contents.window
    folder = wording.folder({proof["file"] for group in groups for proof in group["proof"] if proof["file"]})
    skipped = wording.skipped(contents.skipped)
    changed = [f"{each.variable} = {each.value:g}" for each in settings.values() if each.value != each.default]
    context = {
        **_assets(),
        "name": contents.name,
        "title": contents.title,
        "source": {"name": contents.name, "skipped": wording.some(contents.skips)},
        "coverage_page": "#seen",
        "gaps": sum(kind["holes"] for kind in contents.coverage["coverage"]),
        "nothing": contents.nothing,
        "clocks": contents.coverage["clocks"],
        "mostly_skipped": contents.mostly_skipped[:_NAMES],
        "span": wording.span(contents.first, contents.last),
        "length": duration(contents.last - contents.first),
        "entries": contents.entries,
        "counts": [
            {"severity": severity, "count": wording.count(number), "word": wording.plural(severity, number)}
            for severity, number in contents.overview["severity_counts"]
        ],
        "chosen": [{"heading": heading, "words": words} for heading, words in contents.chosen],
        "settings": changed,
        "drawn": wording.count(len(window["lanes"])),
        "lanes": wording.count(contents.lanes),
        "left_out": wording.some(contents.lanes - len(window["lanes"])),
        "merged": wording.some(window["merged"]),
        "findings_shown": wording.count(len(groups)),
        "findings_more": wording.some(contents.findings_total - len(groups)),
        "groups": [_group(group, folder, index < _OPEN) for index, group in enumerate(groups)],
        "rules": [
            {"id": rule.id, "title": rule.title, "sections": sections(rule)}
            for rule in rulebook()
            if any(group["rule"] == rule.id for group in groups)
        ],
        "judged": wording.judged(contents.coverage["rules"]),
        "coverage": wording.kinds(contents.coverage),
        "skipped": skipped[:_SKIPPED],
        "skipped_more": wording.some(contents.skips - sum(len(each.lines) for each in skipped[:_SKIPPED])),
        "held": {
            "overview": contents.overview,
            "window": contents.window,
            "findings": groups,
            "steps": contents.steps,
        },
        "search": contents.search,
    }
    return shown(_template().render(Context(context)))


@cache
def _template() -> Template:
    folders = [str(folder) for folder in (_HOME.parent / "templates", _HOME / "templates")]
    return Engine(dirs=folders, builtins=[pills.__name__]).get_template("report.html")


@cache
def _assets() -> dict[str, Any]:
    """Return styles, scripts and pictures, and the policy that allows only these."""
    styles = inlining.styles(f"css/{name}.css" for name in _SHEETS)
    scripts = {
        "theme": inlining.script("js/theme.js"),
        "plotly": inlining.script("vendor/plotly/plotly-cartesian.min.js"),
        "module": inlining.module("js/report/report.js", _STAND_INS),
    }
    return {
        "version": __version__,
        "logo": inlining.data_url(inlining.STATIC / "logo.svg"),
        # Plotly fills the second, empty sheet by calls, which no policy forbids; else it would add one of its own.
        "policy": inlining.policy(scripts.values(), [styles, ""]),
        "styles": mark_safe(styles),
        "scripts": {name: mark_safe(code) for name, code in scripts.items()},
        "skeletons": figures.skeletons(),
    }


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
        "clock": wording.proved(documents.timestamp(group["start"]), group["proof"], 3),
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
        "acknowledged": _acknowledgement_text(group["acknowledged"]),
        "often": [wording.often(each) for each in group["findings"] if each["count"] > 1 and not several],
        "advice": [words(line) for line in group["advice"]],
    }


def _acknowledgement_text(acknowledgement: AcknowledgementPayload | None) -> str:
    """Return an acknowledgement as note, author and time."""
    if not acknowledgement:
        return ""
    return " · ".join(
        filter(
            None,
            [acknowledgement["note"], acknowledgement["by"], acknowledgement["at"][:19].replace("T", " ") + " UTC"],
        )
    )
