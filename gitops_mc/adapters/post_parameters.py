"""Which parameters an address of Apprise may have: none that would have a file of this machine read, and sent or quoted.

Apprise declares the parameters of a service, but not all that it reads, and no word of a declaration says that a text is the name of
a file. So the texts that somebody has looked at stand here, and whatever is new is refused until somebody has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

FILES: Final = frozenset({"attach", "keyfile", "pgpprv", "pgppub", "subfile", "template"})
"""Stand for files, or for addresses from which one is fetched."""
TEXTS: Final = frozenset(
    [
        "access",
        "accesstoken",
        "actions",
        "alert",
        "alerting_scenario",
        "alias",
        "api-version",
        "apikey",
        "app",
        "app_id",
        "app_secret",
        "app_token",
        "app_ver",
        "assignees",
        "attach-as",
        "avatar",
        "avatar_url",
        "bcc",
        "blossom",
        "bot_id",
        "bot_token",
        "botname",
        "bucket",
        "callback",
        "callbackurl",
        "campaign",
        "category",
        "cc",
        "channel",
        "channels",
        "class",
        "click",
        "client_id",
        "client_key",
        "collapse",
        "color",
        "company",
        "component",
        "copy",
        "country",
        "currency",
        "dedup",
        "delay",
        "device",
        "email",
        "endpoint",
        "entity",
        "entity_id",
        "event",
        "event_type",
        "exchange",
        "external_id",
        "facility",
        "file_url",
        "filename",
        "flair_id",
        "flair_text",
        "from",
        "group",
        "gwid",
        "header",
        "host",
        "href",
        "icon",
        "icon_url",
        "id",
        "identifier",
        "image",
        "image_href",
        "image_url",
        "integration",
        "integrationkey",
        "key",
        "label",
        "labels",
        "lang",
        "language",
        "link",
        "links",
        "location",
        "login",
        "master_key",
        "media",
        "mode",
        "name",
        "nick",
        "nid",
        "oauth_id",
        "oauth_secret",
        "option",
        "pass",
        "password",
        "path",
        "ping",
        "policy",
        "port",
        "powerautomate",
        "prefix",
        "priority",
        "profile",
        "project",
        "public_key",
        "push_key",
        "recipients",
        "ref",
        "region",
        "relay",
        "reply",
        "reply_to",
        "route",
        "routeid",
        "routing_key",
        "secret",
        "seed",
        "sender",
        "service",
        "sid",
        "sig",
        "signature",
        "smtp",
        "sound",
        "sound_href",
        "source",
        "special_text_color",
        "spi",
        "spoiler",
        "sptag",
        "status",
        "subtitle",
        "tags",
        "task_key",
        "team",
        "tenant",
        "thirdparty",
        "thread",
        "thread_name",
        "threadkey",
        "tid",
        "to",
        "token",
        "topic",
        "topic_auth_token",
        "topic_code",
        "txgroups",
        "type",
        "tz",
        "url",
        "url_label",
        "url_prefix",
        "url_title",
        "user",
        "v",
        "ver",
        "vhost",
        "voice",
        "webhook",
        "webhook_id",
        "workflow",
        "workspace",
        "xmpp",
        "xtags",
    ]
)
"""Texts that stand for themselves, whichever service has them."""
_OF_TEXT: Final = ("", "string", "list:string")
_PREFIXES: Final = "+-:"


def refused(address: str, service: Any) -> tuple[str, ...]:
    """The parameters of an address that are not let in, as they may be shown: by name where Apprise has it, for any other may be the
    token itself. `service` is Apprise's class of it.
    """
    known = frozenset(service.template_args) | TEXTS | FILES
    every = tuple(_names(address))
    return tuple(
        f"{name}=" if name in known else f"the {at}. of {len(every)}"
        for at, name in enumerate(every, 1)
        if not _let_in(name, service)
    )


def _let_in(name: str, service: Any) -> bool:
    if name[:1] in _PREFIXES:
        return any(said.get("prefix") == name[:1] for said in service.template_kwargs.values())
    return name in TEXTS or _a_choice(name, service.template_args)


def _a_choice(name: str, declared: Mapping[str, Mapping[str, Any]]) -> bool:
    """A number, a switch, or one of some words."""
    return name in declared and (declared[name].get("type") or "") not in _OF_TEXT


def _names(address: str) -> Iterator[str]:
    """As Apprise takes them apart: case does not count, and a plus at the beginning is one."""
    for pair in re.split("[&;]", address.partition("?")[2]):
        said = pair.partition("=")[0]
        if name := unquote(said[:1] + said[1:].replace("+", " ")).lower().strip():
            yield name
