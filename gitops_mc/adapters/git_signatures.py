"""Whether somebody who is trusted signed a commit. GPG and SSH signatures; what is trusted is given, nothing is looked up.

A signature has to be good now: one made with a key that has expired or was revoked since is refused, since a date inside a
commit is whatever its author wrote.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from gitops_mc.adapters.git_access import Trust
from gitops_mc.adapters.git_errors import shown
from gitops_mc.adapters.git_private import Private
from gitops_mc.adapters.git_program import Bounds, Done, run
from gitops_mc.core.errors import SourceError

_HEADER: Final = b"gpgsig "
_GPG_BEGINS: Final = b"-----BEGIN PGP SIGNATURE-----"
_SSH_BEGINS: Final = b"-----BEGIN SSH SIGNATURE-----"


@dataclass(frozen=True, slots=True)
class Signed:
    """`by` names the key, and whom it belongs to as far as the trusted keys say so."""

    by: str


@dataclass(frozen=True, slots=True)
class Unproven:
    """Why the signature is not good enough, and what to do."""

    reason: str
    hint: str


@dataclass(frozen=True, slots=True)
class _Parts:
    signature: bytes
    payload: bytes
    signatures: int


def checked(raw: bytes, trust: Trust, held: Private, bounds: Bounds) -> Signed | Unproven:
    """`raw` is the commit object. Raises SourceError when gpg or ssh-keygen is missing, or the trusted keys are no keys."""
    parts = _parts(raw)
    if parts.signatures == 0:
        return Unproven("it is not signed", "sign it: git commit -S; a forge may sign its merges itself")
    if parts.signatures > 1:
        return Unproven("it carries more than one signature", "sign it once")
    if parts.signature.startswith(_GPG_BEGINS):
        return _gpg(parts, trust.gpg, held, bounds)
    if parts.signature.startswith(_SSH_BEGINS):
        return _ssh(parts, trust.ssh, held, bounds)
    return Unproven("its signature is neither of GPG nor of SSH", "sign it with one of these")


def _parts(raw: bytes) -> _Parts:
    """A commit without its signature is what was signed (git's signature-format documentation)."""
    head, separator, message = raw.partition(b"\n\n")
    kept: list[bytes] = []
    signature: list[bytes] = []
    count, inside = 0, False
    for line in head.split(b"\n"):
        if line.startswith(_HEADER):
            count, inside = count + 1, True
            signature.append(line.removeprefix(_HEADER))
        elif inside and line.startswith(b" "):
            signature.append(line[1:])
        else:
            inside = False
            kept.append(line)
    return _Parts(b"\n".join(signature) + b"\n", b"\n".join(kept) + separator + message, count)


def _gpg(parts: _Parts, keys: bytes, held: Private, bounds: Bounds) -> Signed | Unproven:
    if not keys.strip():
        return Unproven(
            "it is signed with GPG, and only SSH keys are trusted", "sign it with SSH (gpg.format)"
        )
    home = held.folder / "gpg"
    if not home.is_dir():
        home.mkdir(mode=0o700)
        gpg = _run_gpg(held, bounds, "--import", str(held.write("trusted.asc", keys)))
        if "IMPORT_OK" not in gpg.output.decode("utf-8", "replace"):
            raise SourceError(
                f"{held.called.trust} for GPG cannot be read: {shown(held.hide(gpg.errors))}",
                hint="give public keys, armored: gpg --armor --export KEY",
            )
    signature, payload = held.write("signature", parts.signature), held.write("payload", parts.payload)
    done = _run_gpg(held, bounds, "--verify", str(signature), str(payload))
    return _read_gpg(done.output.decode("utf-8", "replace"))


def _run_gpg(held: Private, bounds: Bounds, *command: str) -> Done:
    quiet = (
        "--batch",
        "--no-tty",
        "--no-options",
        "--no-autostart",
        "--no-auto-key-locate",
        "--disable-dirmngr",
    )
    trusting = (
        "--trust-model",
        "always",
        "--no-auto-key-retrieve",
        "--no-auto-check-trustdb",
        "--status-fd",
        "1",
    )
    home = ("--homedir", str(held.folder / "gpg"))
    return run(("gpg", *quiet, *trusting, *home, *command), held.environment, bounds, folder=held.folder)


_GPG_REFUSALS: Final = (
    ("REVKEYSIG", "it is signed by {by}, whose key was revoked", "sign it with a key that is good"),
    (
        "EXPKEYSIG",
        "it is signed by {by}, whose key has expired",
        "prolong the key and give its new public half, or sign it with another one",
    ),
    ("EXPSIG", "its signature by {by} has expired", "sign it anew"),
    ("BADSIG", "its signature by {by} does not fit: something was changed after it was made", "sign it anew"),
    (
        "NO_PUBKEY",
        "it is signed with the key {by}, which is not trusted",
        "was that the right person? Then add the public key to the trusted ones",
    ),
)


def _read_gpg(status: str) -> Signed | Unproven:
    """Of GnuPG's status lines (doc/DETAILS): good is exactly one signature, valid, by a key that is good now."""
    lines = [line.split(" ", 3)[1:] for line in status.splitlines() if line.startswith("[GNUPG:] ")]
    said = {words[0]: words[1:] for words in lines}
    for word, reason, hint in _GPG_REFUSALS:
        if word in said:
            return Unproven(reason.format(by=_plain(" ".join(said[word]))), hint)
    good = [words for words in lines if words[0] == "GOODSIG"]
    if len(good) != 1 or "VALIDSIG" not in said or "ERRSIG" in said:
        return Unproven("its GPG signature cannot be checked", "sign it once, with a usual algorithm")
    return Signed(f"{_plain(' '.join(good[0][2:]))} (GPG key {said['VALIDSIG'][0]})")


def _ssh(parts: _Parts, allowed: bytes, held: Private, bounds: Bounds) -> Signed | Unproven:
    if not allowed.strip():
        return Unproven("it is signed with SSH, and only GPG keys are trusted", "sign it with GPG")
    signers = str(held.write("allowed_signers", allowed))
    signature = str(held.write("signature", parts.signature))
    payload = held.write("payload", parts.payload)

    def keygen(act: str, *more: str) -> Done:
        command = ("ssh-keygen", "-Y", act, "-n", "git", "-s", signature, *more)
        return run(command, held.environment, bounds, folder=held.folder, reading=payload)

    made = keygen("check-novalidate")
    if made.status != 0:
        return Unproven(
            "its SSH signature does not fit: something was changed after it was made", "sign it anew"
        )
    found = re.search(r"with (\S+ key \S+)", made.output.decode("utf-8", "replace"))
    key = _plain(found[1]) if found else "a key"
    principals = keygen("find-principals", "-f", signers)
    refusal = ""
    for principal in principals.output.decode("utf-8", "replace").splitlines():
        done = keygen("verify", "-f", signers, "-I", principal)
        if done.status == 0:
            return Signed(f"{_plain(principal)} ({key})")
        refusal = refusal or done.errors
    if "expired" in refusal + principals.errors:
        return Unproven(
            f"it is signed with {key}, which has expired",
            "give that key a later valid-before, or sign it with another one",
        )
    return Unproven(
        f"it is signed with {key}, which no allowed signer has, or has for git, today",
        "was that the right person? Then add a line to the allowed signers",
    )


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)[:200]
