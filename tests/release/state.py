"""What a release has remembered, kept for the ones after it: `make released-state` plays the demo and writes it down.

The story stands still twice: halted, with a cluster that has failed, and at its end, passed everywhere. Both are written as a state
file, byte for byte as the command line does it, and as the objects that a controller would keep of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gitops_mc import __version__
from gitops_mc.adapters.memory import FileMemory
from gitops_mc.app.use_cases.demo.play import Performance
from gitops_mc.app.use_cases.demo.story import STORY, first_files
from gitops_mc.bootstrap import example_files
from gitops_mc.core.custom.kept import Part, cluster_part, fleet_part
from gitops_mc.core.rollout.memory import FleetMemory, to_json
from tests.e2e.demo_world import virtual_stage

RELEASED = Path(__file__).parents[1] / "data" / "released"
MOMENTS = ("halted", "passed")
OBJECTS = "objects.json"
"""Of every moment; 0.1.0 had no controller."""
STATES = (*(f"{moment}.json" for moment in MOMENTS), OBJECTS)


def moments() -> Mapping[str, FleetMemory]:
    """The memory at both."""
    found: dict[str, FleetMemory] = {}
    with TemporaryDirectory() as folder:
        stage, _ = virtual_stage(Path(folder))
        for _line in Performance(stage, first_files(example_files())).lines(STORY):
            memory = stage.session.executor.memory()
            if memory.halt is not None:
                found["halted"] = memory
        found["passed"] = stage.session.executor.memory()
    return found


def objects(memory: FleetMemory) -> dict[str, Any]:
    """Spec and status of the Fleet and of every ClusterRollout, as far as they are memory."""
    return {
        "fleet": _body(fleet_part(memory)),
        "clusters": {name: _body(cluster_part(cluster)) for name, cluster in memory.clusters.items()},
    }


def _body(part: Part) -> dict[str, Any]:
    return {"spec": part.spec, "status": {"memory": part.memory, "history": list(part.history)}}


def write(folder: Path) -> None:
    """All of STATES. Raises FileExistsError: what a release has remembered is never written over."""
    folder.mkdir(parents=True)
    found = moments()
    for moment in MOMENTS:
        file = folder / f"{moment}.json"
        with FileMemory(file) as store:
            store.save(to_json(found[moment]))
        file.with_name(f"{file.name}.lock").unlink(missing_ok=True)
        file.chmod(0o644)
    kept = {moment: objects(memory) for moment, memory in found.items()}
    (folder / OBJECTS).write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    try:
        write(RELEASED / __version__)
    except FileExistsError:
        sys.exit(
            f"error: {RELEASED / __version__} is there; remove it if {__version__} has not been released"
        )
