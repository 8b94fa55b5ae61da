"""A pytest plugin: with `-p tests.apiserver.everywhere` every world of every test stands on real API servers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.apiserver.clusters import RealClusters
from tests.apiserver.ground import check, real_ground


@pytest.fixture(autouse=True)
def on_real_servers(real_clusters: RealClusters) -> Iterator[None]:
    with real_ground(real_clusters) as used:
        yield
    if used:
        check(used)
