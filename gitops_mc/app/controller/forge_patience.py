"""How long a forge is left alone, and what of its trouble is news; of whatever is asked of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from gitops_mc.app.forge_ports import ForgeWell
from gitops_mc.core.custom.refs import FleetSpecError
from gitops_mc.core.errors import (
    GitopsMcError,
    InvalidError,
    NotFoundError,
    ServerError,
    StaleError,
    ThrottledError,
    UsageError,
)

AGAIN_FIRST: Final = timedelta(seconds=30)
AGAIN_LAST: Final = timedelta(minutes=10)
"""What did not go through is tried again after so long; twice as long each time, up to the last."""
MENDED_WITHIN: Final = timedelta(seconds=15)
"""How soon it is seen that somebody has corrected the Fleet or its Secret. The forge itself is not asked for that."""
LOOK_AGAIN: Final = timedelta(seconds=30)
"""When a Fleet without a forge is asked again whether it has one."""
ABOUT_THE_ONE: Final = (NotFoundError, InvalidError, StaleError)
"""The forge answered, and does not want this one; others may go through."""
_OF_THE_FLEET: Final = (UsageError, FleetSpecError)
"""What somebody corrects in a Fleet or a Secret: the next thing that is wrong there is news. A forge may say the same in ever new words."""


class OursError(GitopsMcError):
    """What no forge is to blame for."""

    transient = True

    def __init__(self, error: Exception) -> None:
        super().__init__(
            f"a fault of gitops-mc in asking its forge ({type(error).__name__}), which its log tells of"
        )


def pause(error: GitopsMcError, failures: int) -> timedelta:
    """How long a forge is left alone: as long as it asks for, where it does; what needs a human is asked seldom."""
    if not error.transient:
        return AGAIN_LAST
    grown = min(AGAIN_LAST, AGAIN_FIRST * float(2 ** min(failures - 1, 10)))
    asked = error.retry_after if isinstance(error, ThrottledError | ServerError) else None
    return max(grown, timedelta(seconds=asked or 0.0))


@dataclass(slots=True)
class TroubleTold:
    """What was told last of the trouble with one forge."""

    told: tuple[type[GitopsMcError], str] | None = None
    """Of what kind it is, and what it says where that is about the Fleet itself; None: there is none."""

    def troubled(self, error: GitopsMcError) -> GitopsMcError | None:
        """The error, where it is news: the same trouble in other words is none."""
        before = self.told
        self.told = (type(error), error.message if isinstance(error, _OF_THE_FLEET) else "")
        return None if self.told == before else error

    def well(self, why: ForgeWell) -> ForgeWell | None:
        """Why it is over, where that is news."""
        before, self.told = self.told, None
        return None if before is None else why
