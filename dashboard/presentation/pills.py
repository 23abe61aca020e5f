"""Explain the words in coloured labels, such as "bounded" or "suspected", for readers who do not know them.

Pages show an explanation as the tooltip and the accessible description of its label.
Templates load it as a builtin library.
"""

from django import template

from dashboard.drawing.shapes import SEVERITIES

register = template.Library()

MEANINGS = {
    "error": "Harm was observed",
    "warning": "Harm is possible, and none was observed",
    "info": "No harm is expected, or the order of the events is not certain",
    "exact": "The order is certain: the revisions of both events, or one audit log, prove it",
    "bounded": "The order rests on clocks that count whole seconds, and both events lie at least one second apart",
    "inconclusive": "The order is not certain: no revision and no clock proves which event came first",
    "cannot judge": "The rule cannot judge this recording, because something that it needs was not observed",
    "confirmed": "The finding is final: no change that arrives later can explain it",
    "suspected": "The finding is not final: a change that has not been observed yet may explain it",
    "withdrawn": "A change that was observed later explains the finding, so it holds no more",
    "acknowledged": "Somebody has noted that the finding is known",
    "ongoing": "It happened within the last five minutes, or has not ended",
    "ongoing when the recording ends": "It has not ended by the end of the recording",
    "over": "It has ended, and has not happened again",
    "firing": "No notification has said that the alert ended",
    "resolved": "A notification has said when the alert ended",
    "silenced": "A silence or the baseline takes it out of the lists",
    "complete": "No write of this kind is known to be missing",
    "with gaps": "Writes of this kind are missing",
    "one moment": "A list shows the objects at one moment, and no changes",
}


@register.filter
def meaning(word: str) -> str:
    return MEANINGS.get(word, "")


@register.filter
def outline(severity: str) -> str:
    """Return the data of the SVG path of a severity; of another word, the circle."""
    return SEVERITIES.get(severity, SEVERITIES["info"])


@register.simple_tag
def pill_meanings() -> dict[str, str]:
    """Return all meanings, for the scripts of a page."""
    return MEANINGS
