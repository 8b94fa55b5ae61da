"""Whether a request to the webhook knows the secret, in the words of each forge. Pure.

| sender | header | value |
|---|---|---|
| GitHub | `X-Hub-Signature-256` | `sha256=` and the HMAC-SHA256 of the body, in hex |
| Gitea | `X-Gitea-Signature` | the HMAC-SHA256 of the body, in hex |
| Forgejo | `X-Forgejo-Signature` | the same |
| GitLab | `X-Gitlab-Token` | the secret itself |
| any other | `X-Signature-256` | the HMAC-SHA256 of the body, in hex; `sha256=` before it may stand or not |
| any other | `Authorization` | `Bearer ` and the secret itself |

Sources: the webhook pages of GitHub, Gitea, Forgejo and GitLab.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum


class Proof(Enum):
    """What the value of a header is made of."""

    SIGNATURE = "the HMAC-SHA256 of the body"
    TOKEN = "the secret itself"  # noqa: S105 - words for a page


@dataclass(frozen=True, slots=True)
class Row:
    """One header that may prove the sender. `prefix` stands before the value, and where it is `optional` it may not."""

    sender: str
    header: bytes
    proof: Proof
    prefix: bytes = b""
    optional: bool = False


ROWS = (
    Row("GitHub", b"x-hub-signature-256", Proof.SIGNATURE, b"sha256="),
    Row("Gitea", b"x-gitea-signature", Proof.SIGNATURE),
    Row("Forgejo", b"x-forgejo-signature", Proof.SIGNATURE),
    Row("GitLab", b"x-gitlab-token", Proof.TOKEN),
    Row("any other", b"x-signature-256", Proof.SIGNATURE, b"sha256=", optional=True),
    Row("any other", b"authorization", Proof.TOKEN, b"bearer "),
)
_BY_HEADER = {row.header: row for row in ROWS}
_AT_MOST = 8
"""Headers that are looked at; nobody honest sends more."""
NOBODY = b"the secret of a fleet that is not there"
"""Stands in for it, so that the answer takes as long."""


def knows_secret(headers: Iterable[tuple[bytes, bytes]], body: bytes, secrets: Sequence[bytes]) -> bool:
    """Whether any header proves any of the secrets (two while one is being replaced). Header names in lower case.

    An empty secret proves nothing. Comparisons take the same time whatever is in them, with no secret at all too.
    """
    presented = [(row, value) for name, value in headers if (row := _BY_HEADER.get(name)) is not None]
    usable = [secret for secret in secrets if secret]
    good = False
    for secret in usable or [NOBODY]:
        signature = hmac.new(secret, body, hashlib.sha256).hexdigest().encode()
        for row, value in presented[:_AT_MOST]:
            good |= _equal(_presented(row, value), secret if row.proof is Proof.TOKEN else signature)
    return good and bool(usable)


def _presented(row: Row, value: bytes) -> bytes:
    """What is to be compared; empty, which equals nothing, where the prefix is missing."""
    value = value.strip()
    if value[: len(row.prefix)].lower() == row.prefix:
        value = value[len(row.prefix) :].strip()
    elif not row.optional:
        return b""
    return value.lower() if row.proof is Proof.SIGNATURE else value


def _equal(one: bytes, other: bytes) -> bool:
    """In the same time for any two values of any length."""
    return hmac.compare_digest(hashlib.sha256(one).digest(), hashlib.sha256(other).digest())
