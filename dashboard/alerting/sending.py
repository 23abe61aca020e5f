"""Send deliveries. A destination is served by one process at a time, and destinations do not wait for each other.

A delivery is counted as attempted before it is sent. A process that dies while it sends leaves the row waiting, and
another one sends it again with the same key after the destination's lease has run out.
"""

import logging
import random
import secrets
import time
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from typing import NamedTuple

from celery import current_app
from django.db import close_old_connections, connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from dashboard.access import encryption
from dashboard.alerting import notifying, wording
from dashboard.alerting.destinations import kinds
from dashboard.alerting.messages import DestinationRefused, NotAllowed, Unreachable, from_json
from dashboard.models import Delivery, Destination

logger = logging.getLogger(__name__)
State = Delivery.State
LEASE = timedelta(seconds=15)  # renewed while a process sends, so that a dead one holds nothing up for longer
_ONE_ATTEMPT = timedelta(seconds=60)  # the lease of a process that only sends a test message
SECONDS = 20.0  # after which a task stops to take further deliveries
_AT_ONCE = 8  # destinations that one process sends to at the same time
_KEPT = timedelta(days=30)  # how long a delivery is listed after it has ended
_FIRST, _LONGEST = 5.0, 1800.0  # seconds between attempts of a delivery
_PAUSE = 300.0  # seconds, at most, in which nothing is sent to a destination that does not answer
_ANSWER = 500  # characters of an answer that are kept


class Outcome(NamedTuple):
    """How an attempt ended."""

    state: Delivery.State
    answer: str
    answered: bool  # whether the other side was reached, or other deliveries may reach it
    after: float = 0.0  # seconds that it wants to be left alone


def deliver() -> int:
    """Send what is due, to several destinations at once, for a limited time. Return how many were attempted."""
    _expire()
    until = time.monotonic() + SECONDS
    due = list(_due_destinations().values_list("pk", flat=True))
    if not due:
        return 0
    holder = secrets.token_hex(8)
    with ThreadPoolExecutor(min(_AT_ONCE, len(due)), thread_name_prefix="sending") as pool:
        working = {pool.submit(_serve_in_thread, pk, holder, until) for pk in due}
        left = working
        while left := wait(left, LEASE.total_seconds() / 3).not_done:
            Destination.objects.filter(holder=holder).update(busy_until=Now() + LEASE)
        return sum(each.result() for each in working)


def send_test(destination: Destination) -> Delivery:
    """Send a test message, and return its delivery, which is not tried again. If another process is just sending to the
    destination, that process sends it."""
    now = timezone.now()
    made = notifying.delivery(destination, [wording.test(destination.name, now)], now=now, group="test")
    made.expires = now
    made.save()
    holder = secrets.token_hex(8)
    if _claim(destination.pk, holder, _ONE_ATTEMPT):
        try:
            _attempt(made, holder)
        finally:
            _release(destination.pk, holder)
    made.refresh_from_db()
    return made


def resend(delivery: Delivery) -> bool:
    """Have a delivery that has ended sent again, with the same key. Return whether it had ended."""
    now = timezone.now()
    ended = Delivery.objects.filter(pk=delivery.pk).exclude(state=State.WAITING)
    found = ended.update(state=State.WAITING, next_at=now, expires=now + notifying.PATIENCE, ended=None, attempts=0)
    Destination.objects.filter(pk=delivery.destination_id).update(retry_at=None)
    return bool(found)


def nudge() -> None:
    """Have deliveries sent as soon as they are committed. If the broker cannot be reached, Celery beat does so in a few
    seconds."""
    transaction.on_commit(_queue)


def _queue() -> None:
    try:
        current_app.send_task("dashboard.tasks.deliver", expires=SECONDS)
    except BrokerError as error:
        logger.warning("deliveries wait for their next turn: the broker cannot be reached: %s", error)


def forget() -> None:
    """Remove the rows of deliveries that ended long ago. Of those that only refresh what goes on, the latest stays."""
    Delivery.objects.filter(ended__lt=timezone.now() - _KEPT).delete()
    later = Delivery.objects.filter(
        destination=OuterRef("destination"),
        group=OuterRef("group"),
        refresh=True,
        state=State.SENT,
        pk__gt=OuterRef("pk"),
    )
    Delivery.objects.filter(Exists(later), refresh=True, state=State.SENT).delete()


def _due_destinations() -> QuerySet[Destination]:
    waiting = Delivery.objects.filter(destination=OuterRef("pk"), state=State.WAITING, next_at__lte=Now())
    free = Q(busy_until=None) | Q(busy_until__lt=Now())
    ready = Q(retry_at=None) | Q(retry_at__lte=Now())
    return Destination.objects.filter(free, ready, Exists(waiting)).order_by("pk")


def _serve_in_thread(pk: int, holder: str, until: float) -> int:
    try:
        return _serve(pk, holder, until)
    except Exception:
        logger.exception("deliveries to destination %s stay for the next call", pk)
        return 0
    finally:
        close_old_connections()
        connection.close()


