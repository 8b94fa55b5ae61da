"""helm and promtool, for tests: built once, with Go, from the modules pinned in tools/, or taken from the PATH."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.apiserver.binaries import kubernetes_version
from tests.apiserver.building import Recipe, pinned

_TOOLS = Path(__file__).parent / "tools"
AGAIN = "make test-deploy"
GET_HELM = (
    f"helm is neither in the cache folder nor on the PATH: `{AGAIN}` builds it, with Go (https://go.dev/dl/)"
)
GET_PROMTOOL = GET_HELM.replace("helm", "promtool", 1)


def _helm() -> Recipe:
    version = pinned(_TOOLS / "helm", "helm.sh/helm/v3")
    major, minor, _ = kubernetes_version().removeprefix("v").split(".", 2)
    told = {
        "internal/version.version": version,
        "pkg/chartutil.k8sVersionMajor": major,  # what `helm template` takes a cluster for
        "pkg/chartutil.k8sVersionMinor": minor,
    }
    return Recipe(
        name="helm",
        what="helm",
        told=f"helm {version}",
        sources=_TOOLS / "helm",
        packages=("helm.sh/helm/v3/cmd/helm",),
        linked=" ".join(["-s -w", *(f"-X helm.sh/helm/v3/{key}={value}" for key, value in told.items())]),
        again=AGAIN,
    )


def _promtool() -> Recipe:
    version = pinned(_TOOLS / "promtool", "github.com/prometheus/prometheus")
    return Recipe(
        name="promtool",
        what="promtool",
        told=f"promtool {version}",
        sources=_TOOLS / "promtool",
        packages=("github.com/prometheus/prometheus/cmd/promtool",),
        linked=f"-s -w -X github.com/prometheus/common/version.Version={version}",
        tags=("remove_all_sd",),  # nothing is discovered, and most of what it is made of is for that
        again=AGAIN,
    )


RECIPES = (_helm(), _promtool())


def find_helm() -> Path | None:
    return _found(RECIPES[0], "helm")


def find_promtool() -> Path | None:
    return _found(RECIPES[1], "promtool")


def _found(recipe: Recipe, program: str) -> Path | None:
    if (folder := recipe.built()) is not None:
        return folder / program
    found = shutil.which(program)
    return None if found is None else Path(found)
