"""What the program is made of, as CycloneDX: `python -m tests.release.sbom FILE`.

The tool (cyclonedx-bom) is in an environment of its own under build/, by hash from sbom.lock, and never among ours. It reads the
lock's part for running twice: from an environment, which knows licences and who needs whom, and from the lock itself, which
knows the hashes. What is written is the first with the hashes of the second.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path
from typing import Any

from gitops_mc import __version__
from tests.release.dist import epoch
from tests.release.versions import ROOT

TOOL_LOCK = Path(__file__).with_name("sbom.lock")
BUILD = ROOT / "build" / "sbom"
_SPEC = "1.6"
_VALIDATE = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
sys.exit(str(JsonStrictValidator(SchemaVersion.V1_6).validate_str(sys.stdin.read()) or "") or 0)
"""


def runtime_lock() -> str:
    """The part of the lock that runs."""
    part = ROOT / "deploy" / "image" / "part_of_lock.py"
    return _run(sys.executable, str(part), str(ROOT / "requirements.lock"), "gitops-mc (pyproject.toml)")


def sbom(place: Path = BUILD) -> str:
    """The document; valid by its schema. What is fetched for it stays in `place`."""
    lock, tool, run = place / "run.lock", place / "tool", place / "run"
    place.mkdir(parents=True, exist_ok=True)
    lock.write_text(runtime_lock(), encoding="utf-8")
    _environment(tool, TOOL_LOCK)
    _environment(run, lock)
    program = str(tool / "bin" / "cyclonedx-py")
    said = ("--output-reproducible", "--of", "JSON", "--sv", _SPEC)
    installed = json.loads(_run(program, "environment", *said, str(run / "bin" / "python")))
    locked = json.loads(_run(program, "requirements", *said, str(lock)))
    text = json.dumps(_joined(installed, locked, run), indent=2, sort_keys=True) + "\n"
    validate(text, place)
    return text


def validate(text: str, place: Path = BUILD) -> None:
    """By the schema, with the tool that `sbom` has put there. Raises RuntimeError."""
    _run(str(place / "tool" / "bin" / "python"), "-c", _VALIDATE, stdin=text)


def _joined(installed: dict[str, Any], locked: dict[str, Any], run: Path) -> dict[str, Any]:
    sources = {_package(part["purl"]): part["externalReferences"] for part in locked["components"]}
    licences = _declared(run)
    components = []
    for part in installed["components"]:
        if _package(part["purl"]) not in sources:
            raise RuntimeError(f"{part['purl']} is installed, and is not in the lock")
        found = part.get("licenses") or [_named(licences[part["name"]])]
        references = [*part.get("externalReferences", ()), *sources[_package(part["purl"])]]
        components.append({**part, "licenses": found, "externalReferences": references})
    ours = {
        "type": "application",
        "bom-ref": "gitops-mc",
        "name": "gitops-mc",
        "version": __version__,
        "purl": f"pkg:pypi/gitops-mc@{__version__}",
        "licenses": [{"license": {"id": "Apache-2.0", "acknowledgement": "declared"}}],
    }
    wanted = {_normal(r) for r in metadata.requires("gitops-mc") or ()}
    direct = sorted(p["bom-ref"] for p in components if _normal(p["name"]) in wanted)
    return {
        **installed,
        "metadata": {**installed["metadata"], "component": ours},
        "components": components,
        "dependencies": [*installed["dependencies"], {"ref": "gitops-mc", "dependsOn": direct}],
    }


def _package(purl: str) -> str:
    """One spelling of it: packages call themselves otherwise than the lock does."""
    name, _, version = purl.rpartition("@")
    return f"{_normal(name)}@{version}"


def _declared(run: Path) -> dict[str, str]:
    """What packages say of their licence in a form that is no identifier."""
    folders = [str(folder) for folder in run.glob("lib/python3*/site-packages")]
    found = metadata.distributions(path=folders)
    return {d.name: str(d.metadata.json.get("license", "")) for d in found}


def _named(licence: str) -> dict[str, Any]:
    if not licence:
        raise RuntimeError("a package says nothing of its licence: look at it, and say it here")
    return {"license": {"name": licence, "acknowledgement": "declared"}}


def _normal(requirement: str) -> str:
    name = next(word for word in requirement.replace("<", " ").replace(">", " ").replace("=", " ").split())
    return name.partition(";")[0].lower().replace("_", "-").replace(".", "-")


def _environment(folder: Path, lock: Path) -> None:
    """Exactly what the lock names; made again where the lock has changed since."""
    stamp = folder / "made-of"
    if stamp.is_file() and stamp.read_bytes() == lock.read_bytes():
        return
    venv.create(folder, clear=True, symlinks=True)
    pip = (sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check")
    _run(
        *pip,
        "--python",
        str(folder / "bin" / "python"),
        "install",
        "--quiet",
        "--require-hashes",
        "-r",
        str(lock),
    )
    stamp.write_bytes(lock.read_bytes())


def _run(*words: str, stdin: str = "") -> str:
    done = subprocess.run(
        words,
        input=stdin,
        env={**os.environ, "SOURCE_DATE_EPOCH": epoch()},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{words[0]}: {done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(sbom(), encoding="utf-8")
    print(target)  # noqa: T201
