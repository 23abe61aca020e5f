"""Run PostgreSQL and Valkey in a data directory, and supervise the programs that are started.

It does not import Django or Celery, or know what the programs do. `causeline up`, the tests and the benches all start
the same servers through `servers.serving`.
"""

from dashboard.services.errors import AlreadyServed, ServiceError, Stopped
from dashboard.services.privileges import leave_root
from dashboard.services.program import Program
from dashboard.services.servers import Addresses, serving
from dashboard.services.supervise import Supervisor

__all__ = ["Addresses", "AlreadyServed", "Program", "ServiceError", "Stopped", "Supervisor", "leave_root", "serving"]
