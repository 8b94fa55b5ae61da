"""Reading of Kubernetes' binary form, as far as kubectl sends it: it asks for reviews of its own access in it.

Messages are read by tables of field numbers, those of the generated.proto files beside k8s.io/api. Only what is in the
table is kept; the wire format is that of Protocol Buffers, of which strings and messages are all that occurs here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitops_mc.sandbox.apiserver.answers import bad_request

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIDTHS = {_FIXED64: 8, _FIXED32: 4}


@dataclass(frozen=True, slots=True)
class Message:
    """A message: names of its strings, and messages in it, by field number."""

    strings: Mapping[int, str] = field(default_factory=dict)
    messages: Mapping[int, tuple[str, Message]] = field(default_factory=dict)


_ENVELOPE = Message(messages={1: ("type", Message({1: "apiVersion", 2: "kind"}))})
_RAW = 2


def decoded(body: bytes, message: Message) -> dict[str, Any]:
    """The object in an envelope: apiVersion and kind, and what `message` names. Raises 400 for anything else."""
    if not body.startswith(_MAGIC):
        raise bad_request("the body of the request does not begin as Kubernetes' binary form does")
    envelope = body[len(_MAGIC) :]
    try:
        raw = next((value for number, value in _fields(envelope) if number == _RAW), b"")
        return {**_read(envelope, _ENVELOPE).get("type", {}), **_read(raw, message)}
    except (IndexError, ValueError) as error:
        raise bad_request(f"the body of the request cannot be read: {error}") from error


def _read(data: bytes, message: Message) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, value in _fields(data):
        if number in message.strings:
            found[message.strings[number]] = value.decode()
        elif number in message.messages:
            name, inner = message.messages[number]
            found[name] = _read(value, inner)
    return found


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == _BYTES:
            length, at = _varint(data, at)
            if at + length > len(data):
                raise ValueError("a field is longer than the message")
            yield number, data[at : at + length]
            at += length
        elif wire == _VARINT:
            _, at = _varint(data, at)
        elif wire in _WIDTHS:
            at += _WIDTHS[wire]
        else:
            raise ValueError(f"wire type {wire} is not one")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
