"""How long it takes to read 5,000 manifests of 200 clusters, against PyYAML's C loader on the same bytes.

.venv/bin/python bench/reading.py
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable

import yaml

from gitops_mc.core.desired import CheckedCache, SourceFile, load
from gitops_mc.core.manifests import Cache, read_manifests

CLUSTERS, EACH = 200, 25

MANIFEST = """\
apiVersion: machineconfiguration.alauda.io/v1alpha1
kind: MachineConfig
metadata:
  name: 50-worker-thing-{number}
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
            source: data:,{padding}
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
# cluster {cluster}
"""


def repository() -> list[SourceFile]:
    files = []
    for cluster in range(CLUSTERS):
        for number in range(EACH):
            data = MANIFEST.format(cluster=cluster, number=number, padding="a" * 110).encode()
            blob = hashlib.sha1(data, usedforsecurity=False).hexdigest()
            files.append(SourceFile(f"clusters/edge-{cluster:03}/{number}.yaml", blob, 0o100644, data))
    return files


def timed(name: str, work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    seconds = time.process_time() - started
    print(f"{name:45} {seconds:7.3f} s")
    return seconds


def main() -> None:
    files = repository()
    contents = [file.data or b"" for file in files]
    print(f"{len(files)} files, {sum(map(len, contents)) / 1e6:.1f} MB, processor time")
    reference = timed(
        "yaml.load, CSafeLoader", lambda: [yaml.load(data, yaml.CSafeLoader) for data in contents]
    )
    ours = timed("read_manifests", lambda: [read_manifests(data) for data in contents])
    print(f"{'ratio':45} {ours / reference:7.2f}")
    parsed: Cache = {}
    checked: CheckedCache = {}

    def read() -> object:
        return load(files, cache=parsed, checked_cache=checked)

    timed("load, cold, with all rules", read)
    timed("load, nothing changed", read)
    files[7] = SourceFile(files[7].path, "changed", files[7].mode, contents[7] + b"# more\n")
    timed("load, one file changed", read)


if __name__ == "__main__":
    main()
