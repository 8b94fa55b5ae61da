"""Programs that tests need and that are built once, with Go, from pinned modules, and kept in the user's cache.

The folder's name is a checksum of everything that decides what is built, so a new pin is a new folder and an old one is
never taken for it. A build that dies leaves nothing under that name.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.apiserver.processes import tethered


class NotBuiltError(Exception):
    """There is no such program; says why, and what to do about it."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is built, and from what."""

    name: str
    """Of its folder in the cache."""
    what: str
    """As it is called in messages: `the API server`."""
    told: str
    """What is being built, with versions."""
    sources: Path
    """The folder with go.mod and go.sum."""
    packages: tuple[str, ...]
    linked: str
    """Flags for the linker."""
    again: str
    """What to type once there is Go."""
    more_sources: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def built(self) -> Path | None:
        """The folder of the programs, if they stand in the cache."""
        folder = _cache(self) / _checksum(self)
        return folder if folder.is_dir() else None

    def build(self) -> Path:
        """The folder of the programs, built now where they are not there. Raises NotBuiltError."""
        if (ready := self.built()) is not None:
            return ready
        go = shutil.which("go")
        if go is None:
            raise NotBuiltError(
                f"Go is not on the PATH, so {self.what} cannot be built. Get it from https://go.dev/dl/ (or apt-get install "
                "golang-go; 1.21 or newer fetches the release that go.mod asks for by itself), put it on the PATH, and run "
                f"`{self.again}` again."
            )
        cache = _cache(self)
        cache.mkdir(parents=True, exist_ok=True)
        with _alone(cache):
            if (ready := self.built()) is None:  # somebody else may have built it while this one waited
                ready = cache / _checksum(self)
                _build_into(ready, go, self)
        return ready


def pinned(sources: Path, module: str) -> str:
    """The version of a module that the go.mod of this folder pins."""
    text = (sources / "go.mod").read_text()
    found = re.search(rf"^\s*(?:require )?{re.escape(module)} (v\S+)", text, flags=re.MULTILINE)
    assert found is not None, f"go.mod pins {module}"
    return found[1]


def _build_into(folder: Path, go: str, recipe: Recipe) -> None:
    for left_over in folder.parent.glob("building-*"):  # by a build that was killed; nobody else builds now
        shutil.rmtree(left_over)
    work = Path(tempfile.mkdtemp(prefix="building-", dir=folder.parent))
    tags = ["-tags", ",".join(recipe.tags)] if recipe.tags else []
    command = [go, "build", "-trimpath", *tags, "-ldflags", recipe.linked, "-o", f"{work}/", *recipe.packages]
    _tell(f"building {recipe.told} into {folder}")
    begun = time.monotonic()
    env = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false"}
    done = subprocess.run(
        tethered(["nice", "-n", "10", *command]),
        cwd=recipe.sources,
        env=env,
        check=False,
        text=True,
        capture_output=True,
    )
    if done.returncode:
        shutil.rmtree(work)
        told = "\n".join(done.stderr.splitlines()[-20:])
        raise NotBuiltError(
            f"{recipe.what} could not be built; go said:\n{told}\n"
            "The modules come from the Go module proxy (GOPROXY names it): can this machine reach it?"
        )
    (work / "built-with").write_text(_said([go, "version"]))
    work.rename(folder)
    _tell(f"built in {time.monotonic() - begun:.0f} s")


def _checksum(recipe: Recipe) -> str:
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum", *recipe.more_sources):
        digest.update((recipe.sources / name).read_bytes())
    tags = f" {','.join(recipe.tags)}" if recipe.tags else ""
    digest.update(f"{recipe.packages} {recipe.linked} {sys.platform} {platform.machine()}{tags}".encode())
    return digest.hexdigest()[:16]


def _cache(recipe: Recipe) -> Path:
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "gitops-mc" / recipe.name


@contextmanager
def _alone(cache: Path) -> Iterator[None]:
    """Only one process builds at a time; the lock ends with its holder."""
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _said(command: list[str]) -> str:
    return subprocess.run(command, check=True, text=True, capture_output=True).stdout


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
