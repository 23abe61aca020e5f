"""List the services of the library Apprise that an operator may allow, by the schemes of their addresses. It does no
I/O.

A service is never allowed that shows something on this machine, sends without a connection that can be checked, reads
keys from files, or hands a message to another Apprise, which sends it where it likes.
"""

from collections.abc import Iterable

USUAL = (
    "betterstack, discord, firehydrant, gchat, goalert, goalerts, gotify, gotifys, ilert, incidentio, jira, json, "
    "jsons, mailto, mailtos, matrix, matrixs, mmost, mmosts, ntfy, ntfys, opsgenie, pagerduty, pagertree, pover, "
    "rocket, rockets, signl4, slack, spike, splunk, squadcast, tgram, victorops, webex, workflow, workflows, wxteams, "
    "zulip"
)
_REASONS = {
    "acts on the machine on which it runs": "blink1 dbus glib gio gnome growl kde macosx qt syslog windows",
    "sends by a library of its own, or without a connection": (
        "amqp amqps aprs dapnet deltachat deltachats irc ircs mqtt mqtts nostr rsyslog smpp smpps xmpp xmpps"
    ),
    "reads keys from files": "fcm vapid",
    "hands messages on to wherever its own settings say": "apprise apprises",
}
_NEVER = {scheme: reason for reason, schemes in _REASONS.items() for scheme in schemes.split()}


def schemes(words: Iterable[str]) -> list[str]:
    """Return the schemes of the setting. Raise ValueError, which ends a sentence that begins with its name."""
    found = []
    for word in words:
        scheme = word.lower().removesuffix("://")
        if not scheme.isascii() or not scheme.isalnum():
            raise ValueError(f"has {word[:40]!r}; write schemes such as slack or mailtos, separated by commas.")
        if scheme in _NEVER:
            raise ValueError(f"has {scheme}, which is never allowed: it {_NEVER[scheme]}.")
        found.append(scheme)
    return found
