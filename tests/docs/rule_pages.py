"""docs/rules.md and docs/reading.md, made from the tables, and the pages below docs/rules: a section for each rule, with
examples that run.

A section is called like its rule. Its first lines, between two comments, are made from the table; then it says why, how to
fix it, and shows YAML after `Bad:`, `Good:` and, for a rule about the live cluster, `On the cluster:` (which holds for the
examples that follow it). An example is the part of its objects that matters; `objects_of` says what it stands in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gitops_mc.core.desired import SourceFile, load
from gitops_mc.core.desired.reading_rules import READING_RULES
from gitops_mc.core.model import (
    CLUSTER_LABEL,
    MODULE_LABEL,
    MODULE_TYPE_LABEL,
    ROLE_LABEL,
    JsonObject,
    Kind,
    Problem,
)
from gitops_mc.core.rules import FLEET_RULES, RULES, AnyRule, LiveRule
from gitops_mc.core.rules.live import LIVE_RULES, check_with_facts
from tests.core.rule_cases import CLUSTER, QUIET, live_of, pool, used_by, with_contents
from tests.docs.readme import ROOT
from tests.docs.reference.tables import table

ROWS: tuple[AnyRule, ...] = (*RULES, *LIVE_RULES, *FLEET_RULES)
INDEX = ROOT / "docs" / "rules.md"
READING_INDEX = ROOT / "docs" / "reading.md"
FOLDER = ROOT / "docs" / "rules"
READING = FOLDER / "reading.md"
KINDS = {
    "objects.md": Kind.MODULE_INFO,
    "configs.md": Kind.MACHINE_CONFIG,
    "files.md": Kind.MACHINE_CONFIG,
    "units.md": Kind.MACHINE_CONFIG,
    "pools.md": Kind.MACHINE_CONFIG_POOL,
    "policies.md": Kind.MACHINE_CONFIGURATION,
    "modules.md": Kind.MODULE_INFO,
    "live.md": Kind.MODULE_INFO,
}
"""The pages with rules, and the kind of an example that does not say one."""

_SECTION = re.compile(r"^## ([a-z0-9-]+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^(Bad|Good|On the cluster):\n\n```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_IGNITION = ("ignition", "storage", "systemd", "passwd")
_ROLE = re.compile(r"\d\d-([a-z]+)-")


@dataclass(frozen=True)
class Example:
    rule: str
    good: bool
    kind: Kind
    text: str
    live: str

    @property
    def also(self) -> set[str]:
        """Rules that the bad example cannot but break as well."""
        return set(re.findall(r"^# and so: ([a-z-]+)$", self.text, flags=re.MULTILINE))

    def broken(self) -> set[str]:
        """The rules that it breaks, those of reading included."""
        bodies = [*objects_of(self)]
        kinds = {body["kind"] for _, body in bodies}
        if Kind.MACHINE_CONFIGURATION.value not in kinds and self.rule != "file-inert":
            bodies.append((CLUSTER, {**QUIET, "apiVersion": Kind.MACHINE_CONFIGURATION.api_version}))
        elif self.rule != "policy-entry-unused":
            policies = [body for _, body in bodies if body["kind"] == Kind.MACHINE_CONFIGURATION.value]
            bodies += [(CLUSTER, used_by(body)) for body in policies]
        files = [
            _file(f"clusters/{cluster}/{number}.yaml", yaml.safe_dump(body))
            for number, (cluster, body) in enumerate(bodies)
        ]
        files += [
            _file(f"clusters/{CLUSTER}/files/{name}", "x" * int(name.split("-")[1]))
            for name in re.findall(r"local: files/([\w-]+)", self.text)
        ]
        state = load(files, cache={})
        live = live_of(yaml.safe_load(self.live) or {}) if self.live else live_of({})
        found = [*state.problems]
        for cluster in state.clusters:
            found += [p for p in check_with_facts(cluster, state.policy, live) if isinstance(p, Problem)]
        return {problem.rule for problem in found}


def _file(path: str, text: str) -> SourceFile:
    return SourceFile(path, f"{path}:{len(text)}:{hash(text)}", 0o100644, text.encode())


def objects_of(example: Example) -> Iterator[tuple[str, JsonObject]]:
    """The whole objects of an example, each with the cluster in whose folder it stands."""
    for found in yaml.safe_load_all(example.text):
        part: dict[str, Any] = dict(found or {})
        kind = Kind(part.pop("kind", example.kind.value))
        cluster = part.pop("cluster", CLUSTER)
        body = _WHOLE[kind](part, cluster)
        yield cluster, {"apiVersion": kind.api_version, "kind": kind.value, **body}


def _machine_config(part: JsonObject, _cluster: str) -> JsonObject:
    metadata = {"name": "50-worker-motd", **part.get("metadata", {})}
    role = _ROLE.match(metadata["name"])
    metadata.setdefault("labels", {ROLE_LABEL: role[1] if role else "worker"})
    config = {
        "ignition": {"version": "3.4.0"},
        **{name: part[name] for name in _IGNITION if name in part},
    }
    if "storage" in config and "files" in config["storage"]:
        config["storage"] = {"files": [with_contents(file) for file in config["storage"]["files"]]}
    arguments = {"kernelArguments": part["kernelArguments"]} if "kernelArguments" in part else {}
    return {"metadata": metadata, "spec": {"config": config, **arguments}}


def _pool(part: JsonObject, _cluster: str) -> JsonObject:
    metadata = {"name": "worker", **part.get("metadata", {})}
    return {"metadata": metadata, "spec": pool({"name": metadata["name"], **part.get("spec", {})})["spec"]}


def _policy(part: JsonObject, _cluster: str) -> JsonObject:
    return {"metadata": {"name": "cluster", **part.get("metadata", {})}, "spec": part.get("spec", {})}


def _module(part: JsonObject, cluster: str) -> JsonObject:
    metadata = {**part.get("metadata", {})}
    labels = {CLUSTER_LABEL: cluster, MODULE_LABEL: "machine-config", MODULE_TYPE_LABEL: "plugin"}
    metadata["labels"] = {**labels, **metadata.get("labels", {})}
    return {
        "metadata": {"name": f"{cluster}-temporary-name", **metadata},
        "spec": {"version": "v4.1.0", **part.get("spec", {})},
    }


_WHOLE = {
    Kind.MACHINE_CONFIG: _machine_config,
    Kind.MACHINE_CONFIG_POOL: _pool,
    Kind.MACHINE_CONFIGURATION: _policy,
    Kind.MODULE_INFO: _module,
}


def sections(page: Path) -> Mapping[str, str]:
    """The sections of a page by their headings."""
    return dict(_SECTION.findall(page.read_text(encoding="utf-8")))


def examples() -> Iterator[Example]:
    """All examples of all pages."""
    for name, kind in KINDS.items():
        for rule, text in sections(FOLDER / name).items():
            live = ""
            for what, block in _BLOCK.findall(text):
                if what == "On the cluster":
                    live = block
                else:
                    yield Example(rule, what == "Good", kind, block, live)


@dataclass(frozen=True)
class ReadingExample:
    """One file of a repository: at the path that its first line says, else in the folder of a cluster."""

    rule: str
    good: bool
    text: str

    def broken(self) -> set[str]:
        said = re.match(r"# (\S+\.(?:ya?ml|YAML))\n", self.text)
        path = said[1] if said else f"clusters/{CLUSTER}/example.yaml"
        module = {"apiVersion": Kind.MODULE_INFO.api_version, "kind": Kind.MODULE_INFO.value}
        policy = {**QUIET, "apiVersion": Kind.MACHINE_CONFIGURATION.api_version}
        files = {
            f"clusters/{CLUSTER}/base.yaml": yaml.safe_dump({**module, **_module({}, CLUSTER)}),
            f"clusters/{CLUSTER}/policy.yaml": yaml.safe_dump(policy),
            path: self.text,
        }
        state = load([_file(where, text) for where, text in files.items()], cache={})
        return {problem.rule for problem in state.problems}


def reading_examples() -> Iterator[ReadingExample]:
    """The examples of the page on reading; what no text can show has none."""
    for rule, text in sections(READING).items():
        for what, block in _BLOCK.findall(text):
            yield ReadingExample(rule, what == "Good", block)


def page_of(rule: str) -> str:
    """The page on which a rule has its section."""
    return next(name for name in KINDS if rule in sections(FOLDER / name))


def facts() -> Mapping[Path, Mapping[str, str]]:
    """By page: for each rule the lines that are made from its row."""
    rows = {row.id: row for row in ROWS}
    reading = {rule: f"**{READING_RULES[rule]}**\n" for rule in sections(READING) if rule in READING_RULES}
    return {
        **{
            FOLDER / name: {rule: _facts(rows[rule]) for rule in sections(FOLDER / name) if rule in rows}
            for name in KINDS
        },
        READING: reading,
    }


def _facts(row: AnyRule) -> str:
    needs = f", needs {', '.join(fact.value for fact in row.needs)}" if isinstance(row, LiveRule) else ""
    told = f"{row.severity.value.capitalize()}, scope {row.scope.value}{needs}"
    return f"**{row.sentence}**\n\n{told}. Source: [{row.source.title}]({row.source.url}).\n"


_HEAD = """\
# Rules

