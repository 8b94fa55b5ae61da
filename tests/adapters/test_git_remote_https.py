"""HTTPS to a real Git server with a private CA: who is let in, who is believed, and what goes wrong on the way."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from gitops_mc.adapters import git_private
from gitops_mc.adapters.git_access import Access, Basic, Bearer, Credentials, SshKey
from gitops_mc.adapters.git_errors import fetch_error
from gitops_mc.adapters.git_remote import Limits, RemoteSource
from gitops_mc.core.errors import SourceError
from tests.adapters.git_servers import (
    CA,
    OTHER_CA,
    SECRET,
    Answer,
    Asked,
    GitServer,
    Origin,
    basic,
    guarded,
    origin,
    polled,
    serving,
    source,
    texts,
)

TOKEN = Access(Bearer(SECRET), CA)
PASSWORD = Access(Basic("robot", SECRET), CA)


@pytest.fixture
def fleet(tmp_path: Path) -> Origin:
    made = origin(tmp_path)
    made.commit("1")
    return made


@pytest.fixture
def server(fleet: Origin) -> Iterator[GitServer]:
    with serving(GitServer(), fleet.root) as found:
        yield found


def refused(of: RemoteSource) -> SourceError:
    """A poll that fails, and says so without a secret."""
    with pytest.raises(SourceError) as caught:
        polled(of)
    told = f"{caught.value} {caught.value.hint} {caught.value.__cause__!r} {caught.value.__context__!r}"
    assert SECRET not in told
    assert basic("robot", SECRET).removeprefix("Basic ") not in told
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("access", "wanted"),
    [(TOKEN, f"Bearer {SECRET}"), (PASSWORD, basic("robot", SECRET))],
    ids=["token", "basic"],
)
def test_a_token_and_a_password_let_in_and_are_sent_to_the_server_alone(
    access: Access, wanted: str, fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    server.answer = guarded(wanted)
    followed = source(server, tmp_path / "cache", access)
    assert polled(followed).commit == fleet.head()
    assert {asked.authorization for asked in server.asked} == {wanted}


@pytest.mark.parametrize(
    "access", [Access(ca=CA), Access(Bearer("wrong"), CA), Access(Basic("robot", "wrong"), CA)]
)
def test_who_is_not_let_in_is_told_so(access: Access, server: GitServer, tmp_path: Path) -> None:
    server.answer = guarded(f"Bearer {SECRET}")
    error = refused(source(server, tmp_path / "cache", access))
    assert "(401)" in error.message
    assert not error.transient


@pytest.mark.parametrize(
    ("status", "message", "transient"),
    [
        (403, "(403)", False),
        (404, "no such repository", False),
        (429, "left alone", True),
        (500, "unwell", True),
        (502, "unwell", True),
        (503, "unwell", True),
    ],
)
def test_a_status_of_the_server_is_told_in_words(
    status: int, message: str, transient: Literal[True, False], server: GitServer, tmp_path: Path
) -> None:
    server.answer = lambda _: Answer(status, body=b"<html>some words</html>")
    error = refused(source(server, tmp_path / "cache", TOKEN))
    assert message in error.message
    assert error.transient is transient


@pytest.mark.parametrize(
    "name",
    [
        "certificate",
        "timeout",
        "shallow",
        "access denied",
        "not our ref",
        "repository not found",
        "file too large",
    ],
)
def test_the_name_of_a_repository_is_not_taken_for_an_error(
    name: str, fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    path = name.replace(" ", "%20")
    server.answer = lambda _: Answer(503)
    followed = RemoteSource(f"{server.base}/{path}.git", tmp_path / "cache", lambda: TOKEN)
    assert "unwell" in refused(followed).message


def test_a_server_whose_own_disk_is_full_is_not_taken_for_ours() -> None:
    said = "remote: fatal: write error: No space left on device\nfatal: the remote end hung up unexpectedly\n"
    error = fetch_error("https://git.example.com/x", said)
    assert "connection broke" in error.message
    assert error.transient


def test_a_token_that_was_renewed_is_used_by_the_next_poll(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    tokens = ["first"]
    followed = RemoteSource(server.url, tmp_path / "cache", lambda: Access(Bearer(tokens[-1]), CA))
    server.answer = guarded("Bearer first")
    polled(followed)
    server.answer = guarded("Bearer second")
    assert "(401)" in refused(followed).message
    assert texts(followed.tree()) == {"a": "1"}
    tokens.append("second")
    head = fleet.commit("2")
    assert polled(followed).commit == head


def test_a_secret_that_cannot_be_read_is_told_and_nothing_is_sent(server: GitServer, tmp_path: Path) -> None:
    def read() -> Access:
        return Access(Bearer((tmp_path / "absent").read_text()), CA)

    assert "cannot be read" in refused(RemoteSource(server.url, tmp_path / "cache", read)).message
    assert server.asked == []


@pytest.mark.parametrize("ca", [b"", OTHER_CA], ids=["of the system", "another"])
def test_a_certificate_of_an_unknown_ca_is_refused_before_the_token_is_sent(
    ca: bytes, server: GitServer, tmp_path: Path
) -> None:
    error = refused(source(server, tmp_path / "cache", Access(Bearer(SECRET), ca)))
    assert "certificate" in error.message
    assert not error.transient
    assert server.asked == []


@pytest.mark.parametrize("certificate", ["expired.pem", "elsewhere.pem"])
def test_a_certificate_that_is_expired_or_for_another_name_is_refused(
    certificate: str, fleet: Origin, tmp_path: Path
) -> None:
    with serving(GitServer(), fleet.root, certificate) as server:
        assert "certificate" in refused(source(server, tmp_path / "cache", TOKEN)).message
        assert server.asked == []


def test_a_ca_that_was_renewed_is_used_by_the_next_poll(server: GitServer, tmp_path: Path) -> None:
    authorities = [OTHER_CA]
    followed = RemoteSource(server.url, tmp_path / "cache", lambda: Access(ca=authorities[-1]))
    assert "certificate" in refused(followed).message
    authorities.append(OTHER_CA + CA)
    polled(followed)


def test_a_ca_that_is_none_is_told(server: GitServer, tmp_path: Path) -> None:
    assert "CA" in refused(source(server, tmp_path / "cache", Access(ca=b"no certificate\n"))).message


def test_a_redirect_is_not_followed_and_takes_no_token_with_it(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    with serving(GitServer(), fleet.root) as other:
        for status in (301, 302, 307, 308):

            def away(asked: Asked, status: int = status) -> Answer:
                return Answer(status, (("Location", f"{other.base}{asked.path}?{asked.query}"),))

            server.answer = away
            error = refused(source(server, tmp_path / f"cache-{status}", TOKEN))
            assert "another address" in error.message
            assert not error.transient
        assert other.asked == []


def test_a_redirect_in_the_midst_of_a_fetch_takes_no_token_with_it_either(
    fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    with serving(GitServer(), fleet.root) as other:

        def answer(asked: Asked) -> Answer:
            if asked.method == "POST":
                return Answer(307, (("Location", f"{other.base}{asked.path}"),))
            return asked.backend()

        server.answer = answer
        assert "another address" in refused(source(server, tmp_path / "cache", TOKEN)).message
        assert other.asked == []


def test_a_server_that_is_down_is_told_and_what_was_read_stays(fleet: Origin, tmp_path: Path) -> None:
    with serving(GitServer(), fleet.root) as server:
        followed = source(server, tmp_path / "cache")
        polled(followed)
    error = refused(followed)
    assert "nobody answers" in error.message
    assert error.transient
    assert texts(followed.tree()) == {"a": "1"}


def test_a_host_that_has_no_address_is_told(tmp_path: Path) -> None:
    followed = RemoteSource("https://no-such-host.invalid/fleet.git", tmp_path, lambda: TOKEN)
    error = refused(followed)
    assert "cannot be resolved" in error.message
    assert error.transient


def hanging(until: threading.Event) -> Callable[[Asked], Answer]:
    """Answers the greeting, and then nothing any more."""

    def answer(asked: Asked) -> Answer:
        if asked.method == "POST":
            until.wait(30)
        return asked.backend()

    return answer


def test_a_server_that_hangs_is_given_up_in_time(server: GitServer, tmp_path: Path) -> None:
    over = threading.Event()
    server.answer = hanging(over)
    followed = source(server, tmp_path / "cache", TOKEN, limits=Limits(seconds=1.0))
    started = time.monotonic()
    error = refused(followed)
    assert time.monotonic() - started < 5
    assert "time for the poll was over" in error.message
    assert error.transient
    over.set()
    server.answer = lambda asked: asked.backend()
    polled(source(server, tmp_path / "other", TOKEN))


def test_a_server_that_never_says_hello_is_given_up_in_time(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"https://127.0.0.1:{listening.getsockname()[1]}/fleet.git"
        followed = RemoteSource(url, tmp_path, lambda: TOKEN, limits=Limits(seconds=1.0))
        assert refused(followed).transient


@pytest.mark.parametrize("part", [0.0, 0.5, 0.98])
def test_a_connection_that_breaks_in_mid_pack_leaves_the_last_good_commit(
    part: float, fleet: Origin, server: GitServer, tmp_path: Path
) -> None:
    followed = source(server, tmp_path / "cache")
    polled(followed)
    with Path("/dev/urandom").open("rb") as random:
        head = fleet.commit(random.read(200_000).hex(), name="big")

    def cut(asked: Asked) -> Answer:
        whole = asked.backend()
        return replace(whole, sent=int(len(whole.body) * part)) if len(whole.body) > 100_000 else whole

    server.answer = cut
    error = refused(followed)
    assert "connection broke" in error.message
    assert error.transient
    assert texts(followed.tree()) == {"a": "1"}
    server.answer = lambda asked: asked.backend()
    assert polled(followed).commit == head
    assert set(texts(followed.tree())) == {"a", "big"}


@pytest.mark.parametrize(
    "body", [b"", b"<html>log in</html>", b"0000", b"001e# service=git-upload-pack\n0000", b"\xff" * 1000]
)
def test_an_answer_that_is_no_git_is_an_error_and_never_an_empty_repository(
    body: bytes, server: GitServer, tmp_path: Path
) -> None:
    server.answer = lambda _: Answer(
        headers=(("Content-Type", "application/x-git-upload-pack-advertisement"),), body=body
    )
    followed = source(server, tmp_path / "cache")
    refused(followed)
    assert followed.standing() is None


def test_a_login_page_in_place_of_the_repository_is_an_error(server: GitServer, tmp_path: Path) -> None:
    server.answer = lambda _: Answer(headers=(("Content-Type", "text/html"),), body=b"<html>log in</html>")
    refused(source(server, tmp_path / "cache"))


def test_an_endless_list_of_references_is_given_up(server: GitServer, tmp_path: Path) -> None:
    line = b"0" * 40 + b" refs/heads/" + b"x" * 900 + b"\n"
    packet = b"%04x" % (len(line) + 4) + line

    def answer(asked: Asked) -> Answer:
        if asked.method == "GET":
            return asked.backend()
        return Answer(
            headers=(("Content-Type", "application/x-git-upload-pack-result"),),
            body=packet * 40_000 + b"0000",
        )

    server.answer = answer
    error = refused(source(server, tmp_path / "cache", ref="main"))
    assert "MiB" in error.message


def test_credentials_leave_no_trace_while_a_fetch_runs_or_after(
    server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looks at every process that was started, and at the cache, while the server keeps git waiting."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    monkeypatch.setattr(git_private, "_IN_MEMORY", shelf)
    seen: list[bytes] = []
    modes: set[int] = set()

    def answer(asked: Asked) -> Answer:
        if asked.method == "POST":
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    seen.append((process / "cmdline").read_bytes() + (process / "environ").read_bytes())
                except OSError:
                    continue
            modes.update(path.stat().st_mode & 0o077 for path in shelf.rglob("*"))
        return asked.backend()

    server.answer = answer
    polled(source(server, tmp_path / "cache", PASSWORD))
    everything = b"".join(seen) + b"".join(
        path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file()
    )
    assert b"git-remote-https" in everything or b"remote-https" in everything
    assert SECRET.encode() not in everything
    assert basic("robot", SECRET).removeprefix("Basic ").encode() not in everything
    assert modes == {0}
    assert list(shelf.iterdir()) == []


def test_a_users_configuration_does_not_reach_git(
    server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        f'[url "https://elsewhere.invalid/"]\n\tinsteadOf = {server.base}/\n[http]\n\tsslVerify = false\n'
    )
    (home / ".netrc").write_text("machine 127.0.0.1 login robot password of-the-user\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "http.sslVerify")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "false")
    monkeypatch.setenv("GIT_SSL_NO_VERIFY", "1")
    polled(source(server, tmp_path / "cache"))
    assert {asked.authorization for asked in server.asked} == {""}
    assert "certificate" in refused(source(server, tmp_path / "other", Access(ca=OTHER_CA))).message


def test_http_is_refused_unless_it_is_asked_for(fleet: Origin, tmp_path: Path) -> None:
    with serving(GitServer(), fleet.root, certificate="") as server:
        with pytest.raises(SourceError, match="http is refused"):
            RemoteSource(server.url, tmp_path / "cache")
        unprotected = RemoteSource(server.url, tmp_path / "cache", unprotected=frozenset({"http"}))
        assert polled(unprotected).commit == fleet.head()


def test_credentials_are_never_sent_over_http_to_another_machine(tmp_path: Path) -> None:
    followed = RemoteSource(
        "http://git.example.com/fleet.git", tmp_path, lambda: PASSWORD, unprotected=frozenset({"http"})
    )
    assert "not sent over http" in refused(followed).message


@pytest.mark.parametrize(
    "credentials", [SshKey(b"x"), Bearer("a\nX-Other: b"), Basic("robot", "pässword\n"), Bearer("\xff")]
)
def test_credentials_that_cannot_be_sent_are_refused_at_once(
    credentials: Credentials, server: GitServer, tmp_path: Path
) -> None:
    followed = source(server, tmp_path / "cache", Access(credentials, CA))
    if credentials == Basic("robot", "pässword\n"):
        polled(followed)  # as bytes in base64, whatever they are: the server judges them
        return
    refused(followed)
    assert server.asked == []
