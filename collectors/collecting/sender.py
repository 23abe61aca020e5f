"""Send the batches of the buffer to the server, and keep the right to send."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from collectors.collecting.server import Away, OutOfOrder, Pause, SteppedDown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from collectors.collecting.buffer import Buffer
    from collectors.collecting.server import Server

logger = logging.getLogger(__name__)
RENEW_SECONDS = 5.0  # seconds between two reports to the server


class Sender(threading.Thread):
    """Send batches in order until the thread is stopped, or until the right to send is lost (`lost`)."""

    def __init__(self, server: Server, buffer: Buffer, epoch: int, report: Callable[[], Mapping[str, object]]) -> None:
        super().__init__(name="sender", daemon=True)
        self._server, self._buffer, self._epoch, self._report = server, buffer, epoch, report
        self._stop_sending = threading.Event()
        self.lost = False  # whether the buffer does not continue what the server has
        self.error = ""  # why the last attempt failed; "" if it did not

    def stop(self) -> None:
        """Tell the thread to end after its present request."""
        self._stop_sending.set()

    def run(self) -> None:
        """Send batches, and report to the server from time to time."""
        pause, renewed = Pause(), time.monotonic()
        while not self._stop_sending.is_set():
            try:
                if time.monotonic() - renewed >= RENEW_SECONDS:
                    self._server.lease(epoch=self._epoch, **self._report())
                    renewed = time.monotonic()
                if batch := self._buffer.first(0.5):
                    self._buffer.remove_until(self._server.send(self._epoch, batch))
                if self.error:
                    logger.info("the server answers again")
                self.error = ""
                pause.reset()
            except (SteppedDown, OutOfOrder) as error:
                logger.warning("this collector begins anew: %s", error)
                self.lost = True
                return
            except Away as away:
                if not self.error:
                    logger.warning("what is observed waits on disk: %s", away)
                self.error = str(away)
                self._stop_sending.wait(pause.seconds(away.retry_after))
            except Exception as error:  # an error of this program must not end the sending unnoticed
                logger.exception("sending failed")
                self.error = type(error).__name__
                self._stop_sending.wait(pause.seconds())
