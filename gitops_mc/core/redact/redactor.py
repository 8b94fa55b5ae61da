"""The one redactor in front of every output."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from gitops_mc.core.model import BodyPath, JsonObject
from gitops_mc.core.policy import Sensitive
from gitops_mc.core.redact.places import (
    LAST_APPLIED,
    last_applied,
    marker,
    sensitive_parts,
    value_at,
)
from gitops_mc.core.redact.spellings import SHORTEST, needles

CUT = "…"
"""What stands where a text was cut."""


def secrets_of(sensitive: Sensitive, bodies: Iterable[JsonObject]) -> frozenset[bytes]:
    """Every sensitive value in these objects, desired and live, rendered ones too, and in kubectl's copies of them."""
    found: set[bytes] = set()
    for body in bodies:
        for version in (body, last_applied(body)):
            if version is not None:
                for part in sensitive_parts(sensitive, version):
                    found.update(part.secrets)
    return frozenset(found)


class Redactor:
    """Takes secrets out of texts, wherever in a text and in whatever encoding they stand.

    Looked for are the values, their lines, the values of assignments in them, and words of letters and digits; as plain
    text, escaped as in JSON, YAML, HTML and Python, percent-encoded, in hex, and in base64 (at any place in a larger
    blob). Values of fewer than six characters are not looked for: `hide` takes them out where they stand, and only there.
    Redact before shortening: half a secret is not recognised, but by the `…` behind it.
    """

    __slots__ = ("_by_beginning", "_sensitive")

    def __init__(self, sensitive: Sensitive, secrets: Iterable[bytes] = ()) -> None:
        self._sensitive = sensitive
        sizes: dict[str, int] = {}
        for secret in sorted(set(secrets)):
            for needle, size in needles(secret):
                sizes[needle] = min(size, sizes.get(needle, size))
        by_beginning: dict[str, dict[int, dict[str, int]]] = {}
        for needle, size in sizes.items():
            by_length = by_beginning.setdefault(needle[:SHORTEST], {})
            by_length.setdefault(len(needle), {})[needle] = size
        self._by_beginning = {
            beginning: sorted(by_length.items(), reverse=True)
            for beginning, by_length in by_beginning.items()
        }
        """Needles by their first letters, then by length, the longest first. Thousands of tokens may begin alike, but
        they have few lengths."""

    @classmethod
    def of(cls, sensitive: Sensitive, bodies: Iterable[JsonObject]) -> Redactor:
        """A redactor that knows every sensitive value of these objects."""
        return cls(sensitive, secrets_of(sensitive, bodies))

    @property
    def sensitive(self) -> Sensitive:
        """What it hides where it stands, however short."""
        return self._sensitive

    def redact(self, text: str) -> str:
        """The text with `[sensitive, N bytes]` in place of every secret; N is the size of the secret, decoded."""
        if not self._by_beginning:
            return text
        result: list[str] = []
        written = 0
        for start, end, size in self._spans(text):
            result += (text[written:start], marker(size))
            written = end
        result.append(text[written:])
        return "".join(result)

    def _spans(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Start, end and size of what is to go; spans that overlap are one, so that no end of a secret is left."""
        beginnings = self._by_beginning
        starts = [i for i in range(len(text) - SHORTEST + 1) if text[i : i + SHORTEST] in beginnings]
        span: tuple[int, int, int] | None = None
        for start in starts:
            found = self._longest_at(text, start)
            if found is None:
                continue
            end, size = found
            if span is not None and start < span[1]:
                span = (span[0], max(end, span[1]), max(size, span[2]))
            else:
                if span is not None:
                    yield span
                span = (start, end, size)
        if span is not None:
            yield span

    def _longest_at(self, text: str, start: int) -> tuple[int, int] | None:
        """End and size of the longest needle that begins here."""
        for length, sizes in self._by_beginning[text[start : start + SHORTEST]]:
            size = sizes.get(text[start : start + length])
            if size is not None:
                return start + length, size
        return self._cut_at(text, start)

    def _cut_at(self, text: str, start: int) -> tuple[int, int] | None:
        """The same of a needle that was cut short before, as the `…` behind its beginning says."""
        by_length = self._by_beginning[text[start : start + SHORTEST]]
        end = text.find(CUT, start + SHORTEST, start + by_length[0][0])
        if end < 0:
            return None
        beginning = text[start:end]
        sizes = (
            n for _, needles in by_length for needle, n in needles.items() if needle.startswith(beginning)
        )
        size = next(sizes, None)
        return None if size is None else (end, size)

    def redact_json(self, value: Any) -> Any:
        """A copy of a JSON value with every string redacted, keys included; a number that is a secret becomes a marker."""
        match value:
            case str():
                return self.redact(value)
            case dict():
                return {self.redact(str(key)): self.redact_json(inner) for key, inner in value.items()}
            case list() | tuple():
                return [self.redact_json(inner) for inner in value]
            case int() | float() if not isinstance(value, bool):
                shown = json.dumps(value)
                redacted = self.redact(shown)
                return value if redacted == shown else redacted
            case _:
                return value

    def hide(self, obj: JsonObject) -> JsonObject:
        """A copy of an object to be shown: sensitive parts replaced where they stand, kubectl's copy of an earlier version
        likewise, and every other string redacted.
        """
        shown: JsonObject = self.redact_json(self._hidden(obj))
        return shown

    def _hidden(self, obj: JsonObject) -> JsonObject:
        shown: JsonObject = obj
        for part in sensitive_parts(self._sensitive, obj):
            shown = _replaced(shown, part.path, part.shown)
        copy = value_at(obj, ("metadata", "annotations", LAST_APPLIED))
        if copy is not None:
            earlier = last_applied(obj)
            text = (
                marker(len(str(copy)))
                if earlier is None
                else json.dumps(self._hidden(earlier), sort_keys=True)
            )
            shown = _replaced(shown, ("metadata", "annotations", LAST_APPLIED), text)
        return shown


def _replaced(document: Any, path: BodyPath, value: Any) -> Any:
    """A copy of the document with one value replaced; what is not on the path is shared."""
    if not path:
        return value
    key, rest = path[0], path[1:]
    if isinstance(document, dict):
        return {**document, key: _replaced(document[key], rest, value)}
    return [_replaced(inner, rest, value) if at == key else inner for at, inner in enumerate(document)]
