"""Previews of pull requests of all kinds, in every format, held against golden files.

After a change that is meant: UPDATE_GOLDEN=1 pytest -n0 tests/core/test_render_preview.py, and read the difference.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gitops_mc.core.preview.model import LivePreview, NoLive, Preview
from gitops_mc.core.render.lines import text_of
from gitops_mc.core.render.preview.markdown import preview_markdown
from gitops_mc.core.render.preview.page import preview_html
from gitops_mc.core.render.preview.structure import preview_json
from gitops_mc.core.render.preview.text import preview_text
from tests.core.preview_worlds import WORLDS, redactor, world

DATA = Path("tests/data/render/preview")
FORMATS: dict[str, Callable[[Preview], str]] = {
    "md": lambda preview: preview_markdown(preview, redactor(preview)),
    "json": lambda preview: (
        json.dumps(preview_json(preview, redactor(preview)), indent=2, ensure_ascii=False) + "\n"
    ),
    "html": lambda preview: preview_html(preview, redactor(preview)),
    "txt": lambda preview: text_of(preview_text(preview, redactor(preview))),
}


GOLDEN = [
    (name, ending) for name in WORLDS for ending in FORMATS if (name, ending) != ("five-hundred", "json")
]
"""Of five hundred clusters JSON names every node and every time; that each object stands there once is asked below."""


@pytest.mark.parametrize(("name", "ending"), GOLDEN)
def test_what_is_shown_is_the_golden_file(name: str, ending: str) -> None:
    shown = FORMATS[ending](world(name))
    file = DATA / f"{name}.{ending}"
    if os.environ.get("UPDATE_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(shown, encoding="utf-8")
    assert shown == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("ending", FORMATS)
def test_what_five_hundred_clusters_have_alike_is_told_of_once(ending: str) -> None:
    shown = FORMATS[ending](world("five-hundred"))
    assert shown.count("+server ntp-3.example.com iburst") == 1
    assert shown.count("from 50-worker-chrony") + shown.count("from `50-worker-chrony`") <= 1
    if ending != "json":
        assert "edge-001 … edge-500 (500 clusters)" in shown
        assert len(shown) < 20_000


def test_json_is_grouped_and_still_has_every_cluster() -> None:
    shown = json.loads(FORMATS["json"](world("five-hundred")))
    names = [f"edge-{number:03}" for number in range(1, 501)]
    assert [found["clusters"] for found in shown["changes"]["objects"]] == [names]
    assert [found["clusters"] for found in shown["changes"]["pools"]] == [names]
    assert [found["clusters"] for found in shown["live"]["merged"]["clusters"]] == [names[:1], names[1:]]


def everything() -> str:
    return "".join(make(world(name)) for name in WORLDS for make in FORMATS.values())


def test_it_is_the_same_to_the_byte_in_another_process() -> None:
    """Where sets and hashes have another order."""
    program = "import sys; from tests.core.test_render_preview import everything; sys.stdout.buffer.write(everything().encode())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "99"},
    )
    assert done.stdout.decode() == everything()


def test_part_a_is_the_same_whatever_is_live() -> None:
    """Its sections have no word of when, or whether, the clusters were read."""
    live = world("reboot")
    alone = replace(live, live=NoLive("no access to the clusters was given"))
    for title in ("Why", "What each pool gets", "Going back", "Diffs"):
        found = [_section(preview_markdown(preview, redactor(preview)), title) for preview in (live, alone)]
        assert found[0] == found[1] != ""


def _section(shown: str, title: str) -> str:
    return shown.partition(f"#### {title}\n")[2].partition("\n###")[0]


@pytest.mark.parametrize("name", WORLDS)
def test_the_three_parts_are_apart_and_say_when_their_data_was_read(name: str) -> None:
    preview = world(name)
    shown = preview_markdown(preview, redactor(preview))
    heads = [line for line in shown.split("\n") if line.startswith(("## ", "### "))]
    assert [head[:7] for head in heads[1:]] == ["### (a)", "### (b)", "### (c)", "### Wha"]
    assert shown.split("\n### (a)")[1].split("\n")[2].startswith("From the two commits alone")
    read = "Clusters read 10:42 UTC." if isinstance(preview.live, LivePreview) else "Clusters not read"
    for part in ("(b)", "(c)"):
        assert shown.split(f"\n### {part}")[1].split("\n")[2].startswith(read)
        if not isinstance(preview.live, LivePreview):
            assert shown.split(f"\n### {part}")[1].split("\n")[4] == "Unknown."
