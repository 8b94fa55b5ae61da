"""The layout of a YAML file made even: two spaces a level, lists indented, single spaces, LF, one line end at the end.

ruamel.yaml writes it anew, and is believed in nothing: values are read again as kubectl reads them, and comments are held
against those that stood there. What does not come out the same is left as it was.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError as RuamelError
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.resolver import VersionedResolver
from ruamel.yaml.tag import Tag
from yaml import YAMLError

from gitops_mc.core.authoring.comments import comments_of, flattened, realigned
from gitops_mc.core.manifests.documents import read_documents
from gitops_mc.core.manifests.line_ends import hidden_line_end
from gitops_mc.core.model import Severity, canonical_json

_SEPARATOR: Final = re.compile(r"^---[^\n]*(?:\n|\Z)", re.MULTILINE)
_ROUNDS: Final = 4
"""After so many a layout that still moves is given up."""
_WIDE: Final = 1_000_000
_TEXT: Final = Tag(suffix="tag:yaml.org,2002:str")


@dataclass(frozen=True, slots=True)
class Even:
    """The file as it should look; perhaps as it does."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Uneven:
    """A file that is left as it is, and why."""

    reason: str


Formatted: TypeAlias = Even | Uneven


def formatted(data: bytes) -> Formatted:
    """Never raises, and never changes what the file says: neither a value nor a comment."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return Uneven("it is not UTF-8")
    if any(flaw.severity is Severity.ERROR for flaw in read_documents(data).flaws):
        return Uneven("it has errors; see validate")
    if hidden := hidden_line_end(text):
        return Uneven(f"it has line ends that editors do not show ({hidden})")
    try:
        found = _settled(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except (RuamelError, YAMLError, RecursionError, ValueError, AttributeError, NotImplementedError) as error:
        return Uneven(f"it cannot be written anew ({type(error).__name__})")
    if isinstance(found, Uneven):
        return found
    return Even(found.encode()) if _says_the_same(data, found.encode()) else Uneven("its values would change")


def _settled(text: str) -> str | Uneven:
    """Laid out until it stays so."""
    before = text
    for _ in range(_ROUNDS):
        after = "".join(_laid_out(before))
        if not _same_comments(before, after):
            return Uneven("a comment would be lost, or move")
        if after == before:
            return after
        before = after
    return Uneven("its layout does not settle")


def _laid_out(text: str) -> Iterator[str]:
    """Document by document, as kubectl cuts them."""
    end = 0
    for separator in _SEPARATOR.finditer(text):
        yield _document(text[end : separator.start()])
        yield separator.group().rstrip() + "\n"
        end = separator.end()
    yield _document(text[end:])


def _document(text: str) -> str:
    if not text.strip():
        return ""
    if all(line.lstrip().startswith("#") or not line.strip() for line in text.splitlines()):
        return "\n".join(line.rstrip() for line in text.strip("\n").splitlines()) + "\n"
    yaml = _yaml()
    out = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an anchor that is used again is nothing to warn of here
        yaml.dump(yaml.load(flattened(text)), out)
    return _with_one_end(realigned(text, out.getvalue()))


def _with_one_end(text: str) -> str:
    """Without empty lines around, unless they are the end of a block that keeps them."""
    stripped = text.strip("\n") + "\n"
    return stripped if _says_the_same(text.encode(), stripped.encode()) else text


class _NothingMeans(VersionedResolver):
    """Every plain scalar is text, and is written as it stood: what it means is for kubectl to say, not for this library."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        return _TEXT if kind is ScalarNode else super().resolve(kind, value, implicit)


def _yaml() -> YAML:
    yaml = YAML(typ="rt")
    yaml.Resolver = _NothingMeans
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.width = _WIDE
    yaml.preserve_quotes = True
    yaml.allow_duplicate_keys = True
    return yaml


def _says_the_same(before: bytes, after: bytes) -> bool:
    earlier, later = read_documents(before), read_documents(after)
    if len(later.flaws) > len(earlier.flaws):
        return False
    return canonical_json([d.value for d in earlier.documents]) == canonical_json(
        [d.value for d in later.documents]
    )


def _same_comments(before: str, after: str) -> bool:
    return _comments(before) == _comments(after)


def _comments(text: str) -> list[Any]:
    found: list[Any] = []
    for piece in _SEPARATOR.split(text):
        found += comments_of(piece)
    return [*found, *(line.rstrip() for line in _SEPARATOR.findall(text))]
