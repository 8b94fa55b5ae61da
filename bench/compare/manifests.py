"""Repositories of any size, the same bytes on every run."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from gitops_mc.core.desired import SourceFile

EACH = 25
"""Manifests of a cluster; the last one says that files may change quietly, so that no rule has anything to say."""
POLICY = """\
apiVersion: machineconfiguration.alauda.io/v1alpha1
kind: MachineConfiguration
metadata: {name: cluster}
spec:
  nodeDisruptionPolicy:
    files:
      - {path: /etc/a, actions: [{type: None}]}
      - {path: /etc/b, actions: [{type: None}]}
"""
MANIFEST = """\
apiVersion: machineconfiguration.alauda.io/v1alpha1
kind: MachineConfig
metadata:
  name: 50-worker-thing-{number:03}
  labels:
    machineconfiguration.alauda.io/role: worker
spec:
  config:
    ignition:
      version: 3.4.0
    storage:
      files:
        - path: /etc/a/{number}.conf
          mode: 0644
          contents:
            source: data:,{padding}{mark}
        - path: /etc/b/{number}.conf
          mode: 0644
          contents:
            source: data:,{padding}
    systemd:
      units:
        - name: x{number}.service
          enabled: true
          contents: |
            [Unit]
            Description=x
            [Service]
            ExecStart=/bin/true
            [Install]
            WantedBy=multi-user.target
# cluster {cluster}
"""


def manifest(cluster: str, number: int, mark: str = "") -> str:
    return MANIFEST.format(cluster=cluster, number=number, padding="a" * 110, mark=mark)


def texts(clusters: int, each: int = EACH) -> Iterator[tuple[str, str]]:
    """Paths and contents."""
    for which in range(clusters):
        name = f"edge-{which:04}"
        for number in range(each - 1):
            yield f"clusters/{name}/{number:03}.yaml", manifest(name, number)
        yield f"clusters/{name}/policy.yaml", POLICY + f"# cluster {name}\n"


def files(clusters: int, each: int = EACH) -> list[SourceFile]:
    found = []
    for path, text in texts(clusters, each):
        data = text.encode()
        found.append(SourceFile(path, hashlib.sha1(data, usedforsecurity=False).hexdigest(), 0o100644, data))
    return found


def written(folder: Path, clusters: int, each: int = EACH) -> Path:
    """A folder with the files."""
    for path, text in texts(clusters, each):
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return folder


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"]
    command = ["git", "-C", str(folder), *identity, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def committed(folder: Path, clusters: int, each: int = EACH) -> Path:
    """A repository with one commit of the files on `main`."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    written(folder, clusters, each)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")
    return folder
