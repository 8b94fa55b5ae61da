"""Commands from nothing, the start of the process included."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.compare.manifests import written
from bench.compare.measuring import Aim, Figure, Row, in_turns

PROGRAM: Final = str(Path(sys.executable).parent / "gitops-mc")


def _validate(folder: Path) -> Iterator[Figure]:
    for clusters, each in ((2, 5), (10, 10)):
        place = written(folder / f"{clusters}-{each}", clusters, each)
        ours, yardstick = in_turns(
            lambda place=place: _run(PROGRAM, "validate", str(place)),  # type: ignore[misc]
            lambda: _run(sys.executable, "-c", "pass"),
            turns=15,
        )
        yield Figure(f"{clusters * each} files", ours, yardstick)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


ROWS: Final = (Row("validate", "validate, process start included", "python -c pass", Aim(5.0), _validate),)
