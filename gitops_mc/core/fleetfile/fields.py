"""Reading typed fields out of JSON, noting everything that is wrong on the way instead of stopping at the first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, Final, TypeVar

from gitops_mc.core import globs
from gitops_mc.core.manifests.scalars import type_name
from gitops_mc.core.model import BodyPath, Finding, Severity
from gitops_mc.core.policy import Count
from gitops_mc.core.spans import LONGEST, span_of

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)

_PERCENT: Final = re.compile(r"(\d{1,3})%")
_MAX_PERCENT: Final = 100
_ANY_VALUES: Final[Mapping[str, str]] = {}
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def is_dns_label(text: str) -> bool:
    """RFC 1123: lower-case letters, digits and `-`, at most 63."""
    return _LABEL.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Field:
    """One value of the file, its path, and where findings go."""

    value: Any
    path: BodyPath = ()
    findings: list[Finding] = field(default_factory=list, repr=False)

    def note(
        self, message: str, hint: str, severity: Severity = Severity.ERROR, *, rule: str = "fleet-value"
    ) -> None:
        self.findings.append(Finding(self.path, rule, message, hint, severity))

    def at(self, key: str | int, value: Any) -> Field:
        return Field(value, (*self.path, key), self.findings)

    def mapping(
        self, *known: str, required: tuple[str, ...] = (), values: Mapping[str, str] = _ANY_VALUES
    ) -> Mapping[str, Field]:
        """The fields that are there (null counts as left out). Unknown and missing ones are noted, those in `values` with
        the only value that they may have.
        """
        if not self._is(dict, "a mapping"):
            return {}
        for key in self.value:
            if key not in known:
                close = get_close_matches(key, known, n=1)
                hint = f"did you mean {close[0]}?" if close else f"known here: {', '.join(known)}"
                self.at(key, None).note(f"the field {key} does not exist", hint, rule="fleet-unknown-field")
        found = {key: self.at(key, self.value[key]) for key in known if self.value.get(key) is not None}
        for key in required:
            if key not in found:
                self.note(
                    f"the field {key} is missing",
                    f"write {key}: {values.get(key, '')}".rstrip(),
                    rule="fleet-missing-field",
                )
        return found

    def items(self) -> Iterator[Field]:
        if self._is(list, "a list"):
            yield from (self.at(number, value) for number, value in enumerate(self.value))

    def text(self) -> str | None:
        if not self._is(str, "a string"):
            return None
        if not self.value:
            self.note("the text is empty", "write a value")
            return None
        return str(self.value)

    def texts(self) -> tuple[str, ...]:
        return tuple(text for item in self.items() if (text := item.text()) is not None)

    def globs(self) -> tuple[str, ...]:
        """Globs, or plain paths or names, within what can be matched at any time."""
        return self.within_limits(
            [(item, text) for item in self.items() if (text := item.text()) is not None]
        )

    def within_limits(self, written: Iterable[tuple[Field, str]]) -> tuple[str, ...]:
        """Those of the globs `written` in this list that are not too long, and, with wildcards, not too many."""
        kept = []
        wild = 0
        for item, glob in written:
            wild += globs.is_wild(glob)
            if len(glob) > globs.LONGEST:
                item.note(
                    f"the glob has {len(glob)} characters, more than {globs.LONGEST}",
                    "write less of it, with `*` or `**` for the rest",
                )
            elif wild <= globs.MOST or not globs.is_wild(glob):
                kept.append(glob)
        if wild > globs.MOST:
            self.note(f"{wild} globs stand here, more than {globs.MOST}", "write fewer that take more each")
        return tuple(kept)

    def strings(self) -> Mapping[str, str]:
        """A mapping of strings to strings, as labels are."""
        if not self._is(dict, "a mapping"):
            return {}
        pairs = ((key, self.at(key, value).text()) for key, value in self.value.items())
        return {key: text for key, text in pairs if text is not None}

    def boolean(self, default: bool) -> bool:  # noqa: FBT001 - the value that is read
        return bool(self.value) if self._is(bool, "true or false") else default

    def number(self, default: int, *, least: int = 0) -> int:
        if not self._is(int, "a whole number"):
            return default
        if self.value < least:
            self.note(f"{self.value} is less than {least}", f"write {least} or more")
            return default
        return int(self.value)

    def choice(self, kind: type[E], default: E) -> E:
        try:
            return kind(self.value)
        except ValueError:
            known = [str(word) for word in kind]
            close = get_close_matches(str(self.value), known, n=1)
            self.note(
                f"{self.value!r} is not one of {', '.join(known)}",
                f"did you mean {close[0]}?" if close else "",
            )
            return default

    def duration(self, default: timedelta, *, least: timedelta = timedelta(seconds=1)) -> timedelta:
        """`30s`, `30m`, `1h30m`, `10d`."""
        found = span_of(self.value) if isinstance(self.value, str) else None
        if found is None:
            self.note(
                f"{self.value!r} is no duration", "write days, hours, minutes, seconds: 30m, 1h30m, 10d"
            )
            return default
        if not least <= found <= LONGEST:
            self.note(
                f"{self.value} is not between {least} and {LONGEST.days} days", "write another duration"
            )
            return default
        return found

    def count(self, default: Count, *, least: int = 0) -> Count:
        """A number of clusters, or a percentage in quotes or without."""
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            return Count(self.number(default.number, least=least))
        match = _PERCENT.fullmatch(self.value) if isinstance(self.value, str) else None
        if match is None or not least <= int(match.group(1)) <= _MAX_PERCENT:
            self.note(f"{self.value!r} is neither a number nor a percentage", f"write {max(least, 1)} or 25%")
            return default
        return Count(percent=int(match.group(1)))

    def unique(self, what: str, values: Mapping[str, Field], key: str) -> None:
        """Note when `key` stands among `values` already."""
        first = values.get(key)
        if first is not None:
            number = next((part for part in reversed(first.path) if isinstance(part, int)), 0)
            self.note(
                f"the {what} {key!r} stands in entry {number + 1} already",
                "use each once",
                rule="fleet-duplicate",
            )

    def parsed(self, parse: Callable[[str], object], hint: str) -> str | None:
        """A text that `parse` accepts; what it raises (ValueError, KeyError) is the message."""
        text = self.text()
        if text is None:
            return None
        try:
            parse(text)
        except (ValueError, KeyError) as error:
            self.note(str(error.args[0]) if error.args else f"{text!r} cannot be read", hint)
            return None
        return text

    def _is(self, kind: type, what: str) -> bool:
        if isinstance(self.value, kind) and (kind is bool or not isinstance(self.value, bool)):
            return True
        self.note(f"{type_name(self.value)} stands here, not {what}", f"write {what}")
        return False
