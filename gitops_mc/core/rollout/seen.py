"""What somebody looked at before he approved, named by the beginning of its digest: his approval is good for nothing else.

Of a wave that is the digest of its clusters and their contents (`gitops_mc.core.rollout.waves.contents_digest`), of a first
contact the content itself. What is shown to be copied, and what is compared, is made here.
"""

from __future__ import annotations

import re
from typing import Final

SHOWN: Final = 12
"""Characters of a digest that are shown."""
_SEEN: Final = re.compile(r"[0-9a-f]{8,64}")


def as_shown(digest: str) -> str:
    """The beginning of a digest that is shown, and taken as `seen`."""
    return digest[:SHOWN]


def not_as_seen(what: str, seen: str, digest: str) -> str:
    """Why an approval of `what` is not carried out: it is not, now, what was looked at. Empty where it is."""
    if not _SEEN.fullmatch(seen):
        return f"seen is {seen[:64]!r}, and is to be the beginning of a digest, 8 characters of it at least"
    if digest.startswith(seen):
        return ""
    return (
        f"{what} was looked at with {as_shown(seen)}, and has {as_shown(digest)} now, so nothing is approved"
    )
