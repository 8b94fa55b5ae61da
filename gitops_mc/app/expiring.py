"""Tokens that are about to expire: each stage of each is told once."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from gitops_mc.app.telemetry_ports import Credential
from gitops_mc.core.expiry import Expiry, Lifetime
from gitops_mc.core.render.happening import Happening, Reason


@dataclass(slots=True)
class Tokens:
    """Those of one Fleet. Of one credential by one thread at a time."""

    _lives: dict[Credential, Lifetime] = field(default_factory=dict)
    _told: dict[Credential, Expiry] = field(default_factory=dict)
    """How near its end it was when that was told last."""

    def told(
        self, fleet: str, credential: Credential, at: datetime | None, now: datetime
    ) -> tuple[Happening, ...]:
        """What there is to tell of a credential that expires at `at` (None: it does not say)."""
        if at is None:
            self._lives.pop(credential, None)
            self._told.pop(credential, None)
            return ()
        life = self._lives.get(credential)
        if life is None or life.expires != at:
            life = self._lives[credential] = Lifetime(now, at)
            self._told.pop(credential, None)
        stage = life.stage(now)
        if stage <= self._told.get(credential, Expiry.FAR):
            return ()
        self._told[credential] = stage
        when = at.isoformat(timespec="minutes")
        said = f"has expired, at {when}" if stage is Expiry.OVER else f"expires at {when}"
        text = f"the {credential.value} token of Fleet {fleet} {said}: put a new one into its Secret"
        return (Happening(Reason.CREDENTIAL_EXPIRES, text),)
