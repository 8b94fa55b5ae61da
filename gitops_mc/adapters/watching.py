"""Files that change: the folder of a configuration, or the branches of its Git repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import watchfiles
from watchfiles import Change

_DEBOUNCE_MS = 300
"""An editor, or a checkout, writes many files at once; a run begins when they are quiet."""
_LOOK_MS = 200
_SCRATCH = re.compile(r"~$|\.sw[a-p]x?$|\.tmp$|\.part$|^\.#|^#.*#$|^4913$|^\.gitops-mc-state\.json")
"""What editors, and this program, write beside the files that matter."""
_GIT_FILES = ("HEAD", "packed-refs")


def changes(repo: Path, revision: str | None) -> Iterator[tuple[str, ...]]:
    """The files that changed, again and again, by name below `repo`. With a revision: what moves branches and tags.

    The first item says that watching has begun (and is mostly empty): what happens after it is not missed.
    """
    root = repo.resolve()
    git = _git_folder(root) if revision is not None else None

    def matters(_change: Change, path: str) -> bool:
        if git is not None:
            return moves_a_branch(Path(path), git)
        return is_configuration(Path(path), root)

    begun = False
    for found in watchfiles.watch(
        git or root,
        watch_filter=matters,
        debounce=_DEBOUNCE_MS,
        rust_timeout=_LOOK_MS,
        yield_on_timeout=True,
        raise_interrupt=True,
    ):
        if found or not begun:
            yield tuple(sorted({_below(Path(path), git or root) for _, path in found}))
        begun = True


def is_configuration(path: Path, root: Path) -> bool:
    """Whether a file may be part of a configuration: not in a hidden folder of the first level, and no scratch file."""
    parts = Path(_below(path, root)).parts
    if not parts or (len(parts) > 1 and parts[0].startswith(".")) or parts[0] == ".git":
        return False
    return not _SCRATCH.search(parts[-1])


def moves_a_branch(path: Path, git: Path) -> bool:
    parts = Path(_below(path, git)).parts
    return (
        bool(parts)
        and (parts[0] == "refs" or (parts == (parts[0],) and parts[0] in _GIT_FILES))
        and not (parts[-1].endswith(".lock"))
    )


def _git_folder(root: Path) -> Path | None:
    for above in (root, *root.parents):
        if (above / ".git").is_dir():
            return above / ".git"
    return root if (root / "HEAD").is_file() else None


def _below(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
