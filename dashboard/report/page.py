"""Write a recording, or a part of it, as one HTML file that needs no server, no network and no other file.

Django's template engine alone is used, without its settings, which is why all values handed to it are text.
"""

from functools import cache
from pathlib import Path
from typing import Any

from django.template import Context, Engine, Template
from django.utils.safestring import mark_safe

from dashboard import __version__
from dashboard.drawing import figures
from dashboard.presentation import changes_before, pills, times, wording
from dashboard.presentation.bidi import shown
from dashboard.presentation.catalogue import sections, words
from dashboard.report import inlining, summary
from dashboard.report.contents import Contents
from timeline.core.durations import duration
from timeline.judge import rulebook
from timeline.judging.rulebook import settings
from timeline.kinds import kind_of
from timeline.layout.lanes import lane_key
from timeline.payloads import documents
from timeline.payloads.findings import FindingGroupPayload
from timeline.payloads.incidents.making import InView

_HOME = Path(__file__).resolve().parent.parent
_SHEETS = ("palette", "base", "timeline", "findings", "controls", "change", "document", "report")
_STAND_INS = {f"js/state/{name}.js": f"js/report/{name}.js" for name in ("api", "address", "links")}
_SKIPPED = 200  # files and reasons that are shown
_NAMES = 12  # files whose lines were mostly skipped
_OPEN = 40  # incidents shown with their proof from the start


def rendered(contents: Contents) -> str:
    """Return the whole file. The same contents give the same bytes. The contents must have a picture."""
    drawn = contents.drawn
    assert drawn
    window, rows = drawn.window, contents.rows
    folder = wording.folder({proof["file"] for row in rows for proof in row["proof"] if proof["file"]})
    skipped = wording.skipped(contents.skipped)
    changed = [f"{each.variable} = {each.value:g}" for each in settings.values() if each.value != each.default]
    anchors: set[str] = set()
    context = {
        **_assets(),
        "name": contents.name,
        "title": contents.title,
        "source": {"name": contents.name, "skipped": wording.some(contents.skips)},
        "coverage_page": "#seen",
        "gaps": sum(kind["holes"] for kind in contents.coverage["coverage"]),
        "nothing": contents.nothing,
        "made": contents.made,
        "note": contents.note,
        "author": summary.author(contents.note) if contents.note else "",
        "clocks": contents.coverage["clocks"],
        "mostly_skipped": contents.mostly_skipped[:_NAMES],
        "span": wording.span(contents.first, contents.last),
        "length": duration(contents.last - contents.first),
        "entries": contents.entries,
        "counts": summary.counts(contents),
        "scope_sentences": summary.scope(contents),
        "changes_note": changes_before.NOTE,
        "beginning": summary.beginning(contents),
        "harmless": summary.harmless(contents),
        "without_incident": summary.nothing(contents),
        "scope": [{"heading": heading, "words": words} for heading, words in contents.scope],
        "settings": changed,
        "drawn": wording.count(len(window["lanes"])),
        "lanes": wording.count(drawn.lanes),
        "left_out": wording.some(drawn.lanes - len(window["lanes"])),
        "merged": wording.some(window["merged"]),
        "incidents": [
            _incident(each, contents, folder, anchors, early=index < _OPEN)
            for index, each in enumerate(contents.incidents)
        ],
        "rules": [
            {"id": rule.id, "title": rule.title, "sections": sections(rule)}
            for rule in rulebook()
            if any(rule.id in each.incident["rules"] for each in contents.incidents)
        ],
        "judged": wording.judged(contents.coverage["rules"]),
        "provable": wording.provable(contents.coverage["links"]),
        "coverage": wording.kinds(contents.coverage),
        "skipped": skipped[:_SKIPPED],
        "skipped_more": wording.some(contents.skips - sum(len(each.lines) for each in skipped[:_SKIPPED])),
        "held": {
            "view": drawn.opening.view,
            "overview": drawn.overview,
            "window": window,
            "incidents": [each.incident for each in contents.incidents],
            "beginnings": {
                each.incident["id"]: lane_key(*each.beginning) for each in contents.incidents if each.beginning
            },
            "findings": rows,
            "families": {
                row["key"]: sorted(
                    {kind_of(each["subject"]["group"], each["subject"]["kind"]).family for each in row["findings"]}
                )
                for row in rows
            },
            "steps": drawn.steps,
        },
        "search": drawn.opening.search,
        "axis_why": drawn.opening.why,
    }
    return shown(_template().render(Context(context)))


@cache
def _template() -> Template:
    folders = [str(folder) for folder in (_HOME.parent / "templates", _HOME / "templates")]
    return Engine(dirs=folders, builtins=[pills.__name__, times.__name__]).get_template("report.html")


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


def _incident(each: InView, contents: Contents, folder: str, anchors: set[str], *, early: bool) -> dict[str, Any]:
    """Return an incident for the template. `anchors` has the occurrences that were shown with an incident before."""
    incident = each.incident
    rows, symptoms = [], summary.symptoms(each)
    for index, row in enumerate(each.rows):
        titled = {"summary": summary.title(row, each), "elsewhere": row["key"] in anchors}
        rows.append({**_row(row, folder, opened=not index), **titled})
        anchors.add(row["key"])
    return {
        "id": incident["id"],
        "name": incident["name"],
        "open": early and incident["severity"] != "info",
        "severity": incident["severity"],
        "title": incident["title"],
        "harmless": wording.harmless(incident["severity"], incident["effect"]),
        "sentence": summary.sentence(each, contents),
        "symptoms": [{"severity": severity, "title": title} for severity, title in symptoms.listed],
        "symptoms_more": wording.some(symptoms.more),
        "status": incident["status"],
        "state": summary.state(each, contents),
        "where": summary.where(each),
        "when": summary.when(each),
        "who": summary.who(each),
        "numbers": summary.numbers(each),
        "rules": incident["rules"],
        "because": summary.because(each),
        "cause": incident["cause"],
        "chain": [wording.proof(proof, folder) for proof in summary.cause_proof(each)],
        "effect": incident["effect"],
        "effect_text": summary.effect_text(each),
        "notes": summary.notes(each),
        "changes": summary.changes(each, contents),
        "steps": wording.advice(incident["advice"]),
        "rows": rows,
        "rows_more": wording.some(each.occurrences - len(rows)),
    }


def _row(row: FindingGroupPayload, folder: str, *, opened: bool) -> dict[str, Any]:
    several = row["findings"] if len(row["findings"]) > 1 else []
    return {
        "key": row["key"],
        "open": opened,
        "iso": documents.timestamp(row["start"]),
        "severity": row["severity"],
        "clock": summary.lasted(row)[11:],  # the first time is on the day of `iso`
        "verdict": row["verdict"],
        "status": row["status"],
        "effect": row["effect"],
        "effect_text": row["effect_text"],
        "cause": row["cause"],
        "why": words(row["why"]),
        "proof": [wording.proof(proof, folder) for proof in row["proof"]],
        "objects": [each["subject"]["name"] for each in several],
        "count": wording.count(len(several)) if several else "",
        "often": [wording.often(each) for each in row["findings"] if each["count"] > 1 and not several],
    }
