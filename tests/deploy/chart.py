"""What the chart is made of, and what helm makes of it. `python -m tests.deploy.chart` copies into it what deploy/ has."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from gitops_mc.core.model import JsonObject
from tests.deploy.programs import find_helm
from tests.deploy.rendering import DEPLOY, rendered

CHART = DEPLOY / "chart"
OBJECTS = CHART / "objects"
OVERLAYS = ("monitoring", "dashboard", "network-policy", "disruption-budget", "preview-pods")
_HERE = {
    "crds": "crds",
    "rights": "rights",
    "pods": "pods",
    "base": "base",
    **{name: f"overlays/{name}" for name in OVERLAYS},
}
_LEFT_OUT = ("base/namespace.yaml",)
"""The namespace of a release is there before it: whoever installs makes it, with its label."""
KEPT = {"helm.sh/resource-policy": "keep"}


@dataclass(frozen=True, slots=True)
class Pair:
    """The same installation, said to kustomize and to helm."""

    overlays: tuple[str, ...]
    values: JsonObject


PAIRS = {
    "as it is": Pair((), {}),
    "monitoring": Pair(("monitoring",), {"monitoring": {"enabled": True}}),
    "dashboard": Pair(("dashboard",), {"dashboard": {"enabled": True}}),
    "network-policy": Pair(("network-policy",), {"networkPolicy": {"enabled": True}}),
    "disruption-budget": Pair(("disruption-budget",), {"disruptionBudget": {"enabled": True}}),
    "preview-pods": Pair(("preview-pods",), {"previewPods": {"enabled": True}}),
    "all": Pair(
        OVERLAYS,
        {
            part: {"enabled": True}
            for part in ("monitoring", "dashboard", "networkPolicy", "disruptionBudget", "previewPods")
        },
    ),
}


def copies() -> Mapping[str, bytes]:
    """What has to stand in the chart's objects/, by path below it."""
    found = {
        f"{name}/{file.name}": file.read_bytes()
        for name, folder in _HERE.items()
        for file in sorted((DEPLOY / folder).iterdir())
        if file.suffix in (".yaml", ".json") and file.name != "kustomization.yaml"
    }
    return {path: data for path, data in found.items() if path not in _LEFT_OUT}


def kustomized(pair: Pair) -> tuple[JsonObject, ...]:
    """The base and these overlays."""
    overlays = (body for name in pair.overlays for body in rendered(DEPLOY / "overlays" / name))
    return (*rendered(DEPLOY / "base"), *overlays)


def helm(*words: str, values: JsonObject | None = None) -> subprocess.CompletedProcess[str]:
    """Ask the helm that is there; without a cluster, and with nothing of the user's."""
    program = find_helm()
    assert program is not None
    given = () if values is None else ("--values", "-")
    return subprocess.run(
        [str(program), *words, *given],
        input="" if values is None else json.dumps(values),
        env={"HOME": "/nonexistent", "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def template(values: JsonObject, *, namespace: str = "gitops-mc", chart: Path = CHART) -> str:
    """What helm would apply. It has to end well."""
    done = helm("template", "gitops-mc", str(chart), "--namespace", namespace, values=values)
    assert done.returncode == 0, done.stderr
    return done.stdout


def templated(values: JsonObject, *, namespace: str = "gitops-mc") -> tuple[JsonObject, ...]:
    return tuple(body for body in yaml.safe_load_all(template(values, namespace=namespace)) if body)


def _write() -> None:
    wanted = copies()
    for file in [f for f in OBJECTS.rglob("*") if f.is_file()]:
        if str(file.relative_to(OBJECTS)) not in wanted:
            file.unlink()
    for path, data in wanted.items():
        (OBJECTS / path).parent.mkdir(parents=True, exist_ok=True)
        (OBJECTS / path).write_bytes(data)


if __name__ == "__main__":
    _write()
