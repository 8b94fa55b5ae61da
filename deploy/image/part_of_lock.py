# noqa: INP001 - a script of the image, no package
"""The part of requirements.lock that some packages need, hashes and all: `part_of_lock.py LOCK ROOT...` prints it.

A root is a package, or what the lock says something is there for: `gitops-mc (pyproject.toml)` is what the program needs to
run, without what only builds and tests it. What needs what is read from the lock's own comments.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_BEGIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==")
_NEEDED_BY = re.compile(r"^    # (?:via +|  +)(?P<who>\S.*)$")


def part_of(lock: str, roots: tuple[str, ...]) -> str:
    """Raises ValueError for a root that the lock does not know."""
    entries: dict[str, list[str]] = {}
    needed_by: dict[str, set[str]] = {}
    name = ""
    for line in lock.splitlines():
        if (begun := _BEGIN.match(line)) is not None:
            name = begun["name"]
            entries[name], needed_by[name] = [], set()
        elif (needing := _NEEDED_BY.match(line)) is not None:
            needed_by[name].add(needing["who"].strip())
            continue
        if name and not line.lstrip().startswith("#"):
            entries[name].append(line)
    known = entries.keys() | {who for some in needed_by.values() for who in some}
    if strangers := set(roots) - known:
        raise ValueError(f"the lock does not know {', '.join(sorted(strangers))}")
    wanted = set(roots)
    while more := {n for n, some in needed_by.items() if some & wanted} - wanted:
        wanted |= more
    return "".join(f"{line}\n" for name in sorted(wanted & entries.keys()) for line in entries[name])


if __name__ == "__main__":
    sys.stdout.write(part_of(Path(sys.argv[1]).read_text(encoding="utf-8"), tuple(sys.argv[2:])))
