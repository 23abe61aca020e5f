"""These tests check what the terms of a search mean."""

import re
from typing import Any

import pytest
from pydantic import ValidationError

from tests import ROOT
from timeline.queries.filters import IncidentFilter, SourceIncidentFilter
from timeline.queries.syntax import FIELDS, WrongTerm, read

TERMS = ROOT / "dashboard/static/dashboard/js/state/terms.js"


@pytest.mark.parametrize(
    ("text", "fields", "words"),
    [
        ("web nginx:1.27 10.0.0.1:80 http://a", {}, "web nginx:1.27 10.0.0.1:80 http://a"),
        (
            "kind:pod ns:shop rule:lease-stolen severity:Error actor:vc-cm node:node-3 image:nginx:1.27 is:open ring",
            {
                "kinds": "Pods",
                "namespace": "shop",
                "rule": "lease-stolen",
                "severity": "error",
                "actor": "vc-cm",
                "node": "node-3",
                "image": "nginx:1.27",
                "state": "ongoing",
            },
            "ring",
        ),
        ("kind:po,lease", {"kinds": "Pods,Leases"}, ""),
        ("kind:workloads", {"kinds": "Workloads"}, ""),
        ("kind:deploy", {"kind": "deploy"}, ""),  # Workloads are also StatefulSets
        ("kind:pod,deploy", {"kind": "pod,deploy"}, ""),
        ('actor:"somebody else" NS:shop namespace:other', {"actor": "somebody else", "namespace": "other"}, ""),
        ("ns: is:ended", {"state": "over"}, ""),
        (
            'since:2026-11-21T05:57:50Z until:"2026-11-21 07:00+01:00" ring',
            {"start": "1795240670000000", "end": "1795240800000000"},
            "ring",
        ),
    ],
)
def test_terms_become_parameters_and_everything_else_stays_words(text: str, fields: Any, words: str) -> None:
    assert read(text) == (fields, words)


@pytest.mark.parametrize("wrong", ["severity:bad", "is:acknowledged", "since:05:57:50", "until:1900-01-01"])
def test_a_value_that_means_nothing_is_refused_with_what_it_may_be(wrong: str) -> None:
    with pytest.raises(WrongTerm, match=r"error, warning, info|open or over|takes a time such as 2026-"):
        read(wrong)


def test_lists_and_the_api_read_terms_among_the_words() -> None:
    wanted = SourceIncidentFilter.model_validate({"q": "ring ns:shop node:node-3", "namespace": "x", "rule": "y"})
    assert (wanted.q, wanted.namespace, wanted.node, wanted.rule) == ("ring", "shop", "node-3", "y")
    assert IncidentFilter.model_validate({"q": "is:open"}).state == "ongoing"
    with pytest.raises(ValidationError, match="node: can be searched in one cluster or recording"):
        IncidentFilter.model_validate({"q": "node:node-3"})
    with pytest.raises(ValidationError, match="lies after the time until"):
        IncidentFilter.model_validate({"q": "since:2026-11-22T00:00Z until:2026-11-21T00:00Z"})


def test_the_browser_completes_the_terms_that_there_are() -> None:
    text = TERMS.read_text(encoding="utf-8")
    completed = re.search(r"export const TERMS = \{(.+?)\};", text, flags=re.DOTALL)
    written = re.search(r"const WRITTEN = \{(.+?)\};", text)
    assert completed and {*re.findall(r"(\w+): \"", completed[1])} == FIELDS.keys() - {"namespace"}
    assert written and {*re.findall(r"(\w+): \"", written[1])} == {*FIELDS.values(), "kinds"} - {"start", "end"}
