"""A reason for one line: without what another part of the same reason says better. Programs get it whole.

Nothing is cut in the middle: what is shown passes the redactor afterwards, which knows whole values only.
"""

from __future__ import annotations

import re

_NODE = re.compile(r"\bnode \S+ (?:Degraded|NotReady|is |cordoned|needs)")
_UNSAID = re.compile(
    r"(?:(?:Updated|Updating|Degraded|NodeDegraded)=\w+ since [^;]*?(?:\([^;]*\))?"
    r"|\w+MachineCount is \d+, not \d+"
    r"|its nodes are not all done with [^;]*"
    r"|and \d+ more"
    r"|see, on [^;]*: kubectl [^;]*(?:; kubectl [^;]*)*)(?:; |$)"
)


def brief(reason: str) -> str:
    """Where a node is named, the pool's conditions and counts that follow from it are left out; else as it is."""
    if not _NODE.search(reason):
        return reason
    return _UNSAID.sub("", reason).removesuffix("; ")
