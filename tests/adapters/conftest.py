"""What the tests of the transports share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.adapters.kube_peers import SECRET, Peer, serving

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text(f"{SECRET}\n")
    return path


@pytest.fixture
def peer() -> Iterator[Peer]:
    with serving(Peer()) as found:
        yield found