What is checked of the objects in the repository. The name of a rule stands in brackets at the end of each problem that
`gitops-mc validate` prints, and leads from here to why it matters, how to fix it, and an example of both.

An error blocks its scope, a warning blocks nothing. Scope `manifest` is where the manifest stands: its cluster, or every
cluster that uses its shared set. Scope `cluster` is the cluster whose objects, taken together, break the rule. Scope
`fleet` is no cluster's: such a rule only warns.

What is wrong with files before anything is known of their objects (YAML, unknown kinds, doubles, `contents.local`,
fleet.yaml) has names of its own: [problems of reading](reading.md).

## Decided by the repository alone

"""

_FLEET = """
## Decided by all clusters of the repository together

They run with `validate` as well, and only warn.

"""

_LIVE = """
## Decided with facts about the live cluster

They stand in the plan: an error is a [refusal](runbooks/refusals.md), a warning a note. Without their facts the answer
is "not checked", never "no problem".

"""


def rules_page() -> str:
    """docs/rules.md, as Markdown."""
    head = ("rule", "what must hold", "severity", "scope")
    return (
        _HEAD
        + table(head, [_row(rule) for rule in RULES])
        + _FLEET
        + table(head, [_row(rule) for rule in FLEET_RULES])
        + _LIVE
        + table((*head, "needs"), [(*_row(rule), _needs(rule)) for rule in LIVE_RULES])
    )


def _row(rule: AnyRule) -> tuple[str, ...]:
    link = f'<a id="{rule.id}"></a>[`{rule.id}`](rules/{page_of(rule.id)}#{rule.id})'
    return link, rule.sentence, rule.severity.value, rule.scope.value


def _needs(rule: LiveRule) -> str:
    return ", ".join(fact.value for fact in rule.needs)


_READING_HEAD = """\
# Problems of reading

What is checked while the repository is read. Each problem has a file, a line, a scope and a hint. Those below
`clusters/X` block X, those in `shared/S` the clusters that use S, those of fleet.yaml and of the repository as a whole
the fleet. Warnings block nothing. Rules about what manifests say have a page of their own: [rules.md](rules.md).

"""


def reading_page() -> str:
    """docs/reading.md, as Markdown."""
    rows = [
        (f'<a id="{rule}"></a>[`{rule}`](rules/{READING.name}#{rule})', sentence)
        for rule, sentence in READING_RULES.items()
    ]
    return _READING_HEAD + table(("problem", "what must hold"), rows)
