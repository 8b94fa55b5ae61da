"""Help as it is read: options in groups, and no name broken at its hyphen."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import click

_UNBROKEN: Final = "\N{NON-BREAKING HYPHEN}"
_FLEET: Final = frozenset({"fleet", "namespace", "wait", "impatient", "overriding"})
_GROUPS: Final[Mapping[str, frozenset[str]]] = {
    "The controller of a Fleet": _FLEET,
    "Reaching the clusters": frozenset({"gateway", "token_file", "ca_file", "kubeconfig", "contexts"}),
}
"""Headings below the options of a command's own, and the parameters that stand there."""


class _Formatter(click.HelpFormatter):
    """Words keep their hyphens: an option is never read as two."""

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", _UNBROKEN))

    def write_dl(
        self,
        rows: Iterable[tuple[str, str]],
        col_max: int = 30,
        col_spacing: int = 2,
    ) -> None:
        kept = [(first, second.replace("-", _UNBROKEN)) for first, second in rows]
        super().write_dl(kept, col_max, col_spacing)

    def getvalue(self) -> str:
        return super().getvalue().replace(_UNBROKEN, "-")


class _Context(click.Context):
    formatter_class: type[click.HelpFormatter] = _Formatter


class Explained(click.Command):
    """A command whose help says its own options first, then those that it shares with others."""

    context_class: type[click.Context] = _Context

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names = {parameter.name for parameter in self.params}
        groups: dict[str, list[tuple[str, str]]] = {"Options": [], **{title: [] for title in _GROUPS}}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                groups[_group(str(parameter.name), names)].append(record)
        for title, rows in groups.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class ExplainedGroup(click.Group):
    """The same for commands below a command."""

    context_class: type[click.Context] = _Context
    command_class = Explained


def _group(name: str, beside: Collection[str | None]) -> str:
    """`--now` of a command without `--fleet` is its own."""
    for title, members in _GROUPS.items():
        if name in members and (members is not _FLEET or "fleet" in beside):
            return title
    return "Options"
