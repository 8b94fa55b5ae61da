"""docs/reference/annotations.md, made from the names that the code goes by and from the table of requests."""

from __future__ import annotations

from gitops_mc.core.custom.requests import FORMS, LONGEST, PREFIX, Verb
from gitops_mc.core.model import names
from tests.docs.reference.tables import code, table

_HEAD = """\
# Requests, annotations and labels

Everything under `gitops-mc.io/` that stands on an object. `make reference` writes this page anew.

## Requests

What humans ask the controller for, once: an annotation `gitops-mc.io/<verb>` on the [Fleet or the ClusterRollout](custom-resources.md).
Its value is a reason in plain words, or a YAML flow mapping with the members below, `reason` and `by`; at most {longest} characters. How
each is typed, and what it does: [controller](../controller.md#ask), [orders](../orders.md).

"""

VERBS = {
    Verb.APPROVE: "A wave may open, with the contents it has; or the first contact with a cluster may go on.",
    Verb.HOLD: "No step begins for the cluster until it is released.",
    Verb.RELEASE: "Lifts a hold, and the hold of a failure.",
    Verb.RETRY: "What failed on the cluster is tried once more; a halt stays for the others.",
    Verb.SKIP: "The cluster is left out for the content it would get now.",
    Verb.UNSKIP: "Takes that back.",
    Verb.EXCUSE: "A node is left out of its pool's gate until then.",
    Verb.UNEXCUSE: "Takes that back.",
    Verb.ACCEPT: "A finding of a gate, or drift where Git's side is to win, is accepted.",
    Verb.SUSPEND: "Nothing is written until somebody resumes.",
    Verb.RESUME: "Ends a suspension or an abort.",
    Verb.ABORT: "Begins nothing more, and pauses the pools that roll because of us.",
    Verb.SYNC: "Git is asked now.",
    Verb.ROLLBACK: "Back to what was passed before the failure.",
    Verb.FORGET: "What is remembered of the cluster is dropped, and our marks are taken off; nothing is deleted.",
    Verb.TAKEOVER: "The installation that acts writes itself into `spec.activeOn`, and suspends. Any other hears no request: there it is `gitops-mc takeover`.",
    Verb.NOW: "The content that Git has now need not wait until what rolls healthily has settled.",
    Verb.OVERRIDE_WINDOW: "Change windows and freezes do not count for the content that Git has now.",
}
_MARKS = {
    "FLEET_LABEL": (
        "label, on what we wrote",
        "The Fleet (fleet.yaml's metadata.name) that owns the object.",
    ),
    "APPLIED_ANNOTATION": ("on what we wrote", "Digest of what Git wanted when it was written."),
    "BRACKET_ANNOTATION": (
        "on a pool",
        "A step is open: who paused it, for which content, and what `paused` was.",
    ),
    "ABORT_ANNOTATION": ("on a pool", "An abort has paused it: who, why, and what `paused` was."),
    "PAUSED_ANNOTATION": ("on a pool", "It is paused because its manifest says so."),
}
_MANIFESTS = {
    "PRUNE_ANNOTATION": (
        "`disabled`, `confirmed`",
        "Never delete this object; or delete it although it is one that needs confirmation.",
    ),
    "ADOPT_ANNOTATION": (
        "managers, joined by commas",
        "Take fields over from these field managers, if no other is in the way.",
    ),
    "DOWNGRADE_ANNOTATION": ("a version", "Go down to exactly this version of the module."),
}


def annotations_page() -> str:
    """The page as Markdown. Raises KeyError where a name of ours is told nowhere."""
    ours = {n: str(v) for n, v in vars(names).items() if n.isupper() and str(v).startswith(PREFIX)}
    if untold := ours.keys() - _MARKS.keys() - _MANIFESTS.keys():
        raise KeyError(f"annotations.py says nothing of {', '.join(sorted(untold))}")
    requests = [
        (
            code(PREFIX + verb.value),
            ", ".join(place.value for place in FORMS[verb].on),
            ", ".join(code(m) for m in FORMS[verb].needs),
            ", ".join(code(m) for m in FORMS[verb].may),
            VERBS[verb],
        )
        for verb in Verb
    ]
    manifests = [(code(ours[name]), *told) for name, told in _MANIFESTS.items()]
    marks = [(code(ours[name]), *told) for name, told in _MARKS.items()]
    return (
        _HEAD.format(longest=LONGEST)
        + table(("annotation", "on", "must have", "may have", "what comes of it"), requests)
        + "\n## On manifests\n\nWritten by people, in Git; [where they are read](../repository-format.md#manifests).\n\n"
        + table(("annotation", "value", "meaning"), manifests)
        + "\n## Marks\n\nWritten by gitops-mc on live objects; one that stands in a manifest is a problem. Leave them alone: "
        "`forget` takes the first two off; the end of a step, of an abort, or of the pause in Git takes off the others.\n\n"
        + table(("name", "where", "meaning"), marks)
    )
