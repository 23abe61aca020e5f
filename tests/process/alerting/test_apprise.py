"""Messages that the library Apprise sends, in a process that can do nothing else: real servers on this machine receive
them. Services whose address is fixed in Apprise are led to these servers by the test."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from collectors.hosts import allowed_hosts
from dashboard.access import encryption
from dashboard.access.outgoing import DestinationRefused, NotAllowed, Unreachable
from dashboard.alerting import sending
from dashboard.alerting.destinations import apprise
from dashboard.alerting.messages import Message
from dashboard.environment.services import schemes
from dashboard.models import Delivery, Destination
from tests.servers.answering import Receiver, closed_port, receiving
from tests.servers.certificates import for_localhost
from tests.servers.mail import mail_server
from timeline.models import Incident, Source

MESSAGE = Message(
    key="1.a204.began",
    change="began",
    title="Service ring was away under 3 Pods",
    severity="warning",
    url="https://causeline.example.org/sources/1/incidents/a204a550ddad1a24/",
    when="at 2026-11-21 07:52:00 UTC",
    cause="job-controller acted on revision 481.",
    source="prod",
    namespace="vol-restart",
    rule="service-gap",
    owner="Service/ring",
)
SLACK = "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7"
SLACK_BOT = "slack://xoxb-1234-1234-abc124/#oncall"
PAGER = "pagerduty://0123456789abcdef0123456789abcdef@apikey"
OPSGENIE = "opsgenie://8b799edf-6f98-4d3a-9be7-2862fb4e5752"


@pytest.fixture(autouse=True)
def local(settings: Settings) -> None:
    settings.DESTINATION_HOSTS = allowed_hosts(["http://localhost:*", "smtp://localhost:*"])


@pytest.fixture
def server() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


def send(url: str, *messages: Message) -> str:
    return apprise.send({"url": url}, messages or [MESSAGE], key="7")


def bodies(server: Receiver) -> list[dict[str, Any]]:
    return [json.loads(each.body) for each in server.requests]


def leads(monkeypatch: pytest.MonkeyPatch, module: str, name: str, value: str) -> None:
    """Run the process with another value for the address of a service, which Apprise has as a constant."""
    script = f"import {module} as m; m.{name} = {value}; from dashboard.alerting.apprise_process import main; main()"
    monkeypatch.setattr(apprise, "COMMAND", (sys.executable, "-I", "-c", script))


def test_a_server_of_json_gets_title_text_and_severity_and_a_proxy_nothing(
    server: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        assert send(f"json://localhost:{server.port}/hook") == "200 OK"
    assert proxy.requests == []
    (body,) = bodies(server)
    assert (body["title"], body["type"]) == (MESSAGE.title, "warning")
    assert MESSAGE.cause in body["message"] and MESSAGE.url in body["message"] and body["attachments"] == []


@pytest.mark.django_db
def test_an_e_mail_carries_the_picture_and_the_cause(sample: Source) -> None:
    gap = Incident.objects.get(source=sample, rule="service-gap")
    hostile = replace(MESSAGE, title="a <b>\r\nBcc: x@example.org", incident=(sample.pk, gap.identity), others=2)
    with mail_server() as mailbox:
        url = f"mailto://ada:secret@localhost:{mailbox.port}?from=c@example.org&to=team@example.org&mode=insecure"
        assert send(url, hostile) == "SMTP 250"
        (message,) = mailbox.messages
    assert (mailbox.signed_in, mailbox.recipients) == (["ada"], ["team@example.org"])
    assert message["Subject"] == "a ‹b› Bcc: x@example.org (and 2 more)" and message["Bcc"] is None
    html = next(part for part in message.walk() if part.get_content_type() == "text/html").get_content()
    assert MESSAGE.cause in html and "a &lt;b&gt; Bcc" in html and "cid:incident.png" in html
    picture = next(part for part in message.walk() if part.get_content_type() == "image/png")
    assert picture["Content-ID"] == "<incident.png>"
    assert picture.get_content().startswith(b"\x89PNG")


def test_mail_that_is_refused_is_not_tried_again_and_mail_that_waits_is() -> None:
    with mail_server() as mailbox:
        url = f"mailto://localhost:{mailbox.port}?from=c@example.org&to=team@example.org&mode=insecure"
        mailbox.answers = [554, 451]
        with pytest.raises(DestinationRefused, match="SMTP 554"):
            send(url)
        with pytest.raises(Unreachable, match="SMTP 451"):
            send(url)


def test_teams_and_mail_by_tls_check_the_certificate(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, context = for_localhost(tmp_path)
    settings.DESTINATION_HOSTS = allowed_hosts(["https://localhost:*", "smtps://localhost:*"])
    with receiving(context) as server, mail_server(context) as mailbox:
        teams = f"workflows://localhost:{server.port}/643e69f83c8944/8yrdY1VXL4kzlEmL"
        mail = f"mailtos://localhost:{mailbox.port}?from=c@example.org&to=team@example.org&mode=ssl"
        with pytest.raises(Unreachable):
            send(teams)
        with pytest.raises(Unreachable):
            send(mail)
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert send(teams) == "200 OK"
        assert send(mail) == "SMTP 250"
        assert len(mailbox.messages) == 1
        with mail_server(context, starttls=True) as submission:
            mail = f"mailtos://ada:secret@localhost:{submission.port}?from=c@example.org&to=team@example.org"
            assert send(f"{mail}&mode=starttls") == "SMTP 250"
            assert (len(submission.messages), submission.signed_in) == (1, ["ada"])
    card = json.dumps(bodies(server)[0])
    assert "AdaptiveCard" in card and MESSAGE.title in card and MESSAGE.url in card


def test_slack_gets_a_link_and_no_mention(server: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    name, value = "NotifySlack.webhook_url", f"'http://localhost:{server.port}/services'"
    leads(monkeypatch, "apprise.plugins.slack", name, value)
    assert send(SLACK, replace(MESSAGE, title="<!channel> @here <@U024BE7LH>", cause="<!everyone|x> *b* &lt;!here&gt;"))
    (request,) = server.requests
    assert request.path == "/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7"
    (attachment,) = bodies(server)[0]["attachments"]
    assert f"<{MESSAGE.url}|Open the incident>" in attachment["text"]
    for text in (attachment["text"], attachment.get("title", "")):
        assert "<!" not in text and "<@" not in text and "@here" not in text
    assert "githubusercontent" not in request.body.decode()


@pytest.mark.django_db
def test_a_slack_bot_uploads_the_picture(server: Receiver, monkeypatch: pytest.MonkeyPatch, sample: Source) -> None:
    leads(monkeypatch, "apprise.plugins.slack", "NotifySlack.api_url", f"'http://localhost:{server.port}/api/{{}}'")
    gap = Incident.objects.get(source=sample, rule="service-gap")
    message = replace(MESSAGE, incident=(sample.pk, gap.identity))
    taken = {"ok": True, "channel": "C1", "file_id": "F1", "files": [{"id": "F1"}]}
    server.body = json.dumps({**taken, "upload_url": f"{server.url}/upload"}).encode()
    assert send(SLACK_BOT, message) == "200 OK"
    methods = [each.path.partition("?")[0] for each in server.requests]
    api = [
        f"/api/{name}" for name in ("chat.postMessage", "files.getUploadURLExternal", "files.completeUploadExternal")
    ]
    assert methods == [*api[:2], "/upload", api[2]]
    assert b"\x89PNG" in server.requests[2].body and b"incident.png" in server.requests[2].body
    server.body = json.dumps({**taken, "upload_url": f"http://127.0.0.1:{server.port}/upload"}).encode()
    assert send(SLACK_BOT, message).startswith("in part: Nothing may be sent to 127.0.0.1")
    server.body = b'{"ok": false, "error": "not_in_channel"}'
    with pytest.raises(Unreachable, match="200 OK, but did not take"):  # it is not called sent
        send(SLACK_BOT)


def test_a_pager_keeps_one_incident_by_its_key_and_hears_when_it_is_over(
    server: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    lookup = f"dict.fromkeys(m.PAGERDUTY_API_LOOKUP, 'http://localhost:{server.port}/v2/enqueue')"
    leads(monkeypatch, "apprise.plugins.pagerduty", "PAGERDUTY_API_LOOKUP", lookup)
    server.always = 202
    other = replace(MESSAGE, url=MESSAGE.url.replace("a204", "b305"))
    assert send(PAGER, MESSAGE, other) == "202 Accepted"
    assert send(PAGER, replace(MESSAGE, key="1.a204.over", change="over")) == "202 Accepted"
    first, second, over = bodies(server)
    assert [each["event_action"] for each in (first, second, over)] == ["trigger", "trigger", "resolve"]
    assert first["dedup_key"] == over["dedup_key"] != second["dedup_key"]
    joined = replace(other, change="over", joined="a204a550ddad1a24")
    assert send(PAGER, joined) == "202 Accepted" and bodies(server)[3]["dedup_key"] == second["dedup_key"]
    assert send(f"json://localhost:{server.port}/", joined) == "nothing was sent: it keeps no incidents"
    goes_on = replace(MESSAGE, url="https://causeline.example.org/another", known=MESSAGE.kept_as)
    assert send(PAGER, goes_on) == "202 Accepted" and bodies(server)[4]["dedup_key"] == first["dedup_key"]
    assert first["payload"]["severity"] == "warning" and MESSAGE.title in first["payload"]["summary"]


def test_what_apprise_cannot_tell_is_not_called_sent(server: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    lookup = f"dict.fromkeys(m.OPSGENIE_API_LOOKUP, 'http://localhost:{server.port}/v2/alerts')"
    leads(monkeypatch, "apprise.plugins.opsgenie", "OPSGENIE_API_LOOKUP", lookup)
    server.body = b'{"requestId": "43a29c5c-3dbf-4fa4-9c26-f4f71023e120"}'
    assert send(OPSGENIE, replace(MESSAGE, severity="info")) == "200 OK"
    assert bodies(server)[0]["alias"].startswith("causeline-")
    assert send(OPSGENIE, replace(MESSAGE, change="over")).startswith("nothing was sent")
    assert len(server.requests) == 1


def test_an_error_is_tried_again_unless_that_changes_nothing_and_shows_no_secret(
    server: Receiver, capfd: pytest.CaptureFixture[str]
) -> None:
    for server.always, error in ((400, DestinationRefused), (503, Unreachable)):
        with pytest.raises(error, match=f"It answered {server.always}") as raised:
            send(f"json://user:very-secret@localhost:{server.port}/also-secret")
        shown = "".join(capfd.readouterr()) + str(raised.value)
        assert "very-secret" not in shown and "also-secret" not in shown


def test_a_redirect_is_not_followed_and_what_no_operator_allows_is_not_connected_to(
    server: Receiver, settings: Settings
) -> None:
    with receiving() as elsewhere:
        server.always, server.headers = 307, {"Location": f"{elsewhere.url}/metadata"}
        with pytest.raises(Unreachable, match="307"):
            send(f"json://localhost:{server.port}")
        assert elsewhere.requests == []
    server.requests.clear()
    for url in (f"json://127.0.0.1:{server.port}/", "json://169.254.169.254/latest"):  # only the name is allowed
        with pytest.raises(NotAllowed):
            send(url)
    settings.DESTINATION_HOSTS = allowed_hosts([f"https://localhost:{server.port}"])  # with TLS
    with pytest.raises(NotAllowed):
        send(f"json://localhost:{server.port}/")
    assert server.requests == []


def test_an_address_that_could_do_something_else_is_refused_before_a_connection() -> None:
    for url, why in (
        ("dbus://", "not an address"),
        ("windows://x", "not among the services"),
        ("file:///etc/passwd", "not among the services"),
        ("https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7", "not among the services"),
        (f"{SLACK}?template=/etc/passwd", "parameter template"),
        (f"{SLACK}?%74emplate=/etc/passwd", "parameter template"),
        ("json://localhost?verify=no", "parameter verify"),
        ("slack://x", "does not understand"),
        ("json://localhost/ json://other", "not an address"),
        ("", "not an address"),
    ):
        with pytest.raises(DestinationRefused, match=why) as raised:
            apprise.check({"url": url})
        assert "TIiajkdnlazkcOXrIdevi7" not in str(raised.value)
    apprise.check({"url": f"json://localhost:{closed_port()}"})


def test_an_operator_cannot_allow_what_acts_on_this_machine() -> None:
    for scheme in ("dbus", "syslog", "fcm", "apprise", "mqtt://"):
        with pytest.raises(ValueError, match="never allowed"):
            schemes(["slack", scheme])


ACTS = """
subprocess.run(['true'])
os.system('true')
os.execv('/bin/true', ['true'])
os.fork()
open('/etc/passwd').read()
open('/tmp/causeline-confined', 'w')
os.open(os.__file__, os.O_RDWR)
os.remove('/tmp/causeline-confined')
socket.socket().connect(('127.0.0.1', 80))
socket.socket(socket.AF_UNIX).connect('/var/run/docker.sock')
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 514))
socket.create_connection(('localhost', 80))
ctypes.CDLL(None).system(b'true')
"""
CONFINED = """
import ctypes, json, os, socket, subprocess, sys
from dashboard.alerting.confinement import Confinement
acts, answers = json.load(sys.stdin), []
confinement = Confinement()
confinement.begin()
for act in acts:
    try:
        exec(act)
    except Exception as error:
        answers.append(type(error).__name__)
    else:
        answers.append('done')
