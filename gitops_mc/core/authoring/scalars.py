"""One value of a YAML file set to another, every other byte left as it is; and the proof that nothing else has changed.

A library that writes YAML anew changes what it does not know of (the width of a line, a quote, an indent); what is cut in at
the place of the value does not.
"""

from __future__ import annotations

import re
from typing import Any, Final

from yaml import CSafeLoader, YAMLError, compose
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from gitops_mc.core.errors import RefusedError
from gitops_mc.core.manifests.documents import Documents, read_documents
from gitops_mc.core.manifests.line_ends import hidden_line_end
from gitops_mc.core.manifests.scalars import resolve_plain
from gitops_mc.core.model import BodyPath, JsonObject, Severity, canonical_json, dotted

_BOM: Final = "\ufeff"
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_HAND: Final = "change it by hand; the file was left as it is"


_IN_THE_WAY: Final = "{what} cannot be changed alone: an anchor, an alias or a tag is in the way"


def with_scalar(data: bytes, line: int, path: BodyPath, value: str) -> bytes:
    """The file with the string `value` at `path` of the document that begins after `line` lines. Raises RefusedError where
    that cannot be done without touching anything else.
    """
    what = dotted(path)
    text = _text(data)
    if hidden := hidden_line_end(text):
        raise RefusedError(
            f"the file of {what} has line ends that editors do not show ({hidden})", hint=_HAND
        )
    before = read_documents(data)
    position = next((n for n, document in enumerate(before.documents) if document.chunk.line == line), None)
    if position is None:
        raise RefusedError(f"the document of {what} cannot be read", hint=_HAND)
    node = _node(before.documents[position].chunk.text, path)
    start, end = node.start_mark, node.end_mark
    if start.line != end.line or node.style in ("|", ">"):
        raise RefusedError(f"{what} is written on several lines", hint=_HAND)
    lines = text.split("\n")
    shift = 1 if line + start.line == 0 and text.startswith(_BOM) else 0
    row = lines[line + start.line]
    if row[start.column + shift : start.column + shift + 1] in ("!", "&", "*"):
        raise RefusedError(_IN_THE_WAY.format(what=what), hint=_HAND)
    written = _written(value, node.style)
    lines[line + start.line] = row[: start.column + shift] + written + row[end.column + shift :]
    after = "\n".join(lines).encode()
    if not only_changed(before, read_documents(after), position, path, value):
        raise RefusedError(_IN_THE_WAY.format(what=what), hint=_HAND)
    return after


def only_changed(before: Documents, after: Documents, position: int, path: BodyPath, value: str) -> bool:
    """Whether two readings of a file are the same but for this value in one document."""
    if len(before.documents) != len(after.documents) or _errors(after) > _errors(before):
        return False
    for number, (earlier, later) in enumerate(zip(before.documents, after.documents, strict=True)):
        wanted = _with(earlier.value, path, value) if number == position else earlier.value
        if canonical_json(wanted) != canonical_json(later.value):
            return False
    return True


def _errors(read: Documents) -> int:
    return sum(1 for flaw in read.flaws if flaw.severity is Severity.ERROR)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise RefusedError("the file is not UTF-8", hint="save it as UTF-8") from error


def _node(text: bytes, path: BodyPath) -> ScalarNode:
    """The scalar at a path, where it is written there and not taken from elsewhere."""
    try:
        node: Any = compose(text, Loader=CSafeLoader)
    except YAMLError as error:
        raise RefusedError("the document cannot be read", hint=_HAND) from error
    for step in path:
        node = _below(node, step)
    if not isinstance(node, ScalarNode):
        raise RefusedError(f"{dotted(path)} does not stand there as a value of its own", hint=_HAND)
    return node


def _below(node: Any, step: str | int) -> Any:
    if isinstance(node, SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step]
    if isinstance(node, MappingNode):
        return next(
            (value for key, value in node.value if isinstance(key, ScalarNode) and key.value == step), None
        )
    return None


def _written(value: str, style: str | None) -> str:
    """In the quotes that stood there; plain only where every reader takes it for this string."""
    if style == "'":
        return f"'{value}'"
    if style == '"' or not _PLAIN.fullmatch(value) or resolve_plain(value) != value:
        return f'"{value}"'
    return value


def _with(value: Any, path: BodyPath, wanted: str) -> Any:
    if not path:
        return wanted
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        found: JsonObject = {**value, str(step): _with(value.get(str(step)), rest, wanted)}
        return found
    if isinstance(value, list) and isinstance(step, int):
        return [_with(inner, rest, wanted) if number == step else inner for number, inner in enumerate(value)]
    return wanted