def _serve(pk: int, holder: str, until: float) -> int:
    """Send what waits for one destination, in order, until it does not answer or the time is over."""
    if time.monotonic() >= until or not _claim(pk, holder):
        return 0
    count = 0
    try:
        while time.monotonic() < until and (delivery := _next(pk)):
            count += 1
            if not _attempt(delivery, holder):
                break
    finally:
        _release(pk, holder)
    return count


def _claim(pk: int, holder: str, length: timedelta = LEASE) -> bool:
    """Take the lease of a destination; return whether it was free."""
    with transaction.atomic():
        free = Destination.objects.select_for_update(skip_locked=True, no_key=True).filter(
            Q(busy_until=None) | Q(busy_until__lt=Now()), pk=pk
        )
        if not free.exists():
            return False
        Destination.objects.filter(pk=pk).update(busy_until=Now() + length, holder=holder)
    return True


def _release(pk: int, holder: str) -> None:
    Destination.objects.filter(pk=pk, holder=holder).update(busy_until=None, holder="")


def _next(pk: int) -> Delivery | None:
    """Return the first delivery that is due and does not wait for an earlier one of its group."""
    earlier = Delivery.objects.filter(
        destination=pk, group=OuterRef("group"), state=State.WAITING, pk__lt=OuterRef("pk")
    )
    due = Delivery.objects.filter(~Exists(earlier), destination=pk, state=State.WAITING, next_at__lte=Now())
    return due.order_by("pk").first()


def _attempt(delivery: Delivery, holder: str) -> bool:
    """Send a delivery, and write how that ended. Return whether the other side was reached."""
    held = Destination.objects.filter(pk=delivery.destination_id, holder=holder)
    with transaction.atomic():
        if not held.filter(busy_until__gt=Now()).exists():
            return False  # the lease has run out, and another process may be sending the same
        delivery.attempts += 1
        delivery.save(update_fields=["attempts"])
    outcome = _send(delivery)
    now = timezone.now()
    with transaction.atomic():
        destination = held.select_for_update(no_key=True).first()
        if destination is None:
            return False
        _note(delivery, outcome, now)
        if outcome.answered:
            destination.failures, destination.failing_since, destination.retry_at = 0, None, None
        else:
            destination.failures += 1
            destination.failing_since = destination.failing_since or now
            pause = max(_backoff(destination.failures, _PAUSE), min(outcome.after, _PAUSE))
            destination.retry_at = now + timedelta(seconds=pause)
        destination.save(update_fields=["failures", "failing_since", "retry_at"])
    return outcome.answered


def _note(delivery: Delivery, outcome: Outcome, now: datetime) -> None:
    delivery.state, delivery.answer = outcome.state, outcome.answer[:_ANSWER].replace("\0", "")
    if outcome.state == State.WAITING:
        pause = timedelta(seconds=max(_backoff(delivery.attempts, _LONGEST), outcome.after))
        delivery.next_at = min(now + pause, max(delivery.expires, now))  # a last attempt when its time is over
        if now >= delivery.expires:
            delivery.state = State.EXPIRED
    delivery.ended = None if delivery.state == State.WAITING else now
    delivery.save(update_fields=["state", "answer", "next_at", "ended"])


def _send(delivery: Delivery) -> Outcome:
    try:
        kind = kinds().get(delivery.destination.kind)
        if kind is None:
            raise Unreachable(
                f"This version of Causeline knows no destinations of the kind {delivery.destination.kind}."
            )
        config = encryption.decrypted(bytes(delivery.destination.sealed))
        messages = [from_json(each) for each in delivery.messages]
        return Outcome(State.SENT, kind.send(config, messages, key=delivery.key), True)
    except (NotAllowed, encryption.Unreadable) as error:  # an operator can change that
        return Outcome(State.WAITING, str(error), False)
    except DestinationRefused as error:
        return Outcome(State.REFUSED, str(error), True)
    except Unreachable as error:
        return Outcome(State.WAITING, str(error), error.others, error.after)
    except Exception as error:  # its text may contain the address
        logger.error("delivery %s could not be sent: %s", delivery.pk, type(error).__name__)
        return Outcome(
            State.WAITING, f"It could not be sent, by an error within Causeline ({type(error).__name__}).", False
        )


def _backoff(attempts: int, longest: float) -> float:
    """Return how many seconds to wait after so many attempts: twice as long each time, and never all at one moment."""
    return min(longest, _FIRST * 2.0 ** min(attempts - 1, 20)) * random.uniform(0.5, 1.0)


def _expire() -> None:
    """End deliveries that wait too long for a destination that has not answered for as long."""
    now = timezone.now()
    over = Delivery.objects.filter(state=State.WAITING, expires__lt=now - timedelta(seconds=_LONGEST))
    down = over.filter(destination__failing_since__lt=now - notifying.PATIENCE)
    down.update(state=State.EXPIRED, ended=now)
