"""A real SMTP server for tests of what Causeline sends: as much of RFC 5321 as a program needs that submits mail.

With a certificate it speaks TLS from the first byte, as servers do on port 465, or after STARTTLS, as on port 587.
"""

import base64
import email
import email.policy
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage


@dataclass
class Mailbox:
    """This server takes every message unless `answers` has another answer to the next ones, such as 451 or 554."""

    port: int
    messages: list[EmailMessage] = field(default_factory=list)
    recipients: list[str] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    signed_in: list[str] = field(default_factory=list)


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    mailbox: Mailbox
    context: ssl.SSLContext | None = None
    starttls = False

    def handle_error(self, *_: object) -> None:
        """Print nothing about clients that hang up."""


class _Handler(socketserver.StreamRequestHandler):
    server: _Server

    def setup(self) -> None:
        if self.server.context and not self.server.starttls:
            self.request = self.server.context.wrap_socket(self.request, server_side=True)
        super().setup()

    def finish(self) -> None:
        super().finish()
        self.request.close()

    def handle(self) -> None:
        self._say(220, "localhost ready")
        while line := self.rfile.readline(2_000):
            words = line.decode().strip()
            verb = words[:4].upper()
            if verb == "QUIT":
                self._say(221, "bye")
                return
            self._answer(verb, words)

    def _answer(self, verb: str, words: str) -> None:
        mailbox = self.server.mailbox
        if verb == "EHLO":
            plain = self.server.starttls and not isinstance(self.request, ssl.SSLSocket)
            self.wfile.write(b"250-localhost\r\n250 STARTTLS\r\n" if plain else b"250-localhost\r\n250 AUTH PLAIN\r\n")
        elif verb == "STAR" and self.server.context:
            self._say(220, "go on")
            self.request = self.server.context.wrap_socket(self.request, server_side=True)
            super().setup()
        elif verb == "AUTH":
            mailbox.signed_in.append(base64.b64decode(words.split()[2]).decode().split("\0")[1])
            self._say(235, "welcome")
        elif verb == "RCPT":
            mailbox.recipients.append(words.partition("<")[2].partition(">")[0])
            self._say(250, "fine")
        elif verb == "DATA":
            self._say(354, "go on")
            lines = list(iter(self.rfile.readline, b".\r\n"))
            status = mailbox.answers.pop(0) if mailbox.answers else 250
            if status == 250:
                content = b"".join(line.removeprefix(b".") for line in lines)
                mailbox.messages.append(email.message_from_bytes(content, policy=email.policy.default))
            self._say(status, "done")
        else:
            self._say(250, "fine")

    def _say(self, status: int, text: str) -> None:
        self.wfile.write(f"{status} {text}\r\n".encode())


@contextmanager
def mail_server(context: ssl.SSLContext | None = None, *, starttls: bool = False) -> Iterator[Mailbox]:
    """Yield a mail server on a free port of this machine, with TLS if a context is given."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.context, server.starttls = context, starttls
        server.mailbox = Mailbox(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server.mailbox
        finally:
            server.shutdown()
            thread.join()
