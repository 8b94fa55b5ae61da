"""The comparisons, in the order in which they are printed."""

from __future__ import annotations

from typing import Final

from bench.compare.measuring import Row
from bench.compare.rows import passes, repository, starting

ROWS: Final[tuple[Row, ...]] = (*passes.ROWS, *repository.ROWS, *starting.ROWS)
