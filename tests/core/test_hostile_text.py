"""Every regular expression of the product, on texts made to make it go back and forth: what takes time that grows faster than the
square of the text's length does not end here; nor, on one long word and used as the product uses it, what grows as the square.
"""

from __future__ import annotations

import ast
import importlib
import itertools
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import gitops_mc
from gitops_mc.core.fleetfile.sections import MOST_WINDOWS
from gitops_mc.core.globs import LONGEST, MOST, path_matches
from gitops_mc.core.model import FleetScope, Severity
from gitops_mc.core.redact.places import sensitive_parts
from tests.core.alarm import TooLong, at_most
from tests.core.desired_repositories import FLEET, config, desired

GENEROUS = 60
"""Seconds for what takes a fraction of one, so that a slow machine fails no test."""
SIZES = (40, 800)
LONG = 100_000
"""Characters of one word without a break: a token, a certificate or a picture in a node's file."""
ENOUGH = 20
"""Seconds for each of these, which take a tenth of one."""
_SAMPLES = "aZ0 -_./:=@*~'\"\\\n\t[(,%"


def _modules() -> Iterator[str]:
    for found in pkgutil.walk_packages(gitops_mc.__path__, "gitops_mc."):
        if ".sandbox" not in found.name and not found.name.endswith("__main__"):
            yield found.name


def _compiled(value: object) -> Iterator[re.Pattern[str] | re.Pattern[bytes]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _compiled(part)
    elif is_dataclass(value) and not isinstance(value, type):
        for part in fields(value):
            yield from _compiled(getattr(value, part.name))


def _written(module: str) -> Iterator[re.Pattern[str]]:
    """Those that stand in a call, as they are written."""
    path = importlib.import_module(module).__file__
    for node in ast.walk(ast.parse(Path(str(path)).read_text())):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr=word),
                args=[ast.Constant(value=str(text)), *_],
            ) if word != "escape":
                yield re.compile(text)


def _expressions() -> list[tuple[str, re.Pattern[str] | re.Pattern[bytes]]]:
    found: dict[tuple[str | bytes, int], tuple[str, re.Pattern[str] | re.Pattern[bytes]]] = {}
    for module in _modules():
        made = importlib.import_module(module)
        there = [p for value in vars(made).values() for p in _compiled(value)]
        for pattern in [*there, *_written(module)]:
            found.setdefault((pattern.pattern, pattern.flags), (module.removeprefix("gitops_mc."), pattern))
    return list(found.values())


EXPRESSIONS = _expressions()


def _attacks(pattern: re.Pattern[str] | re.Pattern[bytes]) -> Iterator[str]:
    """Pieces that the expression knows, over and over, after what leads into it and before what it cannot end with."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    words = _words(pattern)[:6]
    known = list(dict.fromkeys(["a", "0", *(c for c in _SAMPLES if c in source)]))[:9]
    pumps = [*known, *("".join(pair) for pair in itertools.permutations(known, 2)), *words]
    for size, pump, lead in itertools.product(SIZES, pumps, ["", *words]):
        yield lead + pump * (size // len(pump)) + "\x00"


def _words(pattern: re.Pattern[str] | re.Pattern[bytes]) -> list[str]:
    """What the expression spells out."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    return list(dict.fromkeys(re.findall(r"[A-Za-z0-9/:@=-]{3,}", source)))


