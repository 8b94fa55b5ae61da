"""Tokens that are about to expire: each stage of each is told once."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from gitops_mc.app.telemetry_ports import Credential
from gitops_mc.core.expiry import Claimed, Expiry, Lifetime
from gitops_mc.core.render.happening import Happening, Reason


@dataclass(slots=True)
class Tokens:
    """Those of one Fleet. Of one credential by one thread at a time."""

    _lives: dict[Credential, Lifetime] = field(default_factory=dict)
    _told: dict[Credential, Expiry] = field(default_factory=dict)
    """How near its end it was when that was told last."""

    def told(
        self, fleet: str, credential: Credential, said: Claimed | None, now: datetime
    ) -> tuple[Happening, ...]:
        """What there is to tell of a credential that says this of its life (None: nothing)."""
        if said is None:
            self._lives.pop(credential, None)
            self._told.pop(credential, None)
            return ()
        life = self._lives.get(credential)
        if life is None or life.expires != said.expires:
            life = self._lives[credential] = Lifetime(said.issued or now, said.expires)
            self._told.pop(credential, None)
        stage = life.stage(now)
        if stage <= self._told.get(credential, Expiry.FAR):
            return ()
        self._told[credential] = stage
        when = said.expires.isoformat(timespec="minutes")
        text = f"the {credential.value} token of Fleet {fleet} {_WORDS[stage]} ({when}): put a new one into its Secret"
        return (Happening(Reason.CREDENTIAL_EXPIRES, text, subject=credential.value),)


_WORDS = {
    Expiry.WEEKS: "expires within two weeks",
    Expiry.DAYS: "expires within three days",
    Expiry.HOURS: "expires within a day",
    Expiry.OVER: "has expired",
}
