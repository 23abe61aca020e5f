"""Find out which links can be proven in a source, which join what one cause did to one incident. It does no I/O.

Each sort of links declares the lines that it needs beside the function that makes such links.
"""

from collections.abc import Iterable

from timeline.judging.copies.spans import OLD_COPIES
from timeline.judging.coverage.judgeable import Answer, RuleCoverage
from timeline.judging.incidents.partition import SHARED_WRITE
from timeline.judging.leases.lost import TAKE_OVER
from timeline.judging.leases.sharing import CONFIGURATION
from timeline.judging.references.missing import MISSING_OBJECT
from timeline.judging.refusals.outages import REFUSED

LINKS = (SHARED_WRITE, OLD_COPIES, TAKE_OVER, MISSING_OBJECT, CONFIGURATION, REFUSED)
"""All sorts of links. `judgeable` says of each what can be proven in a source, as it does of rules."""
JOINS: dict[Answer, str] = {"can": "can join", "part": "can join in part", "cannot": "cannot join"}


def provable(links: Iterable[RuleCoverage]) -> list[RuleCoverage]:
    """Return what can be proven of each sort of links. What is inconclusive joins nothing, so where a source leaves
    orders open, links are proven in the part of it that does not."""
    return [each._replace(verdict="bounded") if each.verdict == "inconclusive" else each for each in links]
