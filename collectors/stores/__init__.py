"""Read the part of an audit log that lies in a time window from a log store, such as CloudWatch or Loki. Each module
with a `KIND` is for one of these services.

It uses no Django. The clients of the services are optional, so each module imports its client only when a store is
opened. What is pulled is written in a form that `collectors.formats` reads, so pulled and uploaded logs take one road.
"""

import importlib
import pkgutil
from functools import cache

from collectors.stores.kinds import Kind


@cache
def all_kinds() -> dict[str, Kind]:
    """Return the kinds of log stores by their names."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return {module.KIND.name: module.KIND for module in modules if hasattr(module, "KIND")}
