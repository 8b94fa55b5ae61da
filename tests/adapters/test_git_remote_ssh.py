"""SSH: who answers is checked before anything is offered to them, and only the one key that was given is offered."""

from __future__ import annotations

import base64
import hashlib
import hmac
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest

from gitops_mc.adapters.git_access import Access, Basic, SshKey, ssh_key
from gitops_mc.adapters.git_remote import Limits, RemoteSource
from gitops_mc.core.errors import SourceError
from tests.adapters.git_servers import Origin, origin, polled, texts
from tests.adapters.git_ssh_servers import (
    HOW_TO_GET_SSHD,
    SshServer,
    key_pair,
    serving_ssh,
    serving_sshd,
    sshd,
)

PRIVATE, PUBLIC = key_pair()
OTHER_PRIVATE, OTHER_PUBLIC = key_pair()


@pytest.fixture
def fleet(tmp_path: Path) -> Origin:
    made = origin(tmp_path)
    made.commit("1")
    return made


@pytest.fixture
def server(fleet: Origin) -> Iterator[SshServer]:
    made = SshServer(fleet.root, asyncssh.generate_private_key("ssh-ed25519"), [PUBLIC])
    with serving_ssh(made) as found:
        yield found


def source(
    server: SshServer, cache: Path, access: Access | None = None, limits: Limits | None = None
) -> RemoteSource:
    given = access or Access(SshKey(PRIVATE), known_hosts=server.known_hosts())
    return RemoteSource(server.url, cache, lambda: given, limits=limits or Limits(seconds=60))


def refused(of: RemoteSource) -> SourceError:
    with pytest.raises(SourceError) as caught:
        polled(of)
    assert "PRIVATE KEY" not in f"{caught.value} {caught.value.hint} {caught.value.__cause__!r}"
    assert caught.value.hint
    return caught.value


def test_a_repository_is_read_over_ssh(fleet: Origin, server: SshServer, tmp_path: Path) -> None:
    first = fleet.head()
    followed = source(server, tmp_path / "cache")
    assert polled(followed).commit == first
    head = fleet.commit("2")
    found = polled(followed, first)
    assert (found.commit, found.rewritten) == (head, False)
    assert texts(followed.tree()) == {"a": "2"}
    assert {command.split()[0] for command in server.commands} == {"git-upload-pack"}


def test_only_the_given_key_is_offered_whatever_an_agent_holds(
    server: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    socket = tmp_path / "a"
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL) as agent:
        try:
            monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
            while (
                subprocess.run(["ssh-add", "-l"], capture_output=True, check=False).returncode == 2
            ):  # no agent yet
                assert agent.poll() is None
                time.sleep(0.01)
            subprocess.run(["ssh-add", "-q", "-"], input=OTHER_PRIVATE, check=True)
            polled(source(server, tmp_path / "cache"))
        finally:
            agent.terminate()
    assert {" ".join(offered.split()[:2]) for offered in server.offered} == {
        "git",
        " ".join(PUBLIC.decode().split()[:2]),
    }


def test_a_host_key_that_is_not_known_is_refused_before_anything_is_offered(
    server: SshServer, tmp_path: Path
) -> None:
    elsewhere = b"git.example.com " + server.host_key.export_public_key()
    error = refused(source(server, tmp_path / "cache", Access(SshKey(PRIVATE), known_hosts=elsewhere)))
    assert "not in known_hosts" in error.message
    assert not error.transient
    assert server.connections == 1
    assert server.offered == []


def test_a_host_key_that_has_changed_is_refused_before_anything_is_offered(
    server: SshServer, tmp_path: Path
) -> None:
    other = asyncssh.generate_private_key("ssh-ed25519").export_public_key()
    known = f"[127.0.0.1]:{server.port} ".encode() + other
    error = refused(source(server, tmp_path / "cache", Access(SshKey(PRIVATE), known_hosts=known)))
    assert "another host key" in error.message
    assert not error.transient
    assert server.connections == 1
    assert server.offered == []


def test_a_users_known_hosts_and_configuration_are_not_read(
    server: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "config").write_text("Host *\n\tStrictHostKeyChecking no\n")
    (home / ".ssh" / "known_hosts").write_bytes(server.known_hosts())
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_SSH_COMMAND", "ssh -o StrictHostKeyChecking=no")
    elsewhere = b"git.example.com " + server.host_key.export_public_key()
    refused(source(server, tmp_path / "cache", Access(SshKey(PRIVATE), known_hosts=elsewhere)))
    assert server.offered == []


@pytest.mark.parametrize("known_hosts", [b"", b" \n"])
def test_without_known_hosts_nobody_is_asked(known_hosts: bytes, server: SshServer, tmp_path: Path) -> None:
    error = refused(source(server, tmp_path / "cache", Access(SshKey(PRIVATE), known_hosts=known_hosts)))
    assert "no host keys are known" in error.message
    assert server.connections == 0


def test_known_hosts_of_hashed_names_are_understood(server: SshServer, tmp_path: Path) -> None:
    salt = b"0" * 20
    name = hmac.new(salt, f"[127.0.0.1]:{server.port}".encode(), hashlib.sha1).digest()
    line = b"|1|%s|%s " % (base64.b64encode(salt), base64.b64encode(name))
    known = line + server.host_key.export_public_key()
    polled(source(server, tmp_path / "cache", Access(SshKey(PRIVATE), known_hosts=known)))


