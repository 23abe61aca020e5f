"""Say what to install for what needs the packages of an extra. pyproject.toml declares the extras; their packages are
imported only where they are used."""

from importlib.util import find_spec


def advice(what: str, extra: str) -> str:
    """Return the sentence for people who ask for something whose packages are not installed."""
    return f"{what} needs packages that are not installed here. To install them: pip install 'causeline[{extra}]'"


def missing(package: str, what: str, extra: str) -> str:
    """Return what to install for `what`, without importing the package; "" if that is installed."""
    try:
        return "" if find_spec(package) else advice(what, extra)
    except ModuleNotFoundError:  # of a package around it
        return advice(what, extra)
