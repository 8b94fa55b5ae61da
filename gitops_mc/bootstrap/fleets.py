"""Connects the command line to the objects of a Fleet on global."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from gitops_mc.adapters.post import ApprisePost
from gitops_mc.adapters.system import SystemClock
from gitops_mc.app.api import ClusterApi, Patience
from gitops_mc.app.notifying import Post
from gitops_mc.app.observe import ClusterReader, Interest
from gitops_mc.app.use_cases.fleet_objects import FleetPlace
from gitops_mc.bootstrap import Access, clock_of, transport_of
from gitops_mc.bootstrap.means import Data
from gitops_mc.core.custom.fleet_spec import Ref
from gitops_mc.core.live import LiveCluster

_QUICK = Patience(timeout=10.0, attempts=3, total=30.0)


@contextmanager
def fleet_place(access: Access, namespace: str, name: str) -> Iterator[FleetPlace]:
    """A Fleet within reach until the end of the `with`. Raises UsageError for what cannot be right.

    Time is the machine's, with a sandbox too: it is people and processes that are waited for.
    """
    transport = transport_of(access, ())
    clock = SystemClock()
    jitter = random.Random().random  # noqa: S311 - spreads retries, guards nothing
    api = ClusterApi(transport, clock, jitter=jitter, patience=_QUICK)
    try:
        yield FleetPlace(api, clock, namespace, name)
    finally:
        transport.close()


def one_look(access: Access, cluster: str) -> LiveCluster:
    """A cluster as it is now; one that does not answer is dark. Raises UsageError for what cannot be right."""
    transport = transport_of(access, (cluster,))
    clock = SystemClock()
    jitter = random.Random().random  # noqa: S311 - spreads retries, guards nothing
    try:
        return ClusterReader(
            ClusterApi(transport, clock, jitter=jitter, patience=_QUICK), cluster, clock
        ).read(None, Interest())
    finally:
        transport.close()


def fleet_post() -> Post:
    """Sends from this machine, as the controller does from its own."""
    return ApprisePost()


def secrets_of(place: FleetPlace) -> Callable[[Ref], bytes]:
    """Reads keys of Secrets in the namespace of a Fleet. Raises UsageError where one is not there, and what the API raises."""
    return Data(place.api, place.namespace).value


def world_time(access: Access) -> datetime:
    """What time it is for the clusters and their controller: with a sandbox, that of the sandbox. Raises UsageError."""
    return clock_of(access, threading.Event()).now()
