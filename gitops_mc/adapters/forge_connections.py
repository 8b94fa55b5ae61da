"""PyGithub's connections, over our own transport: for http and for https."""

from __future__ import annotations

from typing import Any

from github.Requester import HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass

from gitops_mc.adapters.forge_wire import Once


class Plain(HTTPRequestsConnectionClass):
    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.session.mount("http://", Once(float(self.timeout or 0)))


class Secure(HTTPSRequestsConnectionClass):
    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.session.mount("https://", Once(float(self.timeout or 0)))
