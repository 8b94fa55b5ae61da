"""The version: it stands in gitops_mc/__init__.py, and wherever else somebody reads it, which is compared and written from there.

`python -m tests.release.versions TO` writes another one everywhere.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT = Path(__file__).parents[2]
SOURCE: Final = "gitops_mc/__init__.py"
VERSION: Final = r"\d+\.\d+\.\d+(?:-(?:a|b|rc)\.?\d+)?"
"""What a Python package and a chart may both have as one: a candidate of 1.2.3 is 1.2.3-rc.1."""
_PARTS: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-(a|b|rc)\.?(\d+))?")
_STAGES: Final = ("a", "b", "rc", None)


@dataclass(frozen=True, slots=True)
class Place:
    """A file, and what stands around the version in it; at least once."""

    file: str
    around: str

    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.around.replace("VERSION", f"(?P<version>{VERSION})"), re.MULTILINE)

    def found(self, root: Path = ROOT) -> tuple[str, ...]:
        text = (root / self.file).read_text(encoding="utf-8")
        return tuple(match["version"] for match in self.pattern().finditer(text))


PLACES: Final = (
    Place(SOURCE, r'^__version__ = "VERSION"$'),
    Place("deploy/chart/Chart.yaml", r"^version: VERSION$"),
    Place("deploy/chart/Chart.yaml", r"^appVersion: VERSION$"),
    Place("deploy/base/deployment.yaml", r"image: gitops-mc:VERSION\b"),
    Place("deploy/chart/objects/base/deployment.yaml", r"image: gitops-mc:VERSION\b"),
    Place("Dockerfile", r'org\.opencontainers\.image\.version="VERSION"'),
    Place("docs/install.md", r"/gitops-mc:VERSION\b"),
    Place("docs/install.md", r"newTag: VERSION\b"),
    Place("man/gitops-mc.1", r'^\.TH GITOPS-MC 1 "" "gitops-mc VERSION"'),
)


def order(version: str) -> tuple[int, ...]:
    """By which versions are compared: candidates come before what they are candidates of. Raises ValueError for what is no version."""
    said = _PARTS.fullmatch(version)
    if said is None:
        raise ValueError(f"{version!r} is no version")
    *numbers, stage, candidate = said.groups()
    return (*map(int, numbers), _STAGES.index(stage), int(candidate or 0))


def current() -> str:
    [found] = PLACES[0].found()
    return found


def apart(root: Path = ROOT) -> Iterator[str]:
    """Sentences about places that do not say what the source says."""
    wanted = set(PLACES[0].found(root))
    for place in PLACES:
        found = place.found(root)
        if not found:
            yield f"{place.file}: no version where {place.around} is looked for"
        if others := set(found) - wanted:
            yield f"{place.file}: {', '.join(sorted(others))}, not {', '.join(wanted)}: make version TO=..."


def write(version: str, root: Path = ROOT) -> None:
    """Raises ValueError for what is no version."""
    order(version)
    for place in PLACES:
        path = root / place.file
        text = path.read_text(encoding="utf-8")
        path.write_text(
            place.pattern().sub(lambda m: m[0].replace(m["version"], version), text), encoding="utf-8"
        )


if __name__ == "__main__":
    try:
        write(" ".join(sys.argv[1:]))
    except ValueError as error:
        sys.exit(f"error: {error}: make version TO=1.2.3")
