"""Write messages as people read them: plain text, Markdown for chats, and HTML for e-mail. It does no I/O.

Names come from clusters, so they are hostile: no text has lines that a name has made, nothing in it is markup that a
name has made, and nobody is mentioned by a name.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from dashboard.alerting.messages import Message
from dashboard.presentation.bidi import shown
from timeline.judging.incidents.subjects import short_name

PICTURE = "incident.png"  # the name of the attached file
_SHOWN = 10  # incidents that are written out
_SYMPTOMS = 3  # of an incident that are written out
_SUBJECT, _LINE, _ADDRESS = 200, 1_000, 2_000  # characters at most
_NOTE = 1_024  # bytes of the message of a Kubernetes Event
_CHANGES = {"began": "", "worse": "Worse: ", "over": "Over: ", "test": "Test: "}
_COLOURS = {"error": "#b3261e", "warning": "#a84700", "info": "#0b5cad"}
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_MARKUP = re.compile(r"([\\`*_\[\]|~#])")
_BROKEN_ADDRESS = re.compile(r"[\s<>\"'`\\|\x00-\x20]")
# A chat mentions somebody by <!channel>, <@U123>, @everyone or @name. An address such as ada@example.org is none.
_ANGLES = str.maketrans("<>", "‹›")
_MENTION = re.compile(r"(?<![\w.+-])@(?=\w)")


class Texts(NamedTuple):
    """What a delivery says, in each form. The subject is one line."""

    subject: str
    text: str
    markdown: str
    html: str


def texts(messages: Sequence[Message], *, picture: bool = False) -> Texts:
    """Return what is sent of some incidents, at least one. `picture` says whether that of the first one is attached."""
    more = sum(each.others for each in messages[:1]) + max(0, len(messages) - _SHOWN)
    shown_ones = messages[:_SHOWN]
    rest = f"And {more} more {'incident' if more == 1 else 'incidents'}." if more else ""
    return Texts(
        subject(messages),
        "\n\n".join(filter(None, [*map(text, shown_ones), rest])),
        "\n\n".join(filter(None, [*map(markdown, shown_ones), rest])),
        html(shown_ones, rest, picture=picture),
    )


def subject(messages: Sequence[Message]) -> str:
    """Return one line such as "Worse: Service ring was away under 3 Pods (and 2 more)"."""
    first = messages[0]
    more = first.others + len(messages) - 1
    end = f" (and {more} more)" if more else ""
    begun = f"{'Still: ' if first.again and first.change != 'over' else _change(first)}{_line(first.title)}"
    return f"{_cut(_harmless(begun), _SUBJECT - len(end))}{end}"


def text(message: Message) -> str:
    """Return one incident as lines of plain text. Some chats read Markdown in it, so nothing becomes a link there."""
    lines = [_title(message), *(f"{name}{line}" for name, line in _lines(message))]
    return "\n".join([*map(_harmless, lines), *_address(message)])


def event_note(message: Message) -> str:
    """Return one incident as the message of a Kubernetes Event, which has at most 1024 bytes of UTF-8."""
    url = "".join(f" {each}" for each in _address(message))
    parts = [f"{_title(message)}.", _line(message.when), *(_line(each) for each in (message.cause,) if each)]
    said = " ".join(each if each.endswith(".") else f"{each}." for each in parts if each).replace("..", ".")
    room = _NOTE - len(url.encode())
    while len(said.encode()) > room:
        said = f"{said[:-2].rstrip('…')}…"
    return f"{said}{url}"


def markdown(message: Message) -> str:
    """Return one incident as CommonMark that is harmless in Slack, Discord and Mattermost, too."""
    lines = [f"**{name.strip()}** {_marked(line)}" if name else _marked(line) for name, line in _lines(message)]
    url = [f"[Open the incident](<{each}>)" for each in _address(message)]
    return "\n".join([f"**{_marked(_title(message))}**", *lines, *url])


def html(messages: Iterable[Message], rest: str = "", *, picture: bool = False) -> str:
    """Return incidents as the body of an e-mail, with styles inside, as mail programs want them."""
    blocks = [_block(each) for each in messages]
    if picture and blocks:
        alternative = "The timeline of the incident"
        blocks.insert(1, f'<p><img src="cid:{PICTURE}" alt="{alternative}" style="max-width:100%;height:auto"></p>')
    if rest:
        blocks.append(f"<p>{escape(rest)}</p>")
    return f'<div style="font:15px/1.5 system-ui,sans-serif;color:#11151a;max-width:1000px">{"".join(blocks)}</div>'


def _block(message: Message) -> str:
    colour = _COLOURS.get(message.severity, _COLOURS["info"])
    title = f'<h2 style="margin:0 0 6px;font-size:18px">{escape(_title(message))}</h2>'
    lines = "".join(
        f'<p style="margin:4px 0">{f"<b>{name.strip()}</b> " if name else ""}{escape(line)}</p>'
        for name, line in _lines(message)
    )
    url = "".join(f'<p><a href="{escape(each)}">Open the incident</a></p>' for each in _address(message))
    style = f"margin:0 0 18px;padding:2px 0 2px 12px;border-left:4px solid {colour}"
    return f'<div style="{style}">{title}{lines}{url}</div>'


def _title(message: Message) -> str:
    return f"{_change(message)}{_line(message.title)}"


def _change(message: Message) -> str:
    return "Not watched any more: " if message.unwatched else _CHANGES[message.change]


def _lines(message: Message) -> list[tuple[str, str]]:
    """Return the lines below the title, each with what is written before it, such as "Cause: ", or ""."""
    place = " / ".join(filter(None, [message.namespace, message.owner.replace("/", " ", 1)]))
    name = f"incident {short_name(message.incident[1])}" if message.incident else ""
    about = " · ".join(filter(None, [message.severity, name, message.source, place, message.rule]))
    found = [("", about), ("", message.when), ("Cause: ", message.cause), ("Effect: ", message.effect)]
    shown_ones = message.listed[:_SYMPTOMS]
    found += [(f"{each.severity}: ", each.title) for each in shown_ones]
    if shown_ones and (more := message.symptoms_total - len(shown_ones)):
        found.append(("", f"And {more} more {'symptom' if more == 1 else 'symptoms'} of the same cause."))
    step, separator, advice = message.advice.partition(": ")
    found.append((f"{step}{separator}", advice))
    return [(name, _line(line)) for name, line in found if line]


def _address(message: Message) -> list[str]:
    """Return the address of the incident's page, if it is one that a browser opens."""
    url = message.url
    fine = url.startswith(("https://", "http://")) and len(url) <= _ADDRESS and not _BROKEN_ADDRESS.search(url)
    return [url] if fine else []


def _line(words: str) -> str:
    """Return text on one line, without characters that reorder what is around them."""
    return _cut(" ".join(_CONTROLS.sub(" ", shown(words)).split()), _LINE)


def _cut(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most - 1].rstrip()}…"


def _unmentioned(words: str) -> str:
    """Return text that mentions nobody: an invisible character follows an @ that could begin a name."""
    return _MENTION.sub("@\u2060", words.translate(_ANGLES))


def _harmless(words: str) -> str:
    """Return plain text that is harmless also where a chat reads it as Markdown."""
    return _unmentioned(words).replace("](", "] (")


def _marked(words: str) -> str:
    """Return text in which nothing is markup or mentions anybody."""
    return _unmentioned(_MARKUP.sub(r"\\\1", words))