print(json.dumps(answers))
"""


def test_a_confined_process_reads_its_own_modules_and_can_do_nothing_else() -> None:
    acts = [*ACTS.strip().splitlines(), "open(os.__file__).read()", "import wave", "bytearray(2 << 30)"]
    run = [sys.executable, "-I", "-c", CONFINED]
    done = subprocess.run(run, input=json.dumps(acts), capture_output=True, text=True, check=True)
    answers = dict(zip(acts, json.loads(done.stdout), strict=True))
    assert [act for act, answer in answers.items() if answer == "done"] == acts[-3:-1]
    assert {act: answer for act, answer in answers.items() if answer not in {"Forbidden", "done"}} == {
        "bytearray(2 << 30)": "MemoryError"
    }


@pytest.mark.django_db
def test_a_destination_sends_by_it(server: Receiver) -> None:
    sealed = encryption.encrypted({"url": f"json://localhost:{server.port}/hook"})
    made = sending.send_test(Destination.objects.create(name="chat", kind="apprise", sealed=sealed))
    assert (made.state, made.answer) == (Delivery.State.SENT, "200 OK")
    assert bodies(server)[0]["title"] == "Test: Test message from Causeline"
    cluster = Destination.objects.create(name="events", kind="kubernetes_event", sealed=encryption.encrypted({}))
    refused = sending.send_test(cluster)
    assert refused.state == Delivery.State.REFUSED and "not turned on" in refused.answer
