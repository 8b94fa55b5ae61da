"""SSH servers on loopback that serve Git: one of asyncssh, which tells what it was offered, and the real sshd where there is one."""

from __future__ import annotations

import asyncio
import getpass
import os
import shlex
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh

HOW_TO_GET_SSHD = "no sshd on this machine: apt-get install openssh-server (or have it in PATH)"


@dataclass
class SshServer:
    """What was offered to it, and what it does with a command."""

    root: Path
    host_key: asyncssh.SSHKey
    accepted: list[bytes] = field(default_factory=list)
    """Public keys, as lines."""
    port: int = 0
    offered: list[str] = field(default_factory=list)
    """Every user and public key that somebody wanted to log in with."""
    connections: int = 0
    commands: list[str] = field(default_factory=list)
    before: Callable[[], None] = lambda: None
    """Run in the thread of the server's loop before a command is carried out."""
    cut_after: int | None = None
    """Bytes of an answer after which the connection is dropped."""

    @property
    def url(self) -> str:
        return f"ssh://git@127.0.0.1:{self.port}/fleet.git"

    def known_hosts(self) -> bytes:
        return f"[127.0.0.1]:{self.port} ".encode() + self.host_key.export_public_key()


def key_pair() -> tuple[bytes, bytes]:
    """A private key as ssh-keygen writes it, and its public line."""
    made = asyncssh.generate_private_key("ssh-ed25519")
    return made.export_private_key(), made.export_public_key()


@contextmanager
def serving_ssh(server: SshServer) -> Iterator[SshServer]:
    """In a thread with a loop of its own."""
    ready = threading.Event()
    ends: list[Callable[[], object]] = []

    class Door(asyncssh.SSHServer):
        def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
            server.connections += 1

        def begin_auth(self, username: str) -> bool:
            server.offered.append(username)
            return True

        def public_key_auth_supported(self) -> bool:
            return True

        def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
            server.offered.append(key.export_public_key().decode())
            return key.export_public_key().split()[:2] in [line.split()[:2] for line in server.accepted]

    running: set[asyncio.Task[None]] = set()

    def carry_out(process: asyncssh.SSHServerProcess[bytes]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(_carry_out(server, process))
        running.add(task)
        task.add_done_callback(running.discard)
        return task

    async def serve() -> None:
        listening = await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=[server.host_key],
            server_factory=Door,
            process_factory=carry_out,
            encoding=None,
        )
        server.port = listening.sockets[0].getsockname()[1]
        over, loop = asyncio.Event(), asyncio.get_running_loop()
        ends.append(lambda: loop.call_soon_threadsafe(over.set))
        ready.set()
        await over.wait()
        listening.close()
        if running:  # their clients are gone: they end by themselves, and before their loop does
            await asyncio.wait(running, timeout=5)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield server
    finally:
        ends[0]()
        thread.join(10)


async def _carry_out(server: SshServer, process: asyncssh.SSHServerProcess[bytes]) -> None:
    """`git-upload-pack '/fleet.git'`, by the real one, below the served folder."""
    server.commands.append(process.command or "")
    await asyncio.to_thread(server.before)
    if process.channel.is_closing():
        return
    program, path = shlex.split(process.command or "")
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_PROTOCOL": process.env.get("GIT_PROTOCOL", ""),
    }
    made = await asyncio.create_subprocess_exec(
        *program.split("-", 1),
        str(server.root / path.lstrip("/")),
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert made.stdin is not None
    assert made.stdout is not None
    assert made.stderr is not None
    asking = asyncio.create_task(_pass_on(process, made.stdin))
    left = server.cut_after or 1 << 40
    try:
        while left > 0 and (data := await made.stdout.read(min(left, 65_536))):
            process.stdout.write(data)
            left -= len(data)
        if left > 0:
            process.stderr.write(await made.stderr.read())
            process.exit(await made.wait())
        else:
            process.channel.get_connection().abort()
    finally:
        asking.cancel()
        if made.returncode is None:
            made.kill()
        made.stdin.close()  # of one that has ended, too: as long as a pipe is open, so is what asyncio holds of the process
        with suppress(OSError):
            await made.stdin.wait_closed()
        await made.wait()


async def _pass_on(process: asyncssh.SSHServerProcess[bytes], into: asyncio.StreamWriter) -> None:
    with suppress(OSError, asyncssh.Error):
        while data := await process.stdin.read(65_536):
            into.write(data)
            await into.drain()
    into.close()


@dataclass(frozen=True, slots=True)
class RealSshd:
    """The real one, for the user of the tests and one key."""

    url: str
    known_hosts: bytes
    private: bytes


def sshd() -> str | None:
    """Where the program is: it is seldom in a user's PATH."""
    return shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin")


@contextmanager
def serving_sshd(program: str, folder: Path, repository: Path) -> Iterator[RealSshd]:
    host, allowed = asyncssh.generate_private_key("ssh-ed25519"), asyncssh.generate_private_key("ssh-ed25519")
    _private(folder / "host_key", host.export_private_key())
    _private(folder / "authorized_keys", allowed.export_public_key())
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "sshd_config").write_text(
        f"HostKey {folder}/host_key\nAuthorizedKeysFile {folder}/authorized_keys\nStrictModes no\nPidFile none\n"
        f"ListenAddress 127.0.0.1\nPort {port}\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
        "AcceptEnv GIT_PROTOCOL\nPermitRootLogin prohibit-password\n"
    )
    log = folder / "log"
    process = subprocess.Popen([program, "-D", "-E", str(log), "-f", str(folder / "sshd_config")])
    try:
        _wait_for(port, process, log)
        url = f"ssh://{getpass.getuser()}@127.0.0.1:{port}{repository}"
        known = f"[127.0.0.1]:{port} ".encode() + host.export_public_key()
        yield RealSshd(url, known, allowed.export_private_key())
    finally:
        process.terminate()
        process.wait()


def _private(path: Path, data: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(data)


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        if process.poll() is not None:
            raise AssertionError(f"sshd ended: {log.read_text() if log.exists() else process.returncode}")
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise AssertionError("sshd does not listen")
