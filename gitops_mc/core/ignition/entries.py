"""What a machine configuration consists of, entry by entry: the names everything else is told in."""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TypeAlias

FieldPath: TypeAlias = tuple[str, ...]
"""Where a field stands inside an entry, for instance `("contents", "source")`."""


class EntryKind(StrEnum):
    """Kinds of entries, in the order in which lists of entries show them."""

    FILE = "file"
    UNIT = "unit"
    DROPIN = "drop-in"
    SSH_KEY = "SSH key"
    USER = "user"
    """What a config says of a user besides SSH keys; the platform reconciles none of it."""
    KERNEL_ARGUMENT = "kernel argument"
    SSH_KEYS = "SSH keys"
    """All SSH keys of a user: their order, or that any of them changed."""
    KERNEL_ARGUMENTS = "kernelArguments"
    """All kernel arguments: their order, or that any of them changed."""
    OTHER = "section"
    """Anything else, kept and compared as it is written (`storage.directories`, a malformed item, ...)."""


_ORDER = {kind: position for position, kind in enumerate(EntryKind)}


@dataclass(frozen=True, slots=True)
class Entry:
    """Identity of one entry.

    `name` is the file's path, the unit's name, the user's name, the kernel argument as written, or the dotted name of
    a section; empty for all kernel arguments. `part` is the drop-in's name, or the SSH key as written.
    """

    kind: EntryKind
    name: str
    part: str = ""

    def __lt__(self, other: Entry) -> bool:
        return self._sort_key() < other._sort_key()

    def _sort_key(self) -> tuple[int, str, str]:
        return (_ORDER[self.kind], self.name, self.part)

    def __str__(self) -> str:
        """A name for people that shows no content: keys as fingerprints, kernel arguments without their values."""
        match self.kind:
            case EntryKind.DROPIN:
                return f"drop-in {self.part} of unit {self.name}"
            case EntryKind.SSH_KEY:
                return f"SSH key {fingerprint(self.part)} of user {self.name}"
            case EntryKind.KERNEL_ARGUMENT:
                return f"kernel argument {self.name.partition('=')[0]}"
            case EntryKind.SSH_KEYS:
                return f"SSH keys of user {self.name}"
            case EntryKind.KERNEL_ARGUMENTS:
                return "kernelArguments"
            case EntryKind.FILE | EntryKind.UNIT | EntryKind.USER | EntryKind.OTHER:
                return f"{self.kind.value} {self.name}"


KERNEL_ARGUMENTS = Entry(EntryKind.KERNEL_ARGUMENTS, "")


@lru_cache(maxsize=1024)
def fingerprint(public_key: str) -> str:
    """`SHA256:...` as `ssh-keygen -l` prints it; of the whole text where it is no well-formed public key."""
    fields = public_key.split()
    try:
        blob = base64.b64decode(fields[1], validate=True) if len(fields) > 1 else _bytes(public_key)
    except (binascii.Error, ValueError):
        blob = _bytes(public_key)
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    """Half of a letter, which JSON can spell and UTF-8 cannot, is some bytes, too."""
    return text.encode("utf-8", "surrogatepass")
