"""A sandbox, a Git repository, a controller and the command line, each a process of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
import yaml

from tests.e2e.program import PROGRAM, Ended, Place, plain_environment
from tests.scenarios.rollout_world import machine_config

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
GROUP = "/apis/gitops-mc.io/v1alpha1/namespaces/gitops-mc"
POLICY = """apiVersion: gitops-mc.io/v1alpha1
kind: FleetConfig
metadata: {name: prod}
spec:
  rollout:
    waves:
      - name: canary
        clusters: {names: [edge-1]}
      - name: rest
        clusters: {}
        maxConcurrent: 2
        approval: manual
"""
SPEED = 120
PATIENCE = 40.0
"""Seconds."""


@dataclass(frozen=True)
class Site:
    """Where it all is."""

    folder: Path
    gateway: str

    @property
    def environment(self) -> dict[str, str]:
        token = str(self.folder / "sandbox" / "token")
        return {"GITOPS_MC_GATEWAY": self.gateway, "GITOPS_MC_TOKEN_FILE": token}

    def call(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        """One call to global."""
        token = (self.folder / "sandbox" / "token").read_text().strip()
        request = Request(
            f"{self.gateway}/kubernetes/global{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": content_type},
        )
        with urlopen(request, timeout=10) as answer:
            return json.loads(answer.read())

    def fleet(self) -> Any:
        return self.call("GET", f"{GROUP}/fleets/prod")

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """The program, not waited for."""
        environment = {**plain_environment(), **self.environment}
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*PROGRAM, *arguments], cwd=self.folder, env=environment, stdout=pipe, stderr=pipe, text=True
        )

    def run(self, *arguments: str) -> Ended:
        """The program, to its end; in this process, which is faster. The environment is that of `site`."""
        return Place(self.folder).here(*arguments)

    def wait(self, said: Callable[[Any], bool]) -> None:
        """Until something is so of the Fleet."""
        end = time.monotonic() + PATIENCE
        while not said(self.fleet()):
            assert time.monotonic() < end, self.fleet().get("status")
            time.sleep(0.2)

    def commit(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            file = self.folder / "work" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        self._git("add", "-A")
        self._git("-c", "user.name=mei", "-c", "user.email=mei@example.com", "commit", "-q", "-m", "change")
        self._git("push", "-q", str(self.folder / "fleet.git"), "HEAD:main")

    def _git(self, *arguments: str) -> None:
        git = shutil.which("git")
        assert git is not None
        subprocess.run([git, *arguments], cwd=self.folder / "work", check=True)


@contextmanager
def site(folder: Path) -> Iterator[Site]:
    """A sandbox with the definitions, a repository and a Fleet; no controller yet. Until the end this process's environment tells
    the program how to reach it.
    """
    with _process(
        "sandbox", "start", "--port", "0", "--dir", str(folder / "sandbox"), "--speed", str(SPEED)
    ) as (sandbox):
        found = Site(folder, _address(sandbox))
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        for file in sorted(CRDS.glob("*.yaml")):
            found.call("POST", definitions, yaml.safe_load(file.read_text()))
        found.call("POST", "/api/v1/namespaces", {"metadata": {"name": "gitops-mc"}})
        (folder / "work").mkdir()
        found._git("init", "-q", "-b", "main")
        found._git("init", "-q", "--bare", "-b", "main", str(folder / "fleet.git"))
        config = machine_config("50-worker-app", files={"/etc/app.conf": "one\n"})
        found.commit({"fleet.yaml": POLICY, **{f"clusters/edge-{n}/app.yaml": config for n in (1, 2, 3)}})
        source = {"url": f"file://{folder}/fleet.git", "interval": "30s"}
        body = {"apiVersion": "gitops-mc.io/v1alpha1", "kind": "Fleet", "metadata": {"name": "prod"}}
        found.call("POST", f"{GROUP}/fleets", {**body, "spec": {"source": source}})
        with pytest.MonkeyPatch.context() as patched:
            for name, value in found.environment.items():
                patched.setenv(name, value)
            yield found


@contextmanager
def controller(where: Site, *more: str) -> Iterator[None]:
    """A controller of the site, ended with it; with more options."""
    log = (where.folder / "controller.log").open("w")
    with (
        log,
        _process("controller", "--allow-unprotected-git", *more, environment=where.environment, log=log),
    ):
        yield


@contextmanager
def _process(
    *arguments: str, environment: Mapping[str, str] | None = None, log: Any = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        env={**plain_environment(), **(environment or {}), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.communicate(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


def _address(sandbox: subprocess.Popen[str]) -> str:
    """Where its gateway listens, as it says itself."""
    assert sandbox.stdout is not None
    for line in sandbox.stdout:
        if "gateway:" in line:
            return line.split()[-1]
    raise AssertionError("the sandbox ended before it said where it listens")
