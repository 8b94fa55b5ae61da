"""File contents of an Ignition config, decoded: RFC 2397 data URLs, base64 or percent-encoded, gzip."""

from __future__ import annotations

import base64
import binascii
import gzip
import zlib
from urllib.parse import unquote_to_bytes

from gitops_mc.core.model import JsonObject


class PayloadError(Exception):
    """The contents cannot be decoded; the text says why."""


def decode_contents(contents: JsonObject) -> bytes:
    """Bytes of an Ignition resource (`source`, `compression`); no source is an empty file. Raises PayloadError."""
    source = contents.get("source")
    if source is None:
        return b""
    if not isinstance(source, str) or not source.startswith("data:"):
        raise PayloadError("only data URLs are supported as source")
    data = _decode_url(source)
    match contents.get("compression"):
        case None | "":
            return data
        case "gzip":
            return _gunzip(data)
        case other:
            raise PayloadError(f"unknown compression {other!r}")


def _decode_url(source: str) -> bytes:
    head, comma, data = source.partition(",")
    if not comma:
        raise PayloadError("malformed data URL: no comma")
    raw = unquote_to_bytes(data)
    if not head.endswith(";base64"):
        return raw
    try:
        return base64.b64decode(raw.translate(bytes.maketrans(b"-_", b"+/")), validate=True)
    except binascii.Error as error:
        raise PayloadError(f"malformed base64 in data URL: {error}") from error


def _gunzip(data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise PayloadError(f"malformed gzip: {error}") from error


def marked_entry(rendered: JsonObject, marker: str) -> str:
    """The first file or unit of a rendered spec that contains a marker, or `""`."""
    config = rendered.get("config") or {}
    for file in (config.get("storage") or {}).get("files") or ():
        try:
            content = decode_contents(file.get("contents") or {})
        except PayloadError:
            continue
        if marker.encode() in content:
            return f"file {file['path']}"
    for unit in (config.get("systemd") or {}).get("units") or ():
        if marker in str(unit):
            return f"unit {unit['name']}"
    return ""
