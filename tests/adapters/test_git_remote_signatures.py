"""Signatures of commits, made by the real gpg and ssh-keygen: what is trusted, what is refused, and what is said of it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gitops_mc.adapters.git_access import Access, Trust
from gitops_mc.adapters.git_remote import Limits, RemoteSource
from gitops_mc.app.ports import NotAccepted
from gitops_mc.core.errors import SourceError
from tests.adapters.git_servers import ENVIRONMENT, Origin, origin, polled, texts

ALICE, MALLORY = "Alice <alice@example.com>", "Mallory <mallory@example.com>"


@dataclass
class Gpg:
    """People with GPG keys, in a home of their own."""

    home: Path

    def run(self, *arguments: str, given: bytes = b"") -> bytes:
        command = ["gpg", "--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", "", *arguments]
        return subprocess.run(
            command,
            env={**ENVIRONMENT, "GNUPGHOME": str(self.home)},
            input=given,
            capture_output=True,
            check=True,
        ).stdout

    def make(self, who: str, *, ends: str = "never", since: str = "") -> str:
        """A key, by its fingerprint. `since` (20260101T000000) is when it says that it was made."""
        faked = ("--faked-system-time", since) if since else ()
        self.run(*faked, "--quick-generate-key", who, "ed25519", "sign", ends)
        listed = self.run("--list-keys", "--with-colons", who).decode().splitlines()
        return next(line.split(":")[9] for line in listed if line.startswith("fpr"))

    def public(self, *keys: str) -> bytes:
        return self.run("--armor", "--export", *keys)

    def signing(self, key: str) -> tuple[str, ...]:
        return ("-c", f"user.signingKey={key}", "-c", "gpg.program=gpg")


@pytest.fixture(scope="module")
def gpg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gpg]:
    home = Path(tmp_path_factory.mktemp("g"))
    home.chmod(0o700)
    yield Gpg(home)
    subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False)


@dataclass(frozen=True, slots=True)
class Keys:
    """Fingerprints."""

    alice: str
    mallory: str


@pytest.fixture(scope="module")
def keys(gpg: Gpg) -> Keys:
    return Keys(gpg.make(ALICE), gpg.make(MALLORY))


@pytest.fixture
def fleet(tmp_path: Path) -> Origin:
    return origin(tmp_path)


class Followed:
    """A source whose trusted keys can be exchanged."""

    def __init__(self, fleet: Origin, cache: Path, trust: Trust | None) -> None:
        self.trust = trust
        self.source = RemoteSource(
            (fleet.root / "fleet.git").as_uri(),
            cache,
            lambda: Access(trust=self.trust),
            limits=Limits(seconds=60),
            unprotected=frozenset({"file"}),
        )

    def good(self) -> str:
        return polled(self.source).signer

    def refused(self) -> NotAccepted:
        found = self.source.poll()
        assert isinstance(found, NotAccepted), found
        assert found.hint
        return found


def gpg_commit(fleet: Origin, gpg: Gpg, key: str, text: str = "x", **environment: str) -> str:
    (fleet.work / "a").write_text(text)
    fleet.git("add", "-A")
    message = ("commit", "-q", "--allow-empty", "-S", "-m", text)
    fleet.git(*gpg.signing(key), *message, GNUPGHOME=str(gpg.home), **environment)
    return fleet.head()


def test_a_commit_that_a_trusted_gpg_key_signed_is_accepted_and_its_signer_named(
    fleet: Origin, gpg: Gpg, keys: Keys, tmp_path: Path
) -> None:
    head = gpg_commit(fleet, gpg, keys.alice)
    followed = Followed(fleet, tmp_path / "cache", Trust(gpg=gpg.public(keys.mallory, keys.alice)))
    assert followed.good() == f"{ALICE} (GPG key {keys.alice})"
    assert followed.source.standing() == head


def test_keys_may_be_given_one_after_the_other(fleet: Origin, gpg: Gpg, keys: Keys, tmp_path: Path) -> None:
    gpg_commit(fleet, gpg, keys.alice)
    both = gpg.public(keys.mallory) + gpg.public(keys.alice)
    assert ALICE in Followed(fleet, tmp_path / "cache", Trust(gpg=both)).good()


def test_a_commit_without_a_signature_is_refused_and_the_last_good_one_stays(
    fleet: Origin, gpg: Gpg, keys: Keys, tmp_path: Path
) -> None:
    good = gpg_commit(fleet, gpg, keys.alice, "signed")
    followed = Followed(fleet, tmp_path / "cache", Trust(gpg=gpg.public(keys.alice)))
    followed.good()
    bad = fleet.commit("unsigned")
    for _ in range(2):
        found = followed.refused()
        assert (found.commit, found.standing, found.reason) == (bad, good, "it is not signed")
    assert texts(followed.source.tree()) == {"a": "signed"}
    with pytest.raises(SourceError, match="is not kept"):
        followed.source.tree(bad)
    repaired = gpg_commit(fleet, gpg, keys.alice, "signed again")
    followed.good()
    assert followed.source.standing() == repaired


def test_the_first_commit_of_all_is_refused_too(fleet: Origin, gpg: Gpg, keys: Keys, tmp_path: Path) -> None:
    fleet.commit("unsigned")
    followed = Followed(fleet, tmp_path / "cache", Trust(gpg=gpg.public(keys.alice)))
    assert followed.refused().standing is None
    with pytest.raises(SourceError, match="no commit has been fetched and accepted"):
        followed.source.tree()


def test_a_commit_that_another_gpg_key_signed_is_refused_with_that_key(
    fleet: Origin, gpg: Gpg, keys: Keys, tmp_path: Path
) -> None:
    gpg_commit(fleet, gpg, keys.mallory)
    found = Followed(fleet, tmp_path / "cache", Trust(gpg=gpg.public(keys.alice))).refused()
    assert keys.mallory[-16:] in found.reason
    assert "not trusted" in found.reason


def test_a_refused_commit_is_accepted_once_its_key_is_trusted(
    fleet: Origin, gpg: Gpg, keys: Keys, tmp_path: Path
) -> None:
    gpg_commit(fleet, gpg, keys.mallory)
    followed = Followed(fleet, tmp_path / "cache", Trust(gpg=gpg.public(keys.alice)))
    followed.refused()
    followed.trust = Trust(gpg=gpg.public(keys.alice, keys.mallory))
    assert MALLORY in followed.good()


def test_a_commit_whose_key_is_trusted_no_more_is_refused_though_nothing_has_moved(
    fleet: Origin, gpg: Gpg, keys: Keys, tmp_path: Path
) -> None:
    head = gpg_commit(fleet, gpg, keys.mallory)
    followed = Followed(fleet, tmp_path / "cache", Trust(gpg=gpg.public(keys.alice, keys.mallory)))
    followed.good()
    followed.trust = Trust(gpg=gpg.public(keys.alice))
    found = followed.refused()
    assert (found.commit, found.standing) == (head, head)


def test_a_commit_is_refused_when_signatures_are_asked_for_later(
    fleet: Origin, gpg: Gpg, keys: Keys, tmp_path: Path
) -> None:
    fleet.commit("unsigned")
    followed = Followed(fleet, tmp_path / "cache", None)
    assert followed.good() == ""
    followed.trust = Trust(gpg=gpg.public(keys.alice))
    assert followed.refused().reason == "it is not signed"


def test_a_gpg_key_that_has_expired_is_refused_even_for_a_commit_of_when_it_was_good(
    fleet: Origin, gpg: Gpg, tmp_path: Path
) -> None:
    expired = gpg.make("Olga <olga@example.com>", ends="20200601T000000", since="20200101T000000")
    wrapper = tmp_path / "gpg-of-2020"
    wrapper.write_text('#!/bin/sh\nexec gpg --faked-system-time 20200301T000000 "$@"\n')
    wrapper.chmod(0o755)
    (fleet.work / "a").write_text("old")
    fleet.git("add", "-A")
    signing = ("-c", f"user.signingKey={expired}", "-c", f"gpg.program={wrapper}")
    fleet.git(*signing, "commit", "-q", "-S", "-m", "old", GNUPGHOME=str(gpg.home))
    found = Followed(fleet, tmp_path / "cache", Trust(gpg=gpg.public(expired))).refused()
    assert "Olga" in found.reason
    assert "expired" in found.reason


def test_a_gpg_key_that_was_revoked_is_refused(fleet: Origin, gpg: Gpg, tmp_path: Path) -> None:
    revoked = gpg.make("Rita <rita@example.com>")
    gpg_commit(fleet, gpg, revoked)
    certificate = (gpg.home / "openpgp-revocs.d" / f"{revoked}.rev").read_text().replace(":-----", "-----")
    gpg.run("--import", given=certificate.encode())
    found = Followed(fleet, tmp_path / "cache", Trust(gpg=gpg.public(revoked))).refused()
    assert "revoked" in found.reason


def forged(fleet: Origin, **changes: bytes) -> None:
    """Put another commit object in the place of the newest one, signature kept."""
    raw = subprocess.run(
        ["git", "-C", str(fleet.work), "cat-file", "commit", "HEAD"],
        env=ENVIRONMENT,
        capture_output=True,
        check=True,
    ).stdout
    for old, new in changes.items():
        raw = raw.replace(old.encode(), new)
    (fleet.work / ".forged").write_bytes(raw)
    made = fleet.git("hash-object", "-t", "commit", "-w", "--literally", ".forged")
    (fleet.work / ".forged").unlink()
    fleet.rewrite(made)


def test_a_commit_that_was_changed_after_it_was_signed_is_refused(
    fleet: Origin, gpg: Gpg, keys: Keys, tmp_path: Path
) -> None:
    gpg_commit(fleet, gpg, keys.alice, "harmless")
    forged(fleet, harmless=b"harmful")
    found = Followed(fleet, tmp_path / "cache", Trust(gpg=gpg.public(keys.alice))).refused()
    assert "does not fit" in found.reason


def test_a_second_signature_does_not_help(fleet: Origin, gpg: Gpg, keys: Keys, tmp_path: Path) -> None:
    gpg_commit(fleet, gpg, keys.alice)
    forged(fleet, gpgsig=b"gpgsig x\ngpgsig")
    found = Followed(fleet, tmp_path / "cache", Trust(gpg=gpg.public(keys.alice))).refused()
    assert "more than one" in found.reason


def test_a_key_in_the_users_own_keyring_is_not_trusted(
    fleet: Origin, gpg: Gpg, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GNUPGHOME", str(gpg.home))
    gpg_commit(fleet, gpg, keys.mallory)
    assert (
        "not trusted"
        in Followed(fleet, tmp_path / "cache", Trust(gpg=gpg.public(keys.alice))).refused().reason
    )


@pytest.mark.parametrize(
    "given",
    [b"no keys at all", b"-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n-----END PGP PUBLIC KEY BLOCK-----\n"],
)
def test_keys_that_are_none_are_an_error_of_their_own(
    given: bytes, fleet: Origin, gpg: Gpg, keys: Keys, tmp_path: Path
) -> None:
    gpg_commit(fleet, gpg, keys.alice)
    with pytest.raises(SourceError, match="the keys to trust for GPG cannot be read"):
        Followed(fleet, tmp_path / "cache", Trust(gpg=given)).source.poll()


def test_trusting_nobody_is_no_trust() -> None:
    with pytest.raises(SourceError, match="nobody is trusted"):
        Trust(gpg=b" \n", ssh=b"")


@dataclass(frozen=True, slots=True)
class SshSigner:
    """A key for signing."""

    file: Path
    public: str

    def allowed(self, options: str = "") -> bytes:
        return f"alice@example.com {options} {self.public}\n".encode()

    def signing(self) -> tuple[str, ...]:
        return ("-c", "gpg.format=ssh", "-c", f"user.signingKey={self.file}")


def ssh_signer(folder: Path, name: str) -> SshSigner:
    file = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(file)], check=True)
    return SshSigner(file, " ".join(file.with_suffix(".pub").read_text().split()[:2]))


@pytest.fixture(scope="module")
def alice(tmp_path_factory: pytest.TempPathFactory) -> SshSigner:
    return ssh_signer(tmp_path_factory.mktemp("s"), "alice")


@pytest.fixture(scope="module")
def mallory(tmp_path_factory: pytest.TempPathFactory) -> SshSigner:
    return ssh_signer(tmp_path_factory.mktemp("s"), "mallory")


def test_a_commit_that_an_allowed_ssh_signer_signed_is_accepted_and_its_signer_named(
    fleet: Origin, alice: SshSigner, mallory: SshSigner, tmp_path: Path
) -> None:
    fleet.commit("x", sign=alice.signing())
    for number, options in enumerate(("", 'namespaces="git"', 'valid-after="20200101"')):
        lines = b"# who may\n" + mallory.allowed() + alice.allowed(options)
        signer = Followed(fleet, tmp_path / f"cache-{number}", Trust(ssh=lines)).good()
        assert signer.startswith("alice@example.com (ED25519 key SHA256:")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ('valid-before="20200101"', "expired"),
        ('valid-after="20990101"', "today"),
        ('namespaces="file"', "for git"),
    ],
)
def test_a_line_that_is_not_for_now_or_not_for_git_allows_nothing(
    options: str, reason: str, fleet: Origin, alice: SshSigner, tmp_path: Path
) -> None:
    fleet.commit("x", sign=alice.signing())
    found = Followed(fleet, tmp_path / "cache", Trust(ssh=alice.allowed(options))).refused()
    assert reason in found.reason


def test_a_commit_dated_back_to_when_its_ssh_key_was_good_is_refused(
    fleet: Origin, alice: SshSigner, tmp_path: Path
) -> None:
    (fleet.work / "a").write_text("x")
    fleet.git("add", "-A")
    date = "2019-06-01T00:00:00Z"
    fleet.git(
        *alice.signing(), "commit", "-q", "-S", "-m", "x", GIT_COMMITTER_DATE=date, GIT_AUTHOR_DATE=date
    )
    trust = Trust(ssh=alice.allowed('valid-before="20200101"'))
    assert "expired" in Followed(fleet, tmp_path / "cache", trust).refused().reason


def test_a_commit_that_another_ssh_key_signed_is_refused_with_that_key(
    fleet: Origin, alice: SshSigner, mallory: SshSigner, tmp_path: Path
) -> None:
    fleet.commit("x", sign=mallory.signing())
    shown = subprocess.run(
        ["ssh-keygen", "-lf", str(mallory.file.with_suffix(".pub"))],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()[1]
    found = Followed(fleet, tmp_path / "cache", Trust(ssh=alice.allowed())).refused()
    assert shown in found.reason


def test_a_commit_changed_after_an_ssh_key_signed_it_is_refused(
    fleet: Origin, alice: SshSigner, tmp_path: Path
) -> None:
    fleet.commit("harmless", sign=alice.signing())
    forged(fleet, harmless=b"harmful")
    found = Followed(fleet, tmp_path / "cache", Trust(ssh=alice.allowed())).refused()
    assert "does not fit" in found.reason


def test_a_signature_of_a_kind_that_is_not_trusted_is_refused(
    fleet: Origin, gpg: Gpg, keys: Keys, alice: SshSigner, tmp_path: Path
) -> None:
    fleet.commit("x", sign=alice.signing())
    only_gpg = Trust(gpg=gpg.public(keys.alice))
    assert "only GPG keys are trusted" in Followed(fleet, tmp_path / "a", only_gpg).refused().reason
    assert Followed(fleet, tmp_path / "b", Trust(gpg.public(keys.alice), alice.allowed())).good()
    gpg_commit(fleet, gpg, keys.alice, "y")
    assert (
        "only SSH keys are trusted"
        in Followed(fleet, tmp_path / "c", Trust(ssh=alice.allowed())).refused().reason
    )


@pytest.mark.parametrize("missing", ["git", "gpg", "ssh-keygen", "sh"])
def test_a_program_that_is_missing_is_told_with_what_to_install(
    missing: str, gpg: Gpg, keys: Keys, alice: SshSigner, tmp_path: Path
) -> None:
    fleet = origin(tmp_path)
    if missing == "ssh-keygen":
        fleet.commit("x", sign=alice.signing())
    else:
        gpg_commit(fleet, gpg, keys.alice)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in {"git", "gpg", "ssh-keygen", "sh"} - {missing}:
        (programs / name).symlink_to(str(shutil.which(name)))
    followed = Followed(fleet, tmp_path / "cache", Trust(b"x", alice.allowed()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(programs))
        with pytest.raises(SourceError) as caught:
            followed.source.poll()
    assert f"the program {missing} is not installed" in caught.value.message
    assert "install" in caught.value.hint
