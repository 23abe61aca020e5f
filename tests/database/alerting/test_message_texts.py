"""What is sent to people about incidents: plain text, Markdown and HTML, with hostile names in it."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from dashboard.alerting import messages
from dashboard.alerting.messages import Known, Message, from_json, to_json
from dashboard.alerting.routing import Notification
from dashboard.alerting.texts import subject, texts
from dashboard.alerting.wording import Shown
from timeline.models import Finding, Incident, Source, Symptom
from timeline.storage.judged import incidents

MESSAGE = Message(
    key="1.a204.began",
    change="began",
    title="Service ring was away under 3 Pods, 2 times",
    severity="warning",
    url="https://causeline.example.org/sources/1/incidents/a204a550ddad1a24/",
    when="2 times from 2026-11-21 07:52:00 to 07:52:07 UTC",
    cause="job-controller acted on revision 481 of Job report-0.",
    source="prod",
    namespace="vol-restart",
    rule="service-gap",
    owner="Service/ring",
)
HOSTILE = [
    "<!channel> <@U123> <https://evil.example|here>",
    "@everyone @here @all",
    "**bold** [here](https://evil.example) ![x](https://evil.example/x.png)",
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "a\r\nBcc: victim@example.org\n\nbody",
    "x\u202egnp.exe",
    "`code` # head _under_ ~gone~ | table",
    "\x00\x1b[31m",
]


class Tags(HTMLParser):
    """This parser collects the names of all tags, and their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def hostile(words: str) -> Message:
    symptoms = tuple(messages.Symptom("1", "error", words) for _ in range(2))
    names: dict[str, Any] = {
        "title": words,
        "source": words,
        "namespace": words,
        "owner": words,
        "advice": f"Stop: {words}",
    }
    return replace(MESSAGE, cause=words, effect=words, when=words, symptoms=symptoms, symptoms_total=2, **names)


def test_the_plain_text_says_what_where_when_why_and_links() -> None:
    reported = texts([MESSAGE])
    assert reported.subject == "Service ring was away under 3 Pods, 2 times"
    assert reported.text.splitlines() == [
        "Service ring was away under 3 Pods, 2 times",
        "warning · prod · vol-restart / Service ring · service-gap",
        "2 times from 2026-11-21 07:52:00 to 07:52:07 UTC",
        "Cause: job-controller acted on revision 481 of Job report-0.",
        "https://causeline.example.org/sources/1/incidents/a204a550ddad1a24/",
    ]


def test_an_incident_of_several_symptoms_says_the_gravest_and_what_to_do_first() -> None:
    severities = ("warning", "error", "error", "error")
    symptoms = tuple(messages.Symptom(str(at), each, f"Job {at} has too many") for at, each in enumerate(severities))
    message = replace(MESSAGE, symptoms=symptoms, symptoms_total=13, advice="Stop: `kubectl delete pod old` ends it.")
    assert texts([message]).text.splitlines()[4:-1] == [
        "warning: Job 0 has too many",
        "error: Job 1 has too many",
        "error: Job 2 has too many",
        "And 10 more symptoms of the same cause.",
        "Stop: `kubectl delete pod old` ends it.",
    ]
    assert "**error:** Job 1 has too many" in texts([message]).markdown
    assert "<b>Stop:</b> `kubectl delete pod old` ends it." in texts([message]).html
    alone = replace(message, symptoms=symptoms[:1], symptoms_total=1)
    assert "too many" not in texts([alone]).text  # the title says it
    kept = replace(message, known=Known("https://other", (1, "a"), "r", "n", "o"), incident=(2, "b"))
    assert from_json(json.loads(json.dumps(to_json(kept)))) == kept


def test_markdown_and_html_say_the_same() -> None:
    reported = texts([MESSAGE], picture=True)
    assert reported.markdown.splitlines()[0] == "**Service ring was away under 3 Pods, 2 times**"
    assert "**Cause:** job-controller acted" in reported.markdown
    assert f"[Open the incident](<{MESSAGE.url}>)" in reported.markdown
    assert f'<a href="{MESSAGE.url}">Open the incident</a>' in reported.html
    assert "<b>Cause:</b> job-controller acted" in reported.html and 'src="cid:incident.png"' in reported.html
    assert "img" not in Tags(texts([MESSAGE]).html).tags


