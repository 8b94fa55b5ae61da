"""What a sandbox is asked for; apart from what serves it, which is slow to load."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SandboxOptions:
    """What is asked for. Clusters are called `edge-1` and so on; each has one control-plane node, the others are workers."""

    clusters: int = 3
    nodes: int = 3
    seed: int = 0
    install_on: tuple[str, ...] = ("*",)
    """Globs: clusters on which machine-config is installed already."""
    faults: tuple[str, ...] = ()
    """As `NAME[:key=value,...][@CLUSTER]`."""
    port: int = 0
