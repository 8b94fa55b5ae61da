"""The real clusters of one test run: started when the first test asks for one, ended with the run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver.binaries import built
from tests.apiserver.clusters import RealClusters


def real_clusters_of_this_run(request: pytest.FixtureRequest, folder: Path) -> Iterator[RealClusters]:
    """Skips where the servers have not been built. Says what ran, and what the logs say where a test failed."""
    binaries = built()
    if binaries is None:
        pytest.skip("no real API server has been built: `make test-apiserver` does that")
    failed_before = request.session.testsfailed
    clusters = RealClusters(binaries, folder)
    try:
        yield clusters
        memory = ", ".join(f"{name} {mib} MiB" for name, mib in clusters.memory().items())
        _tell(request, f"\nran against kube-apiserver {clusters.version}: {memory}")
        if request.session.testsfailed > failed_before:
            _tell(request, clusters.last_words())
    finally:
        clusters.stop()


def _tell(request: pytest.FixtureRequest, text: str) -> None:
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(text)