def test_the_subject_says_what_changed_and_how_many_there_are() -> None:
    assert subject([replace(MESSAGE, change="over")]).startswith("Over: Service ring")
    assert subject([replace(MESSAGE, again=True)]).startswith("Still: Service ring")
    assert subject([MESSAGE, MESSAGE, replace(MESSAGE)]).endswith("2 times (and 2 more)")
    assert len(subject([replace(MESSAGE, title="x" * 900, others=12)])) == 200
    many = texts([MESSAGE] * 13)
    assert many.text.count("service-gap") == 10 and many.text.endswith("And 3 more incidents.")
    assert "And 3 more incidents." in many.html and many.markdown.endswith("And 3 more incidents.")


@pytest.mark.parametrize("words", HOSTILE)
def test_a_hostile_name_makes_no_markup_mention_line_or_header(words: str) -> None:
    reported = texts([hostile(words)])
    assert "\n" not in reported.subject and "\r" not in reported.subject
    assert len(reported.text.splitlines()) == 9
    for form in (reported.text, reported.markdown):
        assert not re.search(r"<[!@#]|(?<![\w.+-])@\w", form)
        assert not re.search(r"(?<!\\)\]\((?!<https://causeline\.)", form)
        assert "\u202e" not in form and "\x00" not in form and "\x1b" not in form
    own = r"\[Open the incident\]\(<[^>]*>\)|\*\*(?:Cause|Effect|error|Stop):\*\*"
    plain = re.sub(own, "", reported.markdown.replace("**", "", 2))
    assert not re.search(r"(?<!\\)[`*_\[\]|~#<>]", plain.replace("\\\\", ""))
    assert Tags(reported.html).tags <= {"div", "h2", "p", "b", "a"} and Tags(reported.html).attributes <= {
        "style",
        "href",
    }


@given(st.text(max_size=200))
def test_no_name_at_all_makes_a_tag_or_a_line(words: str) -> None:
    reported = texts([hostile(words)])
    assert len(reported.text.split("\n")) <= 9
    assert Tags(reported.html).tags <= {"div", "h2", "p", "b", "a"}
    assert "<" not in reported.text and len(reported.subject.splitlines()) <= 1


@pytest.mark.parametrize("url", ["javascript:alert(1)", "https://a b", 'https://x/"><b>', "https://x/|<!here>", ""])
def test_only_an_ordinary_address_becomes_a_link(url: str) -> None:
    reported = texts([replace(MESSAGE, url=url)])
    assert "Open the incident" not in reported.markdown + reported.html
    assert not url or url not in reported.text


def test_an_address_of_a_person_stays_readable() -> None:
    assert "ada@example.org" in texts([replace(MESSAGE, cause="ada@example.org deleted it.")]).markdown


@pytest.mark.django_db
def test_what_is_over_says_how_long_it_lasted_as_precisely_as_that_is_known(sample: Source) -> None:
    def when(rule: str) -> str:
        alone = Symptom.objects.get(source=sample, rule=rule).identity
        Finding.objects.filter(source=sample, rule=rule).update(incident=alone)
        incidents.write(sample)
        row = Incident.objects.get(source=sample, identity=alone)
        key = (sample.pk, row.identity)
        message = Shown({key}, timezone.now()).message(Notification(key, "over", row.rank), before={})
        assert message
        return message.when

    assert re.fullmatch(
        r"It began at 2026-11-21 07:52:11 UTC, and ended at 2026-11-21 07:52:27 UTC\. It lasted (≈ )?1\d(\.\d)? s\.",
        when("lease-contention"),
    )
    assert "lasted" not in when("service-gap")  # it happened several times


@pytest.mark.django_db
def test_a_message_says_the_symptoms_of_its_incident_and_its_first_step(sample: Source) -> None:
    row = Incident.objects.filter(source=sample, symptoms__gt=1).order_by("rank", "identity")[0]
    row.advice = ["Look: see it.", "Prevent: change it.", "Stop: end it.", "Stop: and that."]
    row.save()
    key = (sample.pk, row.identity)
    shown = Shown({key}, timezone.now())
    message = shown.message(Notification(key, "began", row.rank), before={})
    assert message and (message.title, message.symptoms_total) == (row.title, row.symptoms)
    parts = Symptom.objects.filter(source=sample, incident=row.identity).order_by("place")
    assert [each.title for each in message.symptoms] == [each.title for each in parts][:10]
    assert message.advice == "Stop: End it."
    over = shown.message(Notification(key, "over", row.rank), before={})
    assert over and over.advice == ""
