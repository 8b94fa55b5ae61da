"""Credentials by their looks: what no output may show, even where nobody has named the value.

The redactor knows the values that the repository marks as sensitive. A token in an error of an HTTP library, a password in the
address of a repository or a key in a traceback is in none of them; those are known by their form.
"""

from __future__ import annotations

import re

HIDDEN = "[hidden]"

_HEADERS = (
    "authorization|proxy-authorization|cookie|set-cookie|x-gitlab-token|private-token|x-api-key"
    "|x-hub-signature(?:-256)?|x-gitea-signature|x-forgejo-signature|x-signature-256"
)
_WORDS = "(?:password|passwd|token|secret|api[_-]?key|private[_-]?key)"
_QUOTE = r"""(?:b?\\*['"])"""
_REST_OF_STRING = r"""[^'"\r\n\\]+"""
_ONE_WORD = r"""[^\s'"\\,;&]+"""

_FORMS = (
    # a whole private key, or what is left of it when its end was cut off
    re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    # `Authorization: ...` as a header, in a dict, in JSON: all there is to the end of the line or the string
    re.compile(rf"(\b(?:{_HEADERS})\b{_QUOTE}?\s*[:=,]\s*{_QUOTE}?){_REST_OF_STRING}", re.IGNORECASE),
    # no word of prose (`bearer authentication`): it has a capital, a digit or a sign in it
    re.compile(r"(\b(?i:bearer|basic)\s+)(?=[A-Za-z-]{0,80}[A-Z0-9._~+/=])[A-Za-z0-9._~+/=-]{6,}"),
    # user:password@ of a URL, a token alone before the @ included; `ssh://git@` is how every forge is reached, and no credential
    re.compile(r"(\b(?!ssh://git@)[a-z][a-z0-9+.-]{1,20}://)[^\s/@'\"]+(?=@)", re.IGNORECASE),
    # token=... and "token": "..."; what follows a colon in prose (`bad token: it has expired`) stays
    re.compile(rf"({_WORDS}{_QUOTE}?\s*=\s*{_QUOTE}?){_ONE_WORD}", re.IGNORECASE),
    re.compile(rf"({_WORDS}{_QUOTE}\s*[:,]\s*{_QUOTE}){_REST_OF_STRING}", re.IGNORECASE),
    re.compile(rf"((?:password|passwd)\s*:\s*{_QUOTE}?){_ONE_WORD}", re.IGNORECASE),
    # JSON Web Tokens, tokens of GitHub and GitLab
    re.compile(r"()\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?"),
    re.compile(r"()\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,})"),
)


def without_credentials(text: str) -> str:
    """The text with `[hidden]` in place of everything that looks like a credential; what introduces it stays."""
    for form in _FORMS:
        text = form.sub(lambda found: f"{found.group(1)}{HIDDEN}", text)
    return text
