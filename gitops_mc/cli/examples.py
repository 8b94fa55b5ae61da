"""Examples at the end of a command's help: what is typed most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Example:
    """Something to type, and what it is for."""

    purpose: str
    typed: str


_REACH = "--gateway https://acp.example.com --token-file token"
ENVIRONMENT: Final = "# GITOPS_MC_GATEWAY and GITOPS_MC_TOKEN_FILE stand for --gateway and --token-file"

EXAMPLES: Final[Mapping[str, tuple[Example, ...]]] = {
    "validate": (
        Example("the folder as it lies here", "gitops-mc validate"),
        Example("again after every change", "gitops-mc validate my-fleet --watch"),
        Example("a commit, for a merge request", "gitops-mc validate --revision HEAD -o gitlab"),
    ),
    "render": (
        Example("what one cluster would get", "gitops-mc render --cluster edge-01"),
        Example("whole, into a file", "gitops-mc render --show-sensitive -o json > objects.json"),
    ),
    "diff": (
        Example("every cluster, through the platform's gateway", f"gitops-mc diff {_REACH}"),
        Example("one cluster, by a kubeconfig", "gitops-mc diff --cluster edge-01 --kubeconfig config"),
    ),
    "plan": (
        Example("every cluster, through the platform's gateway", f"gitops-mc plan {_REACH}"),
        Example("exit 5 when something would change", "gitops-mc plan --exit-code"),
        Example("for a pull request", "gitops-mc plan --revision HEAD -o markdown"),
    ),
    "preview": (
        Example("a branch, by Git alone", "gitops-mc preview --base origin/main --only-offline"),
        Example(
            "with a look at the clusters that it touches", f"gitops-mc preview --base origin/main {_REACH}"
        ),
        Example(
            "as a comment, with what the controller remembers",
            "gitops-mc preview --base origin/main -o markdown --output-file preview.md --fleet prod",
        ),
    ),
    "apply": (
        Example("show the plan, ask, and carry it out", f"gitops-mc apply {_REACH}"),
        Example("let the wave `rest` open", "gitops-mc apply --approve rest"),
        Example("exactly the plan that was looked at", "gitops-mc apply --plan-digest 4f1c27aa90be"),
    ),
    "status": (
        Example("from the state file in this folder", "gitops-mc status"),
        Example("with a look at the clusters", f"gitops-mc status {_REACH}"),
        Example("what the controller shows", "gitops-mc status --fleet prod"),
    ),
    "why": (
        Example("a cluster", f"gitops-mc why edge-01 {_REACH}"),
        Example("one of its pools", "gitops-mc why edge-01/worker"),
        Example("asked of the controller", "gitops-mc why edge-01 --fleet prod"),
    ),
    "doctor": (
        Example("the clusters that the platform knows", f"gitops-mc doctor {_REACH}"),
        Example("those of a repository", "gitops-mc doctor my-fleet"),
    ),
    "import": (Example("everything that a cluster has", f"gitops-mc import --cluster edge-01 {_REACH}"),),
    "new": (
        Example(
            "a MachineConfig of one cluster", "gitops-mc new machineconfig 50-worker-chrony --cluster edge-01"
        ),
    ),
    "set": (
        Example(
            "a newer plugin, where names match",
            'gitops-mc set module-version machine-config v1.2.0 --clusters "edge-*"',
        ),
    ),
    "fmt": (
        Example("the folder as it lies here", "gitops-mc fmt"),
        Example("in a pipeline: exit 5 when a file would change", "gitops-mc fmt --check"),
    ),
    "release": (
        Example("after a failure was looked at", 'gitops-mc release edge-01 --reason "n2 has a new disk"'),
        Example("every cluster, of a Fleet", f"gitops-mc release --all --fleet prod {_REACH}"),
    ),
    "rollback": (
        Example("one cluster", 'gitops-mc rollback edge-01 --reason "chronyd does not start"'),
        Example("every cluster that can go back", f"gitops-mc rollback --all --fleet prod {_REACH}"),
    ),
    "excuse": (
        Example(
            "a node that is being repaired",
            'gitops-mc excuse n2 --cluster edge-01 --for 24h --reason "disk is being replaced"',
        ),
        Example("take it back", "gitops-mc excuse n2 --cluster edge-01 --undo"),
    ),
    "accept": (
        Example(
            "Git wins over what was changed by hand",
            "gitops-mc accept drift:MachineConfig/50-worker-chrony --cluster edge-01",
        ),
    ),
    "approve": (
        Example("a wave, as status shows it now", f"gitops-mc approve rest --fleet prod {_REACH}"),
        Example(
            "only if it is what was looked at",
            "gitops-mc approve rest --seen 3f9a17c2 --fleet prod",
        ),
    ),
    "suspend": (
        Example(
            "before work on the platform",
            f'gitops-mc suspend --fleet prod --reason "platform upgrade" {_REACH}',
        ),
    ),
    "abort": (
        Example(
            "stop what rolls",
            f'gitops-mc abort --fleet prod --reason "wrong kernel argument" {_REACH}',
        ),
    ),
    "sync": (
        Example("do not wait for the next poll", f"gitops-mc sync --fleet prod {_REACH}"),
        Example(
            "a repair, inside a freeze",
            'gitops-mc sync edge-01 --override-window --reason "outage" --fleet prod',
        ),
    ),
    "controller": (
        Example("in a pod of the global cluster", "gitops-mc controller --probes 8080 --webhook 8081"),
        Example(
            "from this machine, for trying it out",
            f"gitops-mc controller --namespace gitops-mc --log-level debug {_REACH}",
        ),
    ),
    "demo": (
        Example("the command line", "gitops-mc demo"),
        Example("the controller, with its files kept", "gitops-mc demo --controller --keep my-demo"),
    ),
    "completion": (
        Example("bash, for this shell", 'eval "$(gitops-mc completion bash)"'),
        Example("zsh, for good", 'gitops-mc completion zsh > "${fpath[1]}/_gitops-mc"'),
        Example("fish, for good", "gitops-mc completion fish > ~/.config/fish/completions/gitops-mc.fish"),
    ),
}
"""By command; each is understood by it."""


def told(examples: Sequence[Example]) -> str:
    """As the end of a help text, each line as it stands here; empty where there are none."""
    if not examples:
        return ""
    lines = [line for each in examples for line in (f"  # {each.purpose}", f"  {each.typed}")]
    connected = any(_REACH in each.typed for each in examples)
    return "\n".join(("\b", "Examples:", *lines, *([f"  {ENVIRONMENT}"] if connected else ())))
