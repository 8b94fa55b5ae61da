"""The `Post` port through Apprise: chat, mail, webhooks, by one address each."""

from __future__ import annotations

import logging
import re
from typing import Any, Final
from urllib.parse import urlsplit

from gitops_mc.adapters.post_parameters import refused
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
_EXCEPTION: Final = "Exception: "
_CAUSES: Final = tuple(
    (cause, re.compile(sign))
    for cause, sign in (
        (
            "the proxy could not be reached, or refuses",
            r"ProxyError|Unable to connect to proxy|Tunnel connection failed",
        ),
        (
            "the name of its host is not found (DNS)",
            r"NameResolutionError|\[Errno -[0-9]+\]|Name or service not known|nodename nor servname|name resolution|getaddrinfo",
        ),
        ("its certificate has expired", r"certificate has expired"),
        ("its certificate is for another host", r"Hostname mismatch|IP address mismatch|doesn't match"),
        (
            "its certificate is not trusted; REQUESTS_CA_BUNDLE or SSL_CERT_FILE names the CA",
            r"CERTIFICATE_VERIFY_FAILED|certificate verify failed",
        ),
        ("no TLS is spoken there", r"WRONG_VERSION_NUMBER|wrong version number|record layer failure"),
        ("TLS came to nothing", r"SSLError|\[SSL[:\]]|EOF occurred in violation of protocol"),
        ("the connection was refused", r"Connection refused|\[Errno 111\]"),
        ("no route leads there", r"\[Errno (101|113)\]|Network is unreachable|No route to host"),
        ("it did not answer in time", r"[Tt]imed? ?out"),
        (
            "the connection was cut",
            r"Connection reset|Connection aborted|RemoteDisconnected|Broken pipe|unexpectedly closed",
        ),
    )
)
"""What connections come to, and how exceptions of requests, urllib3, smtplib and ssl show it; the first that is seen counts."""
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
        said = logging.getLogger("apprise")
        said.propagate = False  # what it says of an address has the token in it
        said.setLevel(
            logging.DEBUG
        )  # below a warning stands why a connection came to nothing; it is read here alone
        service = _service(kind, address)
        if named := refused(address, service):
            raise NotSentError(
                f"the {kind}:// address has parameters that are not let in: {', '.join(named)}",
                hint="none that names a file, and none that is not known to be harmless; what the service itself is to get is written"
                " with + or - before it, see github.com/caronc/apprise/wiki",
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
            log_level=logging.DEBUG,
        )
        if not result:
            raise NotSentError(_reason(kind, address, result))


def _service(kind: str, address: str) -> Any:
    """The class of the service that an address names. Raises NotSentError where there is none."""
    from apprise.manager_plugins import NotificationManager  # noqa: PLC0415 - as above
    from apprise.plugins import url_to_dict  # noqa: PLC0415

    found = url_to_dict(address, secure_logging=True)  # type: ignore[no-untyped-call]
    services = NotificationManager()  # type: ignore[no-untyped-call]
    if found is None or found.get("schema") not in services:
        raise NotSentError(f"the {kind}:// address is not one that Apprise understands", hint=_HINT)
    return services[found["schema"]]


def _reason(kind: str, address: str, result: Any) -> str:
    """What the library says of a failure, without anything that stands in the address but its host."""
    said = [entry.message for each in result for entry in each.logs() if entry.level in _SAID]
    told = "; ".join(dict.fromkeys(said)) or f"it was not taken within {WITHIN:g} s"
    why = "; ".join(
        dict.fromkeys(filter(None, (_cause(entry.message) for each in result for entry in each.logs())))
    )
    name = _host(address) if kind in _NAMES_A_HOST else ""
    told = told.replace(name, _HERE) if name else told
    for part in sorted(set(_SECRETIVE.findall(address.partition("://")[2])), key=len, reverse=True):
        told = told.replace(part, "***")
    told = told.replace(_HERE, name)
    return f"{kind}://: {f'{why}: ' if why else ''}{told}"[:_LONGEST_REASON]


def _cause(said: str) -> str:
    """Why a connection came to nothing, in words of ours: what the exception says has the address in it."""
    if _EXCEPTION not in said:
        return ""
    return next((cause for cause, sign in _CAUSES if sign.search(said)), "")


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""
