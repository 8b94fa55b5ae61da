"""Previews of pull requests of all kinds, in every format, held against golden files.

After a change that is meant: UPDATE_GOLDEN=1 pytest -n0 tests/core/test_render_preview.py, and read the difference.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitops_mc.core.preview.model import Preview
from gitops_mc.core.render.lines import text_of
from gitops_mc.core.render.preview.markdown import preview_markdown
from gitops_mc.core.render.preview.text import preview_text
from tests.core.preview_worlds import WORLDS, redactor, world

DATA = Path("tests/data/render/preview")
FORMATS: dict[str, Callable[[Preview], str]] = {
    "md": lambda preview: preview_markdown(preview, redactor(preview)),
    "txt": lambda preview: text_of(preview_text(preview, redactor(preview))),
}


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("name", WORLDS)
def test_what_is_shown_is_the_golden_file(name: str, ending: str) -> None:
    shown = FORMATS[ending](world(name))
    file = DATA / f"{name}.{ending}"
    if os.environ.get("UPDATE_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(shown, encoding="utf-8")
    assert shown == file.read_text(encoding="utf-8")