def test_a_key_that_the_server_does_not_know_is_told(server: SshServer, tmp_path: Path) -> None:
    error = refused(
        source(server, tmp_path / "cache", Access(SshKey(OTHER_PRIVATE), known_hosts=server.known_hosts()))
    )
    assert "does not accept the key" in error.message
    assert not error.transient


def test_a_key_that_was_renewed_is_used_by_the_next_poll(
    fleet: Origin, server: SshServer, tmp_path: Path
) -> None:
    keys = [PRIVATE]
    followed = RemoteSource(
        server.url, tmp_path / "cache", lambda: Access(SshKey(keys[-1]), known_hosts=server.known_hosts())
    )
    polled(followed)
    server.accepted = [OTHER_PUBLIC]
    assert "does not accept the key" in refused(followed).message
    keys.append(OTHER_PRIVATE)
    head = fleet.commit("2")
    assert polled(followed).commit == head


@pytest.mark.parametrize("form", ["RFC4716", "PKCS8", "PEM"])
def test_a_key_with_a_passphrase_is_told_before_it_is_used(form: str, tmp_path: Path) -> None:
    for passphrase in ("a passphrase", ""):
        file = tmp_path / f"key{len(passphrase)}"
        kind = ("-t", "rsa", "-b", "2048") if form != "RFC4716" else ("-t", "ed25519")
        made = ["ssh-keygen", "-q", *kind, "-m", form, "-N", passphrase, "-f", str(file)]
        subprocess.run(made, check=True)
        if passphrase:
            with pytest.raises(SourceError, match="locked with a passphrase"):
                ssh_key(file.read_bytes())
        else:
            assert ssh_key(file.read_bytes().replace(b"\n", b"\r\n")) == SshKey(file.read_bytes())
    with pytest.raises(SourceError, match="is no private SSH key"):
        ssh_key((tmp_path / "key0.pub").read_bytes())


def test_a_password_does_not_go_over_ssh(server: SshServer, tmp_path: Path) -> None:
    access = Access(Basic("git", "x"), known_hosts=server.known_hosts())
    assert "private key" in refused(source(server, tmp_path / "cache", access)).message
    assert server.connections == 0


def test_an_ssh_server_that_is_down_is_told(fleet: Origin, tmp_path: Path) -> None:
    with serving_ssh(SshServer(fleet.root, asyncssh.generate_private_key("ssh-ed25519"), [PUBLIC])) as server:
        followed = source(server, tmp_path / "cache")
        polled(followed)
    error = refused(followed)
    assert "nobody answers" in error.message
    assert error.transient
    assert texts(followed.tree()) == {"a": "1"}


def test_an_ssh_server_that_hangs_is_given_up_in_time(server: SshServer, tmp_path: Path) -> None:
    over = threading.Event()

    def wait() -> None:
        over.wait(30)

    server.before = wait
    followed = source(server, tmp_path / "cache", limits=Limits(seconds=1.5))
    started = time.monotonic()
    error = refused(followed)
    over.set()
    assert time.monotonic() - started < 6
    assert error.transient


def test_an_ssh_connection_that_breaks_in_mid_pack_leaves_the_last_good_commit(
    fleet: Origin, server: SshServer, tmp_path: Path
) -> None:
    followed = source(server, tmp_path / "cache")
    polled(followed)
    with Path("/dev/urandom").open("rb") as random:
        head = fleet.commit(random.read(200_000).hex(), name="big")
    server.cut_after = 50_000
    error = refused(followed)
    assert error.transient
    assert texts(followed.tree()) == {"a": "1"}
    server.cut_after = None
    assert polled(followed).commit == head


def test_a_repository_that_is_not_there_is_told_over_ssh(server: SshServer, tmp_path: Path) -> None:
    given = Access(SshKey(PRIVATE), known_hosts=server.known_hosts())
    followed = RemoteSource(server.url.replace("fleet", "absent"), tmp_path / "cache", lambda: given)
    assert "no such repository" in refused(followed).message


def test_the_real_sshd_is_read_and_its_host_key_is_checked(fleet: Origin, tmp_path: Path) -> None:
    program = sshd()
    if program is None:
        pytest.skip(HOW_TO_GET_SSHD)
    folder = tmp_path / "sshd"
    folder.mkdir()
    with serving_sshd(program, folder, fleet.root / "fleet.git") as real:
        access = Access(SshKey(real.private), known_hosts=real.known_hosts)
        followed = RemoteSource(real.url, tmp_path / "cache", lambda: access)
        assert polled(followed).commit == fleet.head()
        head = fleet.commit("2")
        assert polled(followed).commit == head
        stranger = asyncssh.generate_private_key("ssh-ed25519").export_public_key()
        changed = replace(access, known_hosts=real.known_hosts.split(b" ")[0] + b" " + stranger)
        assert "another host key" in refused(RemoteSource(real.url, tmp_path / "x", lambda: changed)).message
        wrong = replace(access, credentials=SshKey(OTHER_PRIVATE))
        assert "does not accept" in refused(RemoteSource(real.url, tmp_path / "y", lambda: wrong)).message
