"""Runs one program of the system (git, gpg, ssh-keygen) within bounds: of time, of what it says, and of what it writes.

Nothing that was started outlives its caller, not even when this process is killed: every program runs in a process group
of its own under a guard, and when this process is gone the guard ends that group.
"""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gitops_mc.core.errors import SourceError

_GUARD: Final = """\
ulimit -f "$1" 2>/dev/null || :
trap '' XFSZ
input=$2
shift 2
exec 3<&0
(read -r _ <&3; kill -KILL 0) &
guard=$!
"$@" <"$input" 3<&- &
wait $!
status=$?
kill "$guard"
exit "$status"
"""
"""Standard input is a pipe that nobody writes to: it ends when this process does. A limit that cannot be set is one that is lower
already. What exceeds it is told `File too large`, and not killed without a word."""

_BLOCK: Final = 512
_READ: Final = 65_536
_MOST_ERRORS: Final = 65_536

_PACKAGES: Final = {
    "sh": "a POSIX shell",
    "git": "git 2.32 or newer (Debian, Alpine: package git)",
    "ssh": "the OpenSSH client (Debian: openssh-client, Alpine: openssh-client-default)",
    "ssh-keygen": "ssh-keygen 8.2 or newer (Debian: openssh-client, Alpine: openssh-keygen)",
    "gpg": "GnuPG 2.2 or newer (Debian: gnupg, Alpine: gnupg)",
}


class UnansweredSourceError(SourceError):
    """Nothing, or nothing whole, came within the time; or the server says that it is unwell. The next poll may succeed."""

    transient = True


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one program may use up. `until` is a time of `time.monotonic`, the others are bytes."""

    until: float
    output: int = 16 << 20
    file: int = 1 << 40
    """Of any one file that it writes."""


@dataclass(frozen=True, slots=True)
class Done:
    """How a program ended. `status` is negative, or above 128, for one that a signal ended."""

    status: int
    output: bytes
    errors: str


def program(name: str) -> str:
    """Where a program is. Raises SourceError that says what to install."""
    found = shutil.which(name)
    if found is None:
        raise SourceError(f"the program {name} is not installed", hint=f"install {_PACKAGES[name]}")
    return found


def run(
    command: tuple[str, ...],
    environment: Mapping[str, str],
    bounds: Bounds,
    *,
    folder: Path,
    reading: Path = Path(os.devnull),
) -> Done:
    """Run it in a folder, with standard input from a file. Its name is looked up in PATH. Raises SourceError when it is not there,
    takes too long, or says too much.
    """
    name, *arguments = command
    guarded = [
        *(program("sh"), "-c", _GUARD, "guard", str(max(1, bounds.file // _BLOCK)), str(reading)),
        *(program(name), *arguments),
    ]
    with _started(guarded, environment, folder) as process:
        try:
            output, errors = _collect(process, name, bounds)
            status = process.wait(max(0.1, bounds.until - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise _too_long(name) from None
        finally:
            if (
                process.returncode is None
            ):  # not waited for: the group is its own yet, with whoever it has left in there
                os.killpg(process.pid, signal.SIGKILL)
    return Done(status, output, errors.decode("utf-8", "replace"))


def _started(command: list[str], environment: Mapping[str, str], folder: Path) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 - arguments, never a line that a shell would read
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise UnansweredSourceError(
            f"no program can be started: {error.strerror}", hint="are there processes and memory left?"
        ) from error


def _collect(process: subprocess.Popen[bytes], name: str, bounds: Bounds) -> tuple[bytes, bytes]:
    """All that it says until it has ended; of its errors only the beginning is kept."""
    assert process.stdout is not None
    assert process.stderr is not None
    output, errors = bytearray(), bytearray()
    with selectors.DefaultSelector() as waiting:
        for stream in (process.stdout, process.stderr):
            waiting.register(stream, selectors.EVENT_READ)
        while waiting.get_map():
            ready = waiting.select(max(0.0, bounds.until - time.monotonic()))
            if not ready and time.monotonic() >= bounds.until:
                raise _too_long(name)
            for key, _ in ready:
                data = os.read(key.fd, _READ)
                if not data:
                    waiting.unregister(key.fileobj)
                elif key.fd == process.stdout.fileno():
                    output += data
                elif len(errors) < _MOST_ERRORS:
                    errors += data
            if len(output) > bounds.output:
                raise SourceError(
                    f"{name} was told more than {bounds.output >> 20} MiB where a few lines are usual",
                    hint="does the repository have very many branches and tags? Name the branch to follow",
                )
    return bytes(output), bytes(errors)


def _too_long(name: str) -> UnansweredSourceError:
    return UnansweredSourceError(
        f"{name} had not finished when the time for the poll was over",
        hint="does the server answer, and is the repository of a sensible size?",
    )