def _long_words(pattern: re.Pattern[str] | re.Pattern[bytes]) -> Iterator[str]:
    """One word over and over, with what ends neither a line nor a path, and what ends both."""
    pumps = ["a", "0", " ", "a.", "/", *_words(pattern)]
    for lead, pump, end in itertools.product(["", "/"], pumps, ["\x00", "/\n\x00"]):
        yield lead + pump * (LONG // len(pump)) + end


def _as(pattern: re.Pattern[str] | re.Pattern[bytes], text: str) -> str | bytes:
    return text if isinstance(pattern.pattern, str) else text.encode("latin-1")


def _attack(pattern: re.Pattern[str] | re.Pattern[bytes], seconds: float) -> str:
    """The text that it does not come to an end with; empty where there is none."""
    text: str | bytes = ""
    try:
        with at_most(seconds):
            for attack in _attacks(pattern):
                text = _as(pattern, attack)
                pattern.fullmatch(text)  # type: ignore[arg-type]
                pattern.search(text)  # type: ignore[arg-type]
    except TooLong:
        return repr(text)[:120]
    return ""


def _from_the_beginning_alone() -> set[str | bytes]:
    """The expressions with a name that are held against a whole text, or its beginning, wherever they are used: what is tried
    once takes the square of nothing.
    """
    named: set[str | bytes] = set()
    uses: dict[str | bytes, set[str]] = {}
    for module in _modules():
        made = importlib.import_module(module)
        tree = ast.walk(ast.parse(Path(str(made.__file__)).read_text()))
        names = [
            node for node in tree if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        ]
        for name, value in vars(made).items():
            if isinstance(value, re.Pattern):
                named.add(value.pattern)
                uses.setdefault(value.pattern, set()).update(
                    n.attr for n in names if isinstance(n.value, ast.Name) and n.value.id == name
                )
    return {one for one in named if uses[one] and uses[one] <= {"fullmatch", "match", "pattern"}}


ANCHORED = _from_the_beginning_alone()


def _long_attack(pattern: re.Pattern[str] | re.Pattern[bytes], seconds: float) -> str:
    """As `_attack`, with one long word, and used as the product uses it."""
    text: str | bytes = ""
    try:
        with at_most(seconds):
            for attack in _long_words(pattern):
                text = _as(pattern, attack)
                pattern.fullmatch(text)  # type: ignore[arg-type]
                if pattern.pattern in ANCHORED:
                    pattern.match(text)  # type: ignore[arg-type]
                else:
                    pattern.search(text)  # type: ignore[arg-type]
    except TooLong:
        return repr(text)[:120]
    return ""


@pytest.mark.parametrize(("module", "pattern"), EXPRESSIONS, ids=lambda value: str(value)[:60])
def test_no_expression_of_ours_takes_the_square_of_one_long_word(
    module: str, pattern: re.Pattern[str] | re.Pattern[bytes]
) -> None:
    assert not _long_attack(pattern, ENOUGH), module


@pytest.mark.parametrize(
    "bad",
    [r"[\w.-]*(secret|token)[\w.-]*\s*=", r"\b[a-z][a-z0-9+.-]*://", r"a.*secret$", r"/[^/]*word[^/]*$"],
)
def test_one_that_does_is_found_too(bad: str) -> None:
    assert _long_attack(re.compile(bad), 1)


@pytest.mark.parametrize(("module", "pattern"), EXPRESSIONS, ids=lambda value: str(value)[:60])
def test_no_expression_of_ours_goes_back_and_forth_without_end(
    module: str, pattern: re.Pattern[str] | re.Pattern[bytes]
) -> None:
    assert not _attack(pattern, GENEROUS), module


@pytest.mark.parametrize(
    "bad", [r"(a*)*b", r"(?:[a-z]+-?)+:", r"(\w+/)*\w*\w*\w*\w*@", r"(?:(?:.*/)?[^/]*a){12}/b"]
)
def test_one_that_does_is_found(bad: str) -> None:
    assert _attack(re.compile(bad), 1)


def test_the_expressions_are_found_in_tables_and_calls_as_well() -> None:
    modules = {module for module, _ in EXPRESSIONS}
    assert {
        "core.redact.credentials",
        "adapters.git_errors",
        "core.render.fleet_commands",
        "core.spans",
    } <= modules
    assert len(EXPRESSIONS) > 80


# ----------------------------------------------------------------------------------------------------- globs of fleet.yaml

DEEP = "/".join(["a" * 20] * 10)
BOMB = "**/*a" * 12 + "/b"


NAME_BOMB = "*a" * 40 + "b"
SPECS = [
    f"  ignore: ['{BOMB}']\n",
    f"  sensitive: ['/{BOMB}', 'unit:{NAME_BOMB}', 'module:{NAME_BOMB}:/x']\n",
    f"  gates: {{pool: {{operatorFiles: ['/{BOMB}']}}}}\n",
    f"  rollout: {{waves: [{{name: a, clusters: {{names: ['{NAME_BOMB}'], except: ['{'*[a]' * 40}b']}}}}]}}\n",
    f"  shared: [{{path: shared/s, clusters: {{names: ['{NAME_BOMB}']}}}}]\n",
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.split(":")[0].strip())
def test_no_glob_of_a_commit_stops_the_process(spec: str) -> None:
    texts = {
        "fleet.yaml": FLEET + spec,
        f"clusters/{'a' * 60}/{DEEP}/x.yaml": config(),
        "shared/s/x.yaml": config("60-worker-b"),
    }
    contents = {"source": "data:,x"}
    unit = {"name": "a" * 4_000, "contents": "x"}
    body = {
        "kind": "MachineConfig",
        "metadata": {"name": "50-worker-a", "labels": {"cpaas.io/module-name": "a" * 4_000}},
        "spec": {
            "config": {
                "storage": {"files": [{"path": f"/{DEEP}", "contents": contents}]},
                "systemd": {"units": [unit]},
            }
        },
    }
    with at_most(GENEROUS):
        state = desired(texts)
        assert not [p for p in state.problems if p.rule == "fleet-value"]
        assert not list(sensitive_parts(state.sensitive, body))
        assert not list(sensitive_parts(state.sensitive, {**body, "kind": "ModuleInfo"}))
        for name in state.policy.gates.pool.operator_files:
            assert not path_matches(f"/{DEEP}", (name,))


def test_whatever_comes_from_git_is_matched_by_the_one_matcher() -> None:
    """`fnmatch` and expressions made of a text are of use where the text is ours alone."""
    files = [Path(str(importlib.import_module(module).__file__)) for module in _modules()]
    users = {path.stem for path in files if "fnmatch" in path.read_text()}
    assert users == {"api_errors"}


@pytest.mark.parametrize(
    ("spec", "what"),
    [
        ("  ignore: [{}]\n", "ignore"),
        ("  sensitive: [{}]\n", "sensitive"),
        ("  gates: {{pool: {{operatorFiles: [{}]}}}}\n", "operatorFiles"),
        ("  rollout: {{waves: [{{name: a, clusters: {{names: [{}]}}}}]}}\n", "names"),
        (
            "  windows: [{{freeze: {{cron: '0 0 * * *', duration: 1h, timeZone: UTC, clusters: {{except: [{}]}}}}}}]\n",
            "except",
        ),
    ],
)
@pytest.mark.parametrize(
    ("globs", "said"),
    [
        (["/" + "a" * LONGEST + "*"], f"the glob has {LONGEST + 2} characters, more than {LONGEST}"),
        ([f"/{n}*" for n in range(MOST + 1)], f"{MOST + 1} globs stand here, more than {MOST}"),
    ],
)
def test_globs_that_are_too_long_or_too_many_are_problems_of_the_fleet(
    spec: str, what: str, globs: list[str], said: str
) -> None:
    text = FLEET + spec.format(", ".join(f"'{glob}'" for glob in globs))
    (problem,) = [
        p
        for p in desired({"fleet.yaml": text, "clusters/edge-1/a.yaml": config()}).problems
        if said in p.message
    ]
    assert what in problem.field
    assert problem.scope == FleetScope()


def test_until_sensitive_globs_are_within_the_limits_all_of_their_kind_is_hidden() -> None:
    long = "a" * LONGEST
    spec = f"  sensitive: ['/{long}*', 'unit:{long}*', 'module:{long}*:/x']\n"
    found = desired({"fleet.yaml": FLEET + spec, "clusters/edge-1/a.yaml": config()}).sensitive
    assert (found.paths, found.units) == (("**",), ("*",))
    assert [(m.module, m.pointer) for m in found.modules] == [("*", "")]


def test_thousands_of_windows_are_a_problem_and_are_not_looked_at() -> None:
    window = "    - freeze: {cron: '* * * * *', duration: 1m, timeZone: UTC}\n"
    with at_most(GENEROUS):
        state = desired(
            {"fleet.yaml": FLEET + "  windows:\n" + window * 4_000, "clusters/edge-1/a.yaml": config()}
        )
    (problem,) = [p for p in state.problems if "windows" in p.message]
    assert problem.message == f"there are 4000 windows, at most {MOST_WINDOWS} are"
    assert (problem.scope, problem.severity) == (FleetScope(), Severity.ERROR)
