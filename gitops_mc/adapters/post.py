"""The `Post` port through Apprise: chat, mail, webhooks, by one address each."""

from __future__ import annotations

import logging
import re
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from gitops_mc.app.notifying import NotSentError
from gitops_mc.core.render.notices import Message, Mood

WITHIN: Final = 20.0
"""Seconds for one message, tries of the library included."""
LOCAL: Final = frozenset({"blink1", "dbus", "glib", "gnome", "kde", "macosx", "qt", "syslog", "windows"})
"""Schemes that reach the machine this runs on, and nobody who reads."""
_NAMES_A_HOST: Final = frozenset({"form", "forms", "json", "jsons", "mailto", "mailtos", "xml", "xmls"})
"""Schemes whose host is one; for many others it is a part of the token."""
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://.")
_MOODS: Final = {Mood.GOOD: "success", Mood.PLAIN: "info", Mood.WARNING: "warning", Mood.FAILURE: "failure"}
_SECRETIVE: Final = re.compile(r"[^/:@?&=,;#%\s]{5,}")
_FILES: Final = ("template", "file", "path", "cert", "attach", "pgp", "config", "include")
"""Words in the names of parameters that stand for files, in one service or another."""
_HERE: Final = "\0"
_SAID: Final = ("WARNING", "ERROR", "CRITICAL")
_LONGEST_REASON: Final = 300
_HINT: Final = "see github.com/caronc/apprise/wiki for how addresses are written"


class ApprisePost:
    """Sends over the network alone, keeps nothing on disk, and says nothing of an address but its scheme and host."""

    def send(self, address: str, message: Message) -> None:
        """As the port promises, within WITHIN seconds."""
        import apprise  # noqa: PLC0415 - it costs a third of a second, and most commands tell nobody

        scheme = _SCHEME.match(address)
        if scheme is None:
            raise NotSentError(
                "an address that is none: it has to begin with a scheme, like slack://", hint=_HINT
            )
        kind = scheme[1].lower()
        if kind in LOCAL:
            raise NotSentError(f"{kind}:// reaches nobody but the machine that the controller runs on")
        logging.getLogger("apprise").propagate = False  # what it says of an address has the token in it
        if named := _names_a_file(address):
            raise NotSentError(
                f"the {kind}:// address names a file with {named}=, and none of the controller's is read",
                hint=_HINT,
            )
        asset = apprise.AppriseAsset(
            app_id="gitops-mc",
            app_desc="gitops-mc",
            app_url="",
            secure_logging=True,
            storage_mode=apprise.PersistentStoreMode.MEMORY,
        )
        found = apprise.Apprise.instantiate(address, asset=asset)
        if found is None:
            raise NotSentError(f"the {kind}:// address is not one that Apprise understands", hint=_HINT)
        box = apprise.Apprise(asset=asset)
        box.add(found)
        result = box.notify(
            body=message.body,
            title=message.title,
            notify_type=apprise.NotifyType(_MOODS[message.mood]),
            body_format=apprise.NotifyFormat.TEXT,
            timeout=WITHIN,
        )
        if not result:
            raise NotSentError(_reason(kind, address, result))


def _reason(kind: str, address: str, result: Any) -> str:
    """What the library says of a failure, without anything that stands in the address but its host."""
    said = [entry.message for each in result for entry in each.logs() if entry.level in _SAID]
    told = "; ".join(dict.fromkeys(said)) or f"it was not taken within {WITHIN:g} s"
    name = _host(address) if kind in _NAMES_A_HOST else ""
    told = told.replace(name, _HERE) if name else told
    for part in sorted(set(_SECRETIVE.findall(address.partition("://")[2])), key=len, reverse=True):
        told = told.replace(part, "***")
    told = told.replace(_HERE, name)
    return f"{kind}://: {told}"[:_LONGEST_REASON]


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _names_a_file(address: str) -> str:
    """The parameter of an address that would have a file of this machine read, and its content sent or quoted; empty: none has."""
    query = address.partition("?")[2]
    names = {
        name.strip().lower().lstrip("+-:")
        for name, _ in parse_qsl(query.replace(";", "&"), keep_blank_values=True)
    }
    return next((name for name in sorted(names) if any(word in name for word in _FILES)), "")
