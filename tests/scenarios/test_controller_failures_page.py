"""docs/failures.md has a row for each test of failures, and no other."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "failures.md"


def test_each_row_of_the_page_is_a_test_and_each_test_is_a_row() -> None:
    rows = re.findall(r"^\| .* \| `([a-z0-9_]+)` \|$", PAGE.read_text(), re.MULTILINE)
    files = [HERE / "test_controller_failures.py", HERE / "test_controller_failures_objects.py"]
    tests = [
        node.name.removeprefix("test_")
        for file in files
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    assert len(rows) >= 20
    assert rows == tests
