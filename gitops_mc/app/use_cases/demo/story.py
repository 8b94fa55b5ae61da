"""The story: four commits to the example repository, and what has to come true after each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from gitops_mc.core.errors import GitopsMcError

CANARY = "edge-01"
NEWCOMER = "edge-02"
"""The cluster that has no machine-config yet."""
INSTALLED_BY_HAND = ("edge-01", "dc-01", "global")
BAD_LINE = "sever ntp-4.example.com"
"""A misspelt directive. The nodes of the demo's fleet fail on it, as chronyd would."""

_CHRONY = "shared/base/files/chrony.conf"
_LAST_SERVER = "server ntp-2.example.com iburst\n"


LIBERTIES = (
    "The repository is examples/fleet, with a soak of 1m instead of 30m, and without the ModuleInfos of",
    f"{', '.join(INSTALLED_BY_HAND)}: machine-config was installed there by hand, and taking that over",
    "would ask a human first. The nodes are set to fail on one misspelt word, in scene 3.",
)
"""Where the demo is not the example, and where the fleet is told how to behave."""


class Ending(Enum):
    """What has to come true."""

    PASSED = "every cluster passed"
    STOPPED = "the canary failed and nothing else was written"


@dataclass(frozen=True, slots=True)
class Edit:
    """A piece of a file, and what comes in its place."""

    path: str
    before: str
    after: str

    def apply(self, files: Mapping[str, bytes]) -> bytes:
        """The file with the edit. Raises GitopsMcError when the example is not what the story was written for."""
        text = files.get(self.path, b"").decode()
        if text.count(self.before) != 1:
            raise GitopsMcError(
                f"{self.path} of the example does not have the line {self.before.strip()!r} once"
            )
        return text.replace(self.before, self.after).encode()


@dataclass(frozen=True, slots=True)
class Scene:
    """One commit."""

    title: str
    message: str
    edits: tuple[Edit, ...]
    ending: Ending


STORY: tuple[Scene, ...] = (
    Scene(
        f"The whole repository reaches the fleet; {NEWCOMER} gets machine-config first",
        "The example fleet",
        (),
        Ending.PASSED,
    ),
    Scene(
        "A change rolls through the canary",
        "chrony: a third time server",
        (Edit(_CHRONY, _LAST_SERVER, f"{_LAST_SERVER}server ntp-3.example.com iburst\n"),),
        Ending.PASSED,
    ),
    Scene(
        "A bad commit: a misspelt word that no validation of YAML can see",
        "chrony: a fourth time server",
        (
            Edit(
                _CHRONY,
                "server ntp-3.example.com iburst\n",
                f"server ntp-3.example.com iburst\n{BAD_LINE} iburst\n",
            ),
        ),
        Ending.STOPPED,
    ),
    Scene(
        "The repair goes through the halt",
        "chrony: server, not sever",
        (Edit(_CHRONY, BAD_LINE, BAD_LINE.replace("sever", "server")),),
        Ending.PASSED,
    ),
)


def first_files(example: Mapping[str, bytes]) -> dict[str, bytes]:
    """The example as the demo starts with it: without the ModuleInfos of clusters where machine-config was installed by
    hand, since taking one over asks a human first; and with a soak that fits a demo.
    """
    files = dict(example)
    for cluster in INSTALLED_BY_HAND:
        del files[f"clusters/{cluster}/machine-config.yaml"]
        files[f"clusters/{cluster}/.gitkeep"] = b""
    files["fleet.yaml"] = Edit("fleet.yaml", "soak: 30m", "soak: 1m").apply(files)
    return files
