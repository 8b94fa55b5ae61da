"""The chain from the file in Git to the node, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator

from gitops_mc.core.model import JsonObject
from gitops_mc.core.render.lines import Line, Tone, one_line
from gitops_mc.core.rollout.moves import Standing
from gitops_mc.core.why import Link, Question, commands

_INDENT = " " * 12


def why_json(question: Question, links: tuple[Link, ...]) -> JsonObject:
    """Every link in order; `commands` is what to type, the nearest to the trouble first."""
    return {
        "cluster": question.name,
        "pool": question.pool or None,
        "standing": question.view.standing.value,
        "blocked": any(link.blocks for link in links),
        "chain": [
            {
                "subject": link.subject.value,
                "told": link.told,
                "blocks": link.blocks,
                "places": [{"file": p.file, "line": p.line, "column": p.column} for p in link.places],
                "commands": list(link.commands),
            }
            for link in links
        ],
        "commands": list(commands(links)),
    }


def why_text(question: Question, links: tuple[Link, ...]) -> Iterator[Line]:
    """From Git down to the node; what holds it up is marked with `>`. Then what to do."""
    subject = question.name + (f", pool {question.pool}" if question.pool else "")
    blocked = any(link.blocks for link in links)
    standing = question.view.standing
    good = not blocked and standing in {Standing.PASSED, Standing.READY}
    told = f"{subject}: {standing.value}" + ("" if blocked else "; nothing holds it up")
    yield Line(one_line(told), Tone.GOOD if good else Tone.BAD if blocked else Tone.HEAD)
    for link in links:
        mark = ">" if link.blocks else " "
        tone = Tone.WARN if link.blocks else Tone.PLAIN
        yield Line(one_line(f"{mark} {link.subject.value:<9} {link.told}"), tone)
        for place in link.places:
            yield Line(one_line(f"{_INDENT}{place}"), Tone.DIM)
    if what := commands(links):
        yield Line("what to do:", Tone.HEAD)
        for command in what:
            yield Line(one_line(f"    {command}"))
