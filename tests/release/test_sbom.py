"""The list of what the program is made of: valid, whole, and of nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gitops_mc import __version__
from tests.release.sbom import TOOL_LOCK, runtime_lock, sbom, validate
from tests.release.versions import ROOT

_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_tool_is_pinned_by_hash_and_not_among_our_dependencies() -> None:
    text = TOOL_LOCK.read_text(encoding="utf-8")
    pinned = _PINNED.findall(text)
    assert "cyclonedx-bom" in dict(pinned)
    assert text.count("==") >= len(pinned)
    assert all("--hash=sha256:" in block for block in re.split(r"(?m)^(?=[a-z])", text)[1:])
    assert "cyclonedx" not in (ROOT / "requirements.lock").read_text(encoding="utf-8")


@pytest.mark.slow
def test_it_lists_exactly_what_runs_with_hashes_and_licences_and_is_valid(tmp_path: Path) -> None:
    text = sbom(tmp_path)
    found: dict[str, Any] = json.loads(text)
    lock = runtime_lock()
    components = {normal(c["name"]): c for c in found["components"]}
    assert {n: c["version"] for n, c in components.items()} == {
        normal(n): v for n, v in _PINNED.findall(lock)
    }
    for component in components.values():
        hashes = [h for r in component["externalReferences"] for h in r.get("hashes", ())]
        assert hashes, component["name"]
        assert all(h["alg"] == "SHA-256" and f"--hash=sha256:{h['content']}" in lock for h in hashes)
        assert component["licenses"], component["name"]
    ours = found["metadata"]["component"]
    assert (ours["name"], ours["version"]) == ("gitops-mc", __version__)
    [direct] = [d["dependsOn"] for d in found["dependencies"] if d["ref"] == ours["bom-ref"]]
    assert "click" in {normal(ref.partition("==")[0]) for ref in direct}
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    assert sbom(tmp_path) == text, "the same for the same commit"
    del found["metadata"]["component"]["name"]
    with pytest.raises(RuntimeError, match="name"):
        validate(json.dumps(found), tmp_path)
