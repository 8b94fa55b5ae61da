"""The real clusters of one test run: started when the first test asks for one, ended with the run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver.binaries import built
from tests.apiserver.clusters import RealClusters

TOLD: pytest.StashKey[list[str]] = pytest.StashKey()
"""What is to be said at the end of the run."""


def real_clusters_of_this_run(request: pytest.FixtureRequest, folder: Path) -> Iterator[RealClusters]:
    """Skips where the servers have not been built. At the end of the run it is told what ran, and, where a test has failed,
    what the logs say.
    """
    binaries = built()
    if binaries is None:
        pytest.skip("no real API server has been built: `make test-apiserver` does that")
    failed_before = request.session.testsfailed
    told = request.config.stash.setdefault(TOLD, [])
    clusters = RealClusters(binaries, folder)
    try:
        yield clusters
        memory = ", ".join(f"{name} {mib} MiB" for name, mib in clusters.memory().items())
        told.append(f"ran against kube-apiserver {clusters.version}: {memory}")
        if request.session.testsfailed > failed_before:
            told.append(clusters.last_words())
    finally:
        clusters.stop()
