"""When a bearer token expires, as the token itself says. That proves nothing, and need not: the server alone judges a token."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import IntEnum


@dataclass(frozen=True, slots=True)
class Claimed:
    """What a token says of its life."""

    expires: datetime
    issued: datetime | None = None
    """None: it does not say."""


def claimed(token: str) -> Claimed | None:
    """The claims `exp` and `iat` of a JSON Web Token (RFC 7519, sections 4.1.4 and 4.1.6; tokens of Kubernetes and of OpenID Connect are
    such). None for a token that does not say when it expires, or is of another kind. Never raises, and shows nothing of the token.
    """
    parts = token.strip().split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return None
    if not isinstance(claims, dict):
        return None
    expires = _moment(claims.get("exp"))
    return None if expires is None else Claimed(expires, _moment(claims.get("iat")))


def expiry_of(token: str) -> datetime | None:
    """When a token expires, as far as it says so."""
    found = claimed(token)
    return None if found is None else found.expires


def _moment(said: object) -> datetime | None:
    if not isinstance(said, int | float) or isinstance(said, bool):
        return None
    try:
        return datetime.fromtimestamp(said, UTC)
    except (ValueError, OverflowError, OSError):
        return None


class Expiry(IntEnum):
    """How near the end of a token is; each is told once."""

    FAR = 0
    WEEKS = 1
    DAYS = 2
    HOURS = 3
    OVER = 4


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A token, by when it expires, and when it was issued; where it does not say that, when it was met first."""

    first: datetime
    expires: datetime

    def stage(self, now: datetime) -> Expiry:
        """A token that lives for a day at most is renewed all the time (a kubelet does it after 80 % of its life, kubernetes.io,
        "Configure Service Accounts for Pods"): of such a one nothing is told before nine tenths are over.
        """
        left, known = self.expires - now, self.expires - self.first
        if left <= timedelta(0):
            return Expiry.OVER
        if known <= _SHORT_LIVED:
            return Expiry.HOURS if left <= known / 10 else Expiry.FAR
        return next((stage for stage, limit in _STAGES if left <= limit), Expiry.FAR)


_SHORT_LIVED = timedelta(days=1)
_STAGES = (
    (Expiry.HOURS, timedelta(days=1)),
    (Expiry.DAYS, timedelta(days=3)),
    (Expiry.WEEKS, timedelta(days=14)),
)
