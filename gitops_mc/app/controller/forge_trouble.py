"""How it stands with the forge of one Fleet: how long it is left alone, what is news of it, and whether somebody may have mended it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import TypeAlias, assert_never

from gitops_mc.app.controller.commit_notes import EVER, Notes
from gitops_mc.app.controller.forge_patience import OursError, TroubleTold
from gitops_mc.app.forge_ports import Forge, ForgeWell, NoForge
from gitops_mc.core.errors import GitopsMcError


class Answer(Enum):
    """How a forge answered that can be asked."""

    TOOK = auto()
    """All that was due."""
    NONE = auto()
    """It was not asked: nothing was due any more, or this process may not speak."""


Outcome: TypeAlias = GitopsMcError | NoForge | Answer


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
    trouble: TroubleTold = field(default_factory=TroubleTold)
    busy: bool = False
    """A job uses its forge."""

    def is_due(self, now: datetime) -> bool:
        """Whether the forge is to be asked."""
        return now >= self.not_before and bool(self.notes.due(now))

    def may_be_mended(self, now: datetime) -> bool:
        """Whether it is time to look; not at the forge, but at what leads to it."""
        told = self.trouble.told
        if told is not None and told[0] is OursError:
            return False
        in_trouble = self.failures > 0 or any(note.refused for note in self.notes.commits.values())
        return in_trouble and now >= self.look_at

    def news(self, outcome: Outcome) -> GitopsMcError | ForgeWell | None:
        """What is to be told of it; None: nothing that is not known."""
        match outcome:
            case GitopsMcError():
                return self.trouble.troubled(outcome)
            case NoForge.NONE_NAMED:
                return self.trouble.well(ForgeWell.NONE_NAMED)
            case Answer.TOOK:
                if any(note.refused for note in self.notes.commits.values()):
                    return None
                return self.trouble.well(ForgeWell.TAKES_AGAIN)
            case NoForge.NOT_KNOWN | Answer.NONE:
                return None
            case _:
                assert_never(outcome)
