"""Files with credentials, and what people call what is in them: a file that holds a Secret is called by the Secret, which is what
can be mended, and not by its path, which nobody has made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_WANTED: Final = "give a file that holds nothing but a bearer token"
_NO_KUBECONFIG: Final = "give the file that kubectl uses, for example ~/.kube/config"


@dataclass(frozen=True, slots=True)
class NamedFile:
    """`called` is what messages say of it, and `hint` what to do when something is wrong with it."""

    path: Path
    called: str
    hint: str
    tried: str = ""
    """The command that shows whether a kubeconfig is good; empty where its user has no such file."""

    def __str__(self) -> str:
        return self.called


def token_file(path: Path) -> NamedFile:
    """One of the command line."""
    return NamedFile(path, f"the token file {path}", _WANTED)


def kubeconfig_file(path: Path) -> NamedFile:
    """One of the command line."""
    return NamedFile(path, f"the kubeconfig {path}", _NO_KUBECONFIG, f"kubectl --kubeconfig {path}")


def ca_file(path: Path) -> NamedFile:
    """One of the command line."""
    return NamedFile(path, f"the CA file {path}", "give a file with PEM certificates")
