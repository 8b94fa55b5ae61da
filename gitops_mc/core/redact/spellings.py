"""The ways in which a secret may be written in a text."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

SHORTEST = 6
"""Bytes. What is shorter stands in too many harmless texts to be looked for; it is hidden where it stands, only."""

_LARGE = 64 * 1024
"""Bytes. Of larger secrets the parts are looked for as text, and the whole in every spelling."""

_WRAPPED = (64, 76)
"""Columns at which PEM, and MIME and the base64 program, break lines."""

_SEPARATORS = re.compile(r"[\s\"'`=:,;(){}\[\]<>|&]+")
_KEY = re.compile(r"[\"']?[\w.-]+[\"']?")
_HEADER = re.compile(r"\[[\w .-]+\]|-----(BEGIN|END) [A-Z0-9 ]+-----|[#;{}\[\]]+")
_ORDINARY = frozenset(
    {
        "always",
        "default.target",
        "enabled",
        "exec-stop",
        "false",
        "forking",
        "graphical.target",
        "inherit",
        "journal",
        "local-fs.target",
        "multi-user.target",
        "network-online.target",
        "network.target",
        "no",
        "notify",
        "off",
        "on",
        "on-failure",
        "oneshot",
        "simple",
        "strict",
        "sysinit.target",
        "timers.target",
        "true",
        "yes",
    }
)
"""Values that stand in every second unit and tell nothing: hiding them everywhere would make plans unreadable."""


def pieces(secret: bytes) -> Iterator[bytes]:
    """The secret, and the parts of it that tell something by themselves: its lines, the values of its assignments, and
    words with letters and digits, as an error message may quote them alone.
    """
    yield secret
    try:
        text = secret.decode()
    except UnicodeDecodeError:
        return
    yield text.strip().encode()
    for line in text.splitlines():
        bare = line.strip()
        if not bare or _HEADER.fullmatch(bare):
            continue
        value = _assigned(bare)
        if value in _ORDINARY:
            continue
        yield bare.encode()
        yield value.encode()
        yield from (word.encode() for word in _SEPARATORS.split(bare) if _telling(word))


def _assigned(line: str) -> str:
    """The value of `key = value` or `key: value`; else the empty string."""
    separator = min((at for at in (line.find("="), line.find(":")) if at > 0), default=0)
    if not separator or not _KEY.fullmatch(line[:separator].strip()):
        return ""
    return line[separator + 1 :].strip().rstrip(",").strip().strip("\"'")


def _telling(word: str) -> bool:
    return (
        len(word) > SHORTEST
        and not word.startswith("/")
        and any(letter.isdigit() for letter in word)
        and any(letter.isalpha() for letter in word)
    )


def needles(secret: bytes) -> Iterator[tuple[str, int]]:
    """What to look for in texts, each with the number of bytes it stands for."""
    for piece in dict.fromkeys(pieces(secret)):
        if len(piece) < SHORTEST:
            continue
        spelled = _spellings(piece) if piece is secret or len(secret) <= _LARGE else _as_text(piece)
        for spelling in spelled:
            if len(spelling) >= SHORTEST:
                yield spelling, len(piece)


def _spellings(data: bytes) -> Iterator[str]:
    yield from _as_text(data)
    yield from _percent(data)
    yield data.hex()
    yield data.hex().upper()
    yield from _base64(data)


def _as_text(data: bytes) -> Iterator[str]:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        yield data.decode("utf-8", "replace")
        yield data.decode("utf-8", "backslashreplace")
        yield data.decode("latin-1")
        yield repr(data)[2:-1]
        return
    yield text
    yield text.replace("\n", "\r\n")
    for escaped in (*_json(text), _yaml_double(text)):
        yield escaped
        yield from _json(escaped)  # JSON inside JSON: kubectl's last-applied-configuration
    yield text.replace("'", "''")
    for marked_up in (html.escape(text), html.escape(text, quote=False)):
        yield marked_up
        yield marked_up.replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
    yield repr(text)[1:-1]
    yield repr(data)[2:-1]


def _json(text: str) -> Iterator[str]:
    for ascii_only in (True, False):
        escaped = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield escaped
        yield escaped.replace("/", "\\/")
        for letter in "<>&":  # as Go's encoder writes them
            escaped = escaped.replace(letter, f"\\u{ord(letter):04x}")
        yield escaped


_YAML_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0", "\x1b": "\\e"}


def _yaml_double(text: str) -> str:
    """A double-quoted YAML scalar, as emitters write it that keep to ASCII."""
    return "".join(_YAML_ESCAPES.get(letter) or _yaml_letter(letter) for letter in text)


def _yaml_letter(letter: str) -> str:
    number = ord(letter)
    if 0x20 <= number < 0x7F:
        return letter
    if number <= 0xFF:
        return f"\\x{number:02X}"
    return f"\\u{number:04X}" if number <= 0xFFFF else f"\\U{number:08X}"


def _percent(data: bytes) -> Iterator[str]:
    for quoted in (quote(data, safe=""), quote(data), quote_plus(data)):
        yield quoted
        yield re.sub(r"%[0-9A-F]{2}", lambda match: match.group().lower(), quoted)
    yield "".join(f"%{byte:02X}" for byte in data)
    yield "".join(f"%{byte:02x}" for byte in data)


def _base64(data: bytes) -> Iterator[str]:
    whole = base64.b64encode(data).decode()
    yield whole
    yield whole.replace("+", "-").replace("/", "_")
    for columns in _WRAPPED:
        if len(whole) > columns:
            yield from (whole[start : start + columns] for start in range(0, len(whole), columns))
    for offset in range(3):
        core = _core(data, offset)
        yield core
        yield core.replace("+", "-").replace("/", "_")
        yield core.replace("/", "\\/")
        yield quote(core, safe="")


def _core(data: bytes, offset: int) -> str:
    """The letters of a base64 text that these bytes alone decide, where they begin `offset` bytes into a group of three."""
    letters = base64.b64encode(bytes(offset) + data).decode()
    first = -(-8 * offset // 6)
    return letters[first : 8 * (offset + len(data)) // 6]
