"""docs/reference/custom-resources.md, made from the definitions in deploy/crds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from tests.docs.readme import ROOT
from tests.docs.reference.tables import cell, code, table

_HEAD = """\
# Fleet and ClusterRollout

Made from the definitions in `deploy/crds`; `make reference` writes this page anew. Both kinds are namespaced, of `gitops-mc.io/v1alpha1`,
and stand on the global cluster. A `Fleet` is written by people; a `ClusterRollout` is made by the controller, one for each cluster. How
one works with them: [Look, approve, hold, repair](../controller.md).
"""
_LIMITS = {
    "maxLength": "at most {} characters",
    "maxItems": "at most {} entries",
    "pattern": "matches `{}`",
    "format": "{}",
}
_BY_NAME = {
    "name": "Its name.",
    "key": "The key in it.",
    "by": "Who.",
    "reason": "Why, in words.",
    "at": "When.",
    "content": "Of which content.",
    "observedGeneration": "The generation of spec that this was said of.",
    "failed": "What failed, as in `spec.held`.",
    "cause": "[Which kind of failure](conditions.md#causes-of-a-failure).",
    "subjects": "What failed, and a digest of what Git wanted of it: content that changes one of them is a repair.",
    "type": "`Ready`, `Reconciling` or `Stalled`.",
    "message": "What `gitops-mc why` says, in short.",
    "lastTransitionTime": "Since when the status is this one.",
    "commit": "The commit that is followed, or where a cluster's content was seen first.",
    "cluster": "Name of the cluster.",
    "wave": "Name of the wave.",
    "contents": "Digest of its clusters and their contents.",
}
_BY_PATH = {
    "spec.source": "Where to pull from.",
    "spec.clusters.gateway": "The platform's gateway; clusters are below `/kubernetes/<cluster>`.",
    "spec.clusters.gateway.url": "Its address.",
    "spec.clusters.gateway.tokenRef": "Secret with the API token.",
    "spec.clusters.gateway.caRef": "ConfigMap whose key ca.crt holds the CA certificates of the gateway.",
    "spec.clusters.kubeconfigs": "A kubeconfig for each cluster that is not reached through the gateway.",
    "spec.clusters.kubeconfigs[].secretRef": "Secret with the kubeconfig.",
    "spec.suspendReason": "Why; the status shows it.",
    "spec.halt.since": "Since when.",
    "spec.halt.clusters": "The clusters that failed.",
    "spec.excused[].node": "Name of the node.",
    "spec.excused[].until": "Until when.",
    "spec.rolledBack.failed_commit": "The commit it failed with.",
    "spec.rolledBack.to": "The content it goes back to.",
    "spec.rolledBack.to_commit": "The commit of that.",
    "status.conditions": "[Where it stands](conditions.md).",
    "status.conditions[].status": "`True` or `False`.",
    "status.conditions[].reason": "[A word](conditions.md).",
    "status.source": "What is known of the repository.",
    "status.source.shortCommit": "Its beginning.",
    "status.source.polled": "When it was asked last.",
    "status.source.problem": "Why its newest commit is not followed.",
    "status.waves": "Every wave, in order.",
    "status.waves[].state": "[Where it stands](conditions.md#states-of-a-wave).",
    "status.waves[].passed": "Clusters of it that have passed, of how many.",
    "status.history[].who": "Who asked, as they said.",
    "status.history[].what": "What was done, or refused.",
    "status.history[].why": "Why, as they said; of what was refused, why it was.",
    "status.standing": "[Where it stands](conditions.md#standings-of-a-cluster-and-reasons-on-a-clusterrollout).",
    "status.wave": "The wave it is in.",
    "status.content": "The content it is assigned to.",
    "status.step": "The step it is at.",
}
"""What the definitions leave to a name; a field of which neither says anything is a KeyError."""


def custom_resources_page() -> str:
    """The page as Markdown."""
    return _HEAD + "".join(_kind(name) for name in ("fleets", "clusterrollouts"))


def _kind(file: str) -> str:
    text = (ROOT / "deploy" / "crds" / f"{file}.yaml").read_text(encoding="utf-8")
    definition: dict[str, Any] = yaml.safe_load(text)
    names, (version,) = definition["spec"]["names"], definition["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    columns = [
        (code(c["name"]), code(c["jsonPath"]), "with `-o wide`" if c.get("priority") else "")
        for c in version["additionalPrinterColumns"]
    ]
    short = ", ".join(code(name) for name in names["shortNames"])
    parts = [
        f"\n## {names['kind']}\n\n{cell(schema['description'])} Plural `{names['plural']}`, in short {short}.\n",
        *(
            f"\n### {names['kind']} {part}\n\n{table(('field', 'type', 'meaning, and what it may be'), list(_fields(part, schema)))}"
            for part in ("spec", "status")
        ),
        f"\n### {names['kind']} rules\n\nWhat the API server refuses beyond types and limits, with these words.\n\n",
        table(("where", "what must hold", "rule (CEL)"), list(_rules("", schema))),
        f"\n### {names['kind']} columns\n\n{table(('column of kubectl get', 'field', ''), columns)}",
    ]
    return "".join(parts)


def _fields(part: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    yield from _below(part, schema["properties"][part])


def _below(path: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    required = set(schema.get("required", ()))
    for name, inner in schema.get("properties", {}).items():
        here = f"{path}.{name}"
        yield (
            code(here),
            _type(inner),
            _told(inner, meaning=_meaning(here, inner), required=name in required),
        )
        yield from _below(here, inner)
        items = inner.get("items", {})
        if items.get("properties"):
            yield from _below(f"{here}[]", items)


def _type(schema: Mapping[str, Any]) -> str:
    kind = str(schema["type"])
    if kind == "array":
        return f"list of {schema['items']['type']}s"
    return f"map of {schema['additionalProperties']['type']}s" if "additionalProperties" in schema else kind


def _meaning(path: str, schema: Mapping[str, Any]) -> str:
    return cell(schema.get("description") or _BY_PATH.get(path) or _BY_NAME[path.rpartition(".")[2]])


def _told(schema: Mapping[str, Any], *, meaning: str, required: bool) -> str:
    told = [meaning]
    inner = schema.get("additionalProperties") or (schema["items"] if schema["type"] == "array" else {})
    limits = ["not empty"] if schema.get("minLength") == 1 else []
    limits += [_LIMITS[key].format(schema[key]) for key in _LIMITS if key in schema]
    limits += [f"each {_LIMITS[key].format(inner[key])}" for key in _LIMITS if key in inner]
    if "enum" in schema:
        limits.append("one of " + ", ".join(code(str(word)) for word in schema["enum"]))
    if keys := schema.get("x-kubernetes-list-map-keys"):
        limits.append(f"one entry for each {', '.join(code(key) for key in keys)}")
    if schema.get("x-kubernetes-list-type") == "set":
        limits.append("each once")
    if required:
        told.append("**Required.**")
    if limits:
        told.append(f"({'; '.join(limits)})")
    return " ".join(text for text in told if text)


def _rules(path: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for rule in schema.get("x-kubernetes-validations", ()):
        yield (code(path or "the object"), cell(rule["message"]), code(rule["rule"]))
    for name, inner in schema.get("properties", {}).items():
        yield from _rules(f"{path}.{name}".lstrip("."), inner)
