"""What a kustomization renders to: the objects of its resources, in the order in which they are named.

Of kustomize only `resources` and a `configMapGenerator` of files without a suffix are known, for the project uses nothing else;
anything more is an error here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

from gitops_mc.core.model import JsonObject

DEPLOY = Path(__file__).parents[2] / "deploy"
_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_KNOWN = {"apiVersion", "kind", "resources", "configMapGenerator"}


def rendered(folder: Path) -> tuple[JsonObject, ...]:
    """All objects of a kustomization, those of the folders that it names among them."""
    return tuple(_objects(folder))


def _objects(folder: Path) -> Iterator[JsonObject]:
    [file] = [folder / name for name in _NAMES if (folder / name).is_file()]
    said = yaml.safe_load(file.read_text())
    assert set(said) <= _KNOWN, f"{file}: this renderer knows only {sorted(_KNOWN)}"
    for resource in said.get("resources", ()):
        path = folder / resource
        if path.is_dir():
            yield from _objects(path)
        else:
            yield from (body for body in yaml.safe_load_all(path.read_text()) if body)
    yield from (_config_map(folder, wanted) for wanted in said.get("configMapGenerator", ()))


def _config_map(folder: Path, wanted: JsonObject) -> JsonObject:
    assert set(wanted) == {"name", "namespace", "files", "options"}, wanted
    assert set(wanted["options"]) == {"disableNameSuffixHash", "labels"}, wanted
    named = (entry.partition("=") for entry in wanted["files"])
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": wanted["name"],
            "namespace": wanted["namespace"],
            "labels": wanted["options"]["labels"],
        },
        "data": {key: (folder / file).read_text() for key, _, file in named},
    }


def only(bodies: tuple[JsonObject, ...], kind: str, name: str, namespace: str = "") -> JsonObject:
    """The one object of this kind and name."""
    [found] = [
        b
        for b in bodies
        if (b["kind"], b["metadata"]["name"], b["metadata"].get("namespace", "")) == (kind, name, namespace)
    ]
    return found
