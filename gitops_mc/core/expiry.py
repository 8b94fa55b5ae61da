"""When a bearer token expires, as the token itself says. That proves nothing, and need not: the server alone judges a token."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from datetime import UTC, datetime


def expiry_of(token: str) -> datetime | None:
    """The claim `exp` of a JSON Web Token (RFC 7519, section 4.1.4; tokens of Kubernetes and of OpenID Connect are such). None for
    a token that does not say, or is of another kind. Never raises, and shows nothing of the token.
    """
    parts = token.strip().split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return None
    expires = claims.get("exp") if isinstance(claims, dict) else None
    if not isinstance(expires, int | float) or isinstance(expires, bool):
        return None
    try:
        return datetime.fromtimestamp(expires, UTC)
    except (ValueError, OverflowError, OSError):
        return None
