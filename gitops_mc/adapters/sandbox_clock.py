"""The clock of a sandbox: time in there may run faster, and whoever rolls out in there has to live on the same clock.

Only a plain-HTTP address on loopback is ever asked: no real platform is reached like that. Time-outs of calls stay real
seconds, whatever the speed.
"""

from __future__ import annotations

import json
import threading
from datetime import datetime
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from gitops_mc.adapters.system import ScaledClock
from gitops_mc.core.errors import UnreachableError

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PATH = "/sandbox/clock"
_TIMEOUT = 5.0
_NOT_FOUND = 404


def sandbox_clock(url: str, stop: threading.Event | None = None) -> ScaledClock | None:
    """The sandbox's own time, on at its speed; None where the address is no sandbox with a clock.

    Raises UnreachableError when a loopback address does not answer at all: nobody knows then what time it is there.
    """
    parts = urlsplit(url)
    if parts.scheme != "http" or parts.hostname not in _LOOPBACK:
        return None
    connection = HTTPConnection(parts.hostname, parts.port or 80, timeout=_TIMEOUT)
    try:
        connection.request("GET", _PATH)
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, HTTPException) as error:
        raise UnreachableError(
            f"{parts.scheme}://{parts.netloc} does not answer: {error}",
            hint="is the sandbox running? start one with: gitops-mc sandbox start",
        ) from error
    finally:
        connection.close()
    return _clock(body, stop) if answer.status != _NOT_FOUND else None


def first_server(kubeconfig: Path) -> str:
    """The address of the first cluster in a kubeconfig, or empty: every cluster of a sandbox stands behind one. What is
    wrong with the file is told where it is used.
    """
    try:
        found = yaml.safe_load(kubeconfig.read_bytes())["clusters"][0]["cluster"]["server"]
    except (OSError, yaml.YAMLError, KeyError, IndexError, TypeError):
        return ""
    return str(found)


def _clock(body: bytes, stop: threading.Event | None) -> ScaledClock | None:
    try:
        told = json.loads(body)
        return ScaledClock(float(told["speed"]), start=datetime.fromisoformat(told["now"]), stop=stop)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
