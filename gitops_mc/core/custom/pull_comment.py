"""The comment and the status that show a preview on a pull request: what of them is ours, and how it is known again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from gitops_mc.core.custom.commit_status import LONGEST_DESCRIPTION, CommitState, CommitStatus
from gitops_mc.core.model import Commit
from gitops_mc.core.preview.model import State
from gitops_mc.core.render.lines import one_line
from gitops_mc.core.render.markdown_text import inline, led
from gitops_mc.core.rollout.showing import Shown

_SHORT: Final = 12
_CUT: Final = "…"
_DIGEST: Final = re.compile(r"<!-- gitops-mc content ([0-9a-f]{64}) -->")
_READ_AT: Final = re.compile(r"\b\d\d:\d\d UTC\b")
"""When the clusters were read makes no other content: a comment is not edited for that."""
_FRAME: Final = len(f"\n<!-- gitops-mc content {'0' * 64} -->\n\n")
_LEFT_OUT: Final = (
    "\n\n_The rest is left out: the forge takes no longer comment. `gitops-mc preview` shows all of it._\n"
)
_STATES: Final = {
    State.OK: CommitState.SUCCESS,
    State.PROBLEMS: CommitState.FAILURE,
    State.UNKNOWN: CommitState.ERROR,
}
"""What is not known is an error: a check that must be green then is not, and nobody takes it for one that found something."""
ROOM: Final = 1_000
"""Bytes of a comment that are not the preview's own."""


@dataclass(frozen=True, slots=True)
class PreviewText:
    """A preview as it is shown."""

    markdown: str
    summary: str
    """One line, for the status."""
    state: State
    shown: Mapping[str, Shown] = field(default_factory=dict)
    """By cluster: what it promises of the content that it gets, for whoever may hold the rollout to it."""


def preview_context(fleet: str) -> str:
    """Of the status that shows the verdict; of a Fleet, by name."""
    return f"gitops-mc/preview/{fleet}"


def marker(fleet: str) -> str:
    """The first line of the comment of a Fleet, which no reader sees."""
    return f"<!-- gitops-mc preview {fleet} -->"


def has_marker(body: str, fleet: str) -> bool:
    """Whether a comment begins as ours do; whose it is, is another question."""
    return body.lstrip("\ufeff").replace("\r\n", "\n").split("\n", 1)[0].strip() == marker(fleet)


def comment_body(fleet: str, head: Commit, base: Commit, markdown: str, longest: int) -> str:
    """At most `longest` bytes in UTF-8, so characters, too. Names what was compared: a comment may be older than the newest push."""
    compared = f"Fleet `{fleet}`: commit `{head[:_SHORT]}` merged into `{base[:_SHORT]}`"
    text = f"{compared}\n\n{markdown.strip()}\n"
    text = _within(text, longest - len(marker(fleet)) - _FRAME)
    digest = sha256(_READ_AT.sub("", text).encode("utf-8", "replace")).hexdigest()
    return f"{marker(fleet)}\n<!-- gitops-mc content {digest} -->\n{text}"


def says_the_same(shown: str, wanted: str) -> bool:
    """Whether a comment that stands needs no edit. Forges change line ends and blanks at ends; what they keep is the digest."""
    there, here = _DIGEST.search(shown), _DIGEST.search(wanted)
    return there is not None and here is not None and there[1] == here[1]


def preview_status(fleet: str, text: PreviewText) -> CommitStatus:
    """The verdict, beside the head."""
    return _status(_STATES[text.state], fleet, text.summary)


def preview_pending(fleet: str) -> CommitStatus:
    """While it is being made."""
    return _status(CommitState.PENDING, fleet, "the preview is being made")


def no_preview(why: str) -> PreviewText:
    """One that cannot be made shows why, and is not known."""
    said = plain(one_line(why))
    return PreviewText(
        f"**No preview could be made of this commit**, so nothing is known of what merging it does: {said}",
        f"unknown: no preview could be made: {why}",
        State.UNKNOWN,
    )


def plain(text: str) -> str:
    """Text in which nothing is markup, and nobody is mentioned: forges look for names in what is left when references are read."""
    return led(inline(text))


def _status(state: CommitState, fleet: str, text: str) -> CommitStatus:
    line = one_line(text)
    if len(line) > LONGEST_DESCRIPTION:
        line = line[: LONGEST_DESCRIPTION - len(_CUT)].rstrip() + _CUT
    return CommitStatus(state, preview_context(fleet), line)


def _within(text: str, longest: int) -> str:
    """What fits, to the end of a line; a block of code or a folded part that is cut open is closed."""
    data = text.encode("utf-8", "replace")
    if len(data) <= longest:
        return text
    room = longest - len(_LEFT_OUT.encode()) - ROOM // 2
    kept = data[: max(0, room)].decode("utf-8", "ignore").rpartition("\n")[0]
    fence = _open_fence(kept)
    folded = kept.count("<details>") - kept.count("</details>")
    closed = "\n\n</details>" * min(max(0, folded), 20)
    return f"{kept}{fence}{closed}{_LEFT_OUT}"


def _open_fence(text: str) -> str:
    """The line that ends the block of code which is open at the end of a text; empty: none is."""
    fence = ""
    for line in text.split("\n"):
        if (found := re.match(r" {0,3}(`{3,}|~{3,})", line)) is None:
            continue
        if not fence:
            fence = found[1]
        elif line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
    return f"\n{fence}" if fence else ""
