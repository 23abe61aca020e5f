"""Read notifications of alerts, as Alertmanager, Grafana or a script sends them. It does no I/O.

It checks everything that a sender can write, once: what it returns is stored and shown as it is. `objects.py` says
which objects the labels of an alert name. It sends nothing, and does not know which objects exist.
"""

from collectors.alerts.notifications import KINDS, Invalid, Kind, Notification, parse, read

__all__ = ["KINDS", "Invalid", "Kind", "Notification", "parse", "read"]
