"""What all suites share: the real API servers, for the tests that are marked `apiserver`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.collecting import collect_rarely

if TYPE_CHECKING:
    from tests.apiserver.clusters import RealClusters


@pytest.fixture(scope="session")
def real_clusters(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealClusters]:
    """Real clusters; none runs yet: `start` those that the test needs."""
    from tests.apiserver.running import real_clusters_of_this_run  # noqa: PLC0415 - only where one is asked for

    yield from real_clusters_of_this_run(request, tmp_path_factory.mktemp("apiserver"))


def pytest_configure() -> None:
    collect_rarely()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    from tests.apiserver.running import TOLD  # noqa: PLC0415 - as above

    for line in config.stash.get(TOLD, []):
        terminalreporter.write_line(line)
