"""libyaml's errors in words that help, with the right line."""

from __future__ import annotations

from typing import Final

from yaml import MarkedYAMLError, YAMLError
from yaml.reader import ReaderError

from gitops_mc.core.manifests.flaws import Flaw
from gitops_mc.core.manifests.line_ends import lines_of
from gitops_mc.core.manifests.positions import Chunk
from gitops_mc.core.model import BodyPath

_HINTS: Final = (
    ("mapping values are not allowed", "quote the value if it contains `: `, or mend the indentation"),
    ("did not find expected key", "mend the indentation of this line or of the one before"),
    ("could not find expected ':'", "a key needs a colon and a space; quote texts of several lines"),
    ("did not find expected ',' or", "close the bracket, or put a comma between the items"),
    ("found unexpected end of stream", "close the quote or the bracket"),
    ("found unknown escape character", "use single quotes, or double the backslash"),
    ("invalid Unicode character escape", "write the character itself instead of the escape"),
    ("did not find expected <document start>", "kubectl reads no %YAML or %TAG directives; remove the line"),
    ("found undefined tag handle", "drop the tag"),
)


def syntax_flaw(error: YAMLError, chunk: Chunk, path: BodyPath) -> Flaw:
    """The place where libyaml gave up, and its reason."""
    if isinstance(error, ReaderError):
        return _character(error, chunk, path)
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return Flaw(chunk.line + 1, 1, "yaml-syntax", path, str(error), "mend the syntax")
    mark = error.problem_mark
    line, column = chunk.line + mark.line + 1, mark.column + 1
    problem = error.problem or "syntax error"
    lines = lines_of(chunk.text)
    text = lines[mark.line] if mark.line < len(lines) else b""
    if text[: mark.column + 1].strip(b" ").startswith(b"\t"):
        return Flaw(
            line,
            text.index(b"\t") + 1,
            "yaml-tab",
            path,
            "a tab in the indentation; YAML indents with spaces only",
            "replace the tab with spaces",
        )
    reason = f"{error.context}: {problem}" if error.context else problem
    hint = next((hint for known, hint in _HINTS if known in problem), "mend the syntax near this place")
    return Flaw(line, column, "yaml-syntax", path, f"not YAML: {reason}", hint)


def _character(error: ReaderError, chunk: Chunk, path: BodyPath) -> Flaw:
    offset = max(int(error.position), 0)
    line = chunk.text.count(b"\n", 0, offset)
    column = offset - (chunk.text.rfind(b"\n", 0, offset) + 1)
    message = f"a character that YAML does not allow here: {error.reason}"
    hint = 'write control characters as escapes in double quotes ("\\x07")'
    return Flaw(chunk.line + line + 1, column + 1, "yaml-encoding", path, message, hint)
