"""How it stands with the forge of one Fleet: how long it is left alone, what is news of it, and whether somebody may have mended it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import TypeAlias, assert_never

from gitops_mc.app.controller.commit_notes import EVER, Notes
from gitops_mc.app.forge_ports import Forge, ForgeWell, NoForge
from gitops_mc.core.custom.fleet_spec import FleetSpecError
from gitops_mc.core.errors import GitopsMcError, UsageError


class OursError(GitopsMcError):
    """What no forge is to blame for."""

    transient = True

    def __init__(self, error: Exception) -> None:
        super().__init__(
            f"a fault of gitops-mc in asking its forge ({type(error).__name__}), which its log tells of"
        )


class Answer(Enum):
    """How a forge answered that can be asked."""

    TOOK = auto()
    """All that was due."""
    NONE = auto()
    """It was not asked: nothing was due any more, or this process may not speak."""


Outcome: TypeAlias = GitopsMcError | NoForge | Answer


OF_THE_FLEET = (UsageError, FleetSpecError)
"""What somebody corrects in a Fleet or a Secret: the next thing that is wrong there is news. A forge may say the same in ever new words."""


@dataclass(slots=True)
class Followed:
    """One Fleet, and how it stands with its forge."""

    notes: Notes = field(default_factory=Notes)
    forge: Forge | None = None
    """What is known was read from this one."""
    failures: int = 0
    """In a row, of the forge as a whole."""
    not_before: datetime = EVER
    look_at: datetime = EVER
    """In trouble: when it is looked at whether what leads to the forge has been corrected."""
    told: tuple[type[GitopsMcError], str] | None = None
    """Of what kind the trouble is that was told last, and what it says where that is about the Fleet itself; None: there is none."""
    busy: bool = False
    """A job uses its forge."""

    def is_due(self, now: datetime) -> bool:
        """Whether the forge is to be asked."""
        return now >= self.not_before and bool(self.notes.due(now))

    def may_be_mended(self, now: datetime) -> bool:
        """Whether it is time to look; not at the forge, but at what leads to it."""
        if self.told is not None and self.told[0] is OursError:
            return False
        in_trouble = self.failures > 0 or any(note.refused for note in self.notes.commits.values())
        return in_trouble and now >= self.look_at

    def news(self, outcome: Outcome) -> GitopsMcError | ForgeWell | None:
        """What is to be told of it; None: nothing that is not known."""
        before = self.told
        match outcome:
            case GitopsMcError():
                self.told = (type(outcome), outcome.message if isinstance(outcome, OF_THE_FLEET) else "")
                return None if self.told == before else outcome
            case NoForge.NONE_NAMED:
                self.told = None
                return None if before is None else ForgeWell.NONE_NAMED
            case Answer.TOOK:
                if any(note.refused for note in self.notes.commits.values()):
                    return None
                self.told = None
                return None if before is None else ForgeWell.TAKES_AGAIN
            case NoForge.NOT_KNOWN | Answer.NONE:
                return None
            case _:
                assert_never(outcome)
