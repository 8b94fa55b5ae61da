"""What git, ssh and a server say when a fetch fails, in the words of the product."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from gitops_mc.adapters.git_access import Called
from gitops_mc.adapters.git_program import UnansweredSourceError
from gitops_mc.core.errors import SourceError

_MOST_SHOWN: Final = 300


@dataclass(frozen=True, slots=True)
class _Row:
    said: re.Pattern[str]
    means: str
    hint: str
    kind: type[SourceError] = SourceError


def _row(said: str, means: str, hint: str, kind: type[SourceError] = SourceError) -> _Row:
    return _Row(re.compile(said, re.IGNORECASE), means, hint, kind)


_UNNAMED: Final = Called()
_HERE: Final = (
    _row(
        r"no space left on device|disk quota exceeded",
        "the disk of the cache is full",
        "make room in the cache folder; what was fetched before is still there",
    ),
    _row(
        r"file too large|file size limit|signal 25|exceeds maximum allowed size",
        "the repository is larger than is allowed",
        "take large files out of it: what nodes are given is small",
    ),
)
"""Of this machine: a server that says so of itself (`remote: ...`) does not mean ours."""

_THERE: Final = (
    _row(
        r"remote host identification has changed|host key for \S+ has changed",
        "another host key than the one in {known_hosts}: somebody may stand in between, or the server has a new key",
        "ask who runs the server; write the new key into {known_hosts} only after comparing its fingerprint",
    ),
    _row(
        r"host key verification failed|host key is known for",
        "the host key of the server is not in {known_hosts}",
        "add the line of ssh-keyscan to {known_hosts} after comparing its fingerprint with the published one",
    ),
    _row(
        r"no user exists for uid",
        "ssh does not run as a user without a name",
        "give the user of the container a line in /etc/passwd",
    ),
    _row(
        r"permission denied \(",
        "the server does not accept {key}",
        "is its public half registered as a deploy key of this repository, and is the user in the address right?",
    ),
    _row(
        r"certificate|no alternative .*subject name|ssl: no ",
        "the certificate of the server is not to be trusted",
        "give the CA that signed it, and write the name that it is made for; is it expired?",
    ),
    _row(
        r"returned error: 30\d|unable to update url base from redirection",
        "the server sends us to another address, which is not followed",
        "write the address that a browser ends at; some forges want the .git at its end",
    ),
    _row(
        r"returned error: 401|could not read username|could not read password|authentication failed|returned error: 407",
        "the server does not accept {credentials} (401)",
        "is the token expired, or revoked, or meant for a user name of its own?",
    ),
    _row(
        r"returned error: 403|http 403|access denied|not allowed to|permission to \S+ denied",
        "the server knows {credentials} and forbids the repository (403)",
        "give the token the right to read this repository",
    ),
    _row(
        r"returned error: 404|returned error: 410|repository (?:.* )?not found|could not be found|does not appear to be a git repository|does not exist",
        "there is no such repository, or it is hidden from these credentials",
        "check the path in the address, and that the credentials may read it",
    ),
    _row(
        r"not a git repository",
        "the address leads to a worktree whose repository is not there",
        "write the address of the repository itself",
    ),
    _row(
        r"invalid gitfile format",
        "the address leads to a file, and not to the folder of a repository",
        "write the address of the folder; of a bundle, clone it first (git clone --mirror) and name what that makes",
    ),
    _row(
        r"dubious ownership",
        "the repository belongs to another user than the one who reads it, and git does not trust that",
        "give its folder to that user (chown -R), or write its address at a server: https://... or ssh://...",
    ),
    _row(
        r"returned error: (?:429|408)",
        "the server asks to be left alone for a while",
        "poll less often; it goes on by itself",
        UnansweredSourceError,
    ),
    _row(
        r"returned error: 5\d\d|http 5\d\d",
        "the server says that it is unwell",
        "it goes on by itself when the server recovers",
        UnansweredSourceError,
    ),
    _row(
        r"couldn't find remote ref|no such remote ref|not our ref",
        "what was asked for has just gone from the server",
        "the next poll looks again",
        UnansweredSourceError,
    ),
    _row(
        r"transport '\S*' not allowed",
        "the server leads to a transport that is not allowed",
        "write the address of the repository itself",
    ),
    _row(
        r"could not resolve",
        "the name of the host cannot be resolved",
        "check the name in the address, and DNS",
        UnansweredSourceError,
    ),
    _row(
        r"operation too slow|timed out|timeout",
        "the server did not answer in time",
        "it goes on by itself when the server answers",
        UnansweredSourceError,
    ),
    _row(
        r"failed to connect|couldn't connect|connection refused|no route to host|network is unreachable",
        "nobody answers there",
        "it goes on by itself when the server is back; is the port right?",
        UnansweredSourceError,
    ),
    _row(
        r"unable to access|early eof|unexpected disconnect|rpc failed|hung up unexpectedly|index-pack failed|connection"
        r"|index-pack output|could not read from remote|bad line length|expected flush|bad pack header|protocol error"
        r"|unexpected response|invalid server response",
        "the connection broke, or what came over it was no whole answer",
        "it goes on by itself when the server answers again",
        UnansweredSourceError,
    ),
)


def fetch_error(url: str, said: str, called: Called = _UNNAMED) -> SourceError:
    """`said` is what the program wrote, without secrets."""
    names = {"credentials": called.credentials, "key": called.key, "known_hosts": called.known_hosts}
    words = own_words(url, said)
    ours = "\n".join(line for line in words.splitlines() if not line.startswith("remote:"))
    for rows, text in ((_HERE, ours), (_THERE, words)):
        for row in rows:
            if row.said.search(text):
                return row.kind(f"{url}: {row.means.format(**names)}", hint=row.hint.format(**names))
    return SourceError(f"{url}: git failed: {shown(said)}", hint="what git said is all that is known")


def own_words(url: str, said: str) -> str:
    """What a program said, without the names that others gave: the address, and what stands in quotes."""
    return re.sub(r"'[^'\n]*'", "''", said.replace(url.rstrip("/"), ""))


def shown(said: str) -> str:
    """One bounded line without control characters: some of it a server wrote."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines[-1:]
    text = "".join(c if c.isprintable() else "?" for c in "; ".join(told))
    return text[:_MOST_SHOWN] or "it said nothing"
