"""The links of the cluster itself: where it stands, what failed, its step, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_mc.core.plan import title_of
from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.rollout.rollback import can_be_asked_for
from gitops_mc.core.rollout.timing import override
from gitops_mc.core.why.link import Link, Question, Subject

_GOOD = (Standing.PASSED, Standing.READY)
COMMANDS = {
    Standing.FAILED: (
        "gitops-mc apply  # after a commit that corrects it",
        "gitops-mc release {0}  # to try the same content again",
        "gitops-mc rollback {0}  # to go back to what it passed",
        "gitops-mc skip {0}  # to go on without this cluster",
    ),
    Standing.BLOCKED: ("gitops-mc skip {0}",),
    Standing.UNREACHABLE: ("gitops-mc doctor --cluster {0}", "gitops-mc skip {0}"),
    Standing.NOT_KNOWN: ("gitops-mc doctor --cluster {0}",),
    Standing.APPROVAL: ("gitops-mc plan --cluster {0}", "gitops-mc apply --approve {0}"),
    Standing.SKIPPED: ("gitops-mc skip {0} --undo",),
    Standing.UNPUBLISHED: ("kubectl get moduleconfigs  # on global",),
    Standing.UNREGISTERED: ("kubectl get clusters.platform.tkestack.io  # on global",),
    Standing.PROBLEMS: ("gitops-mc validate",),
    Standing.READY: ("gitops-mc apply",),
}
"""What to type where a cluster stands so; `{0}` is its name."""


def commands_of(standing: Standing, cluster: str, no_rollback: str) -> tuple[str, ...]:
    """The same, without what would be refused. `no_rollback`: why no rollback can be asked for; empty where one can."""
    found = (command.format(cluster) for command in COMMANDS.get(standing, ()))
    refused = f"gitops-mc rollback {cluster} "
    return tuple(c for c in found if not (no_rollback and c.startswith(refused)))


def window(q: Question) -> Iterator[Link]:
    """The change window or freeze that it waits for."""
    found = q.view.window
    if found is not None:
        told = found.reason if q.at is None else found.told(q.at)
        yield Link(Subject.WINDOW, told, blocks=True, commands=(f"{override(q.name)}  # to go on at once",))


def cluster(q: Question) -> Iterator[Link]:
    """Where it stands, and with which content."""
    view, m = q.view, q.remembered
    commands = commands_of(view.standing, q.name, can_be_asked_for(m))
    blocks = view.standing not in _GOOD
    held = m.failure is not None and view.reason == m.failure.reason
    told = (
        view.standing.value
        if held or view.reason == view.standing.value
        else f"{view.standing.value}: {view.reason}"
    )
    yield Link(Subject.CLUSTER, told, blocks=blocks, commands=commands)
    if view.hands:
        yield Link(Subject.CLUSTER, f"time alone brings it no further: {view.hands}", blocks=True)
    if m.started is not None and m.started != q.desired.content:
        at = m.admitted_at.isoformat(timespec="seconds") if m.admitted_at else "at a time nobody knows"
        commit = f" (commit {m.started_commit[:12]})" if m.started_commit else ""
        told = f"it was last started with content {m.started[:12]}{commit} {at}; Git has newer content"
        yield Link(Subject.CLUSTER, told)
    for excuse in m.excused:
        told = f"node {excuse.node} is excused until {excuse.until.isoformat(timespec='seconds')}: {excuse.reason}"
        yield Link(
            Subject.CLUSTER, told, commands=(f"gitops-mc excuse {excuse.node} --cluster {q.name} --undo",)
        )


def failure(q: Question) -> Iterator[Link]:
    """What holds it, and what newer content would have to change."""
    found = q.remembered.failure
    if found is None:
        return
    told = (
        f"held since {found.at.isoformat(timespec='seconds')} with content {found.content[:12]}: {found.reason}; "
        f"newer content has to change {', '.join(s.replace(':', ' ', 1) for s in sorted(found.subjects))}, or somebody releases it"
    )
    places = tuple(
        manifest.place
        for subject in sorted(found.subjects)
        for manifest in q.desired.manifests
        if subject in {f"object:{manifest.key.kind.value}/{manifest.key.name}", f"module:{manifest.key.name}"}
    )
    yield Link(Subject.FAILURE, told, blocks=True, places=places)


def step(q: Question) -> Iterator[Link]:
    """The step that is open, or comes next, with its writes."""
    opened = q.remembered.step
    if opened is not None:
        told = f"{title_of(opened.step)} was begun {opened.at.isoformat(timespec='seconds')}"
        yield Link(Subject.STEP, told)
    if q.plan is None or not q.plan.steps:
        return
    coming = q.plan.steps[0]
    writes = ", ".join(f"{w.key.kind.value} {w.key.name}" for w in coming.writes[:5])
    more = f" and {len(coming.writes) - 5} more" if len(coming.writes) > 5 else ""
    places = tuple(place for w in coming.writes[:5] for place in q.place(w.key))
    yield Link(Subject.STEP, f"{title_of(coming.id)} comes next: {writes}{more}", places=places)


def refusals(q: Question) -> Iterator[Link]:
    """What the plan refuses, and drift that keeps a write from being made."""
    if q.plan is None:
        return
    for refusal in q.plan.refusals:
        places = () if refusal.key is None else q.place(refusal.key)
        yield Link(
            Subject.REFUSAL,
            f"{refusal.reason} [{refusal.rule}]",
            blocks=True,
            places=places,
            commands=(f"gitops-mc diff --cluster {q.name}",),
        )
    for drift in q.plan.drifts:
        who = f", by {', '.join(drift.managers)}" if drift.managers else ""
        kind, name = drift.key.kind.value, drift.key.name
        yield Link(
            Subject.DRIFT,
            f"{kind} {name} was changed on the cluster{who}: {drift.reason}",
            places=q.place(drift.key),
            commands=(f"kubectl get {kind.lower()} {name} -o yaml --show-managed-fields",),
        )
