"""One Kubernetes API server, in memory: what the sandbox's operators, nodes and the product itself talk to."""

from gitops_mc.sandbox.apiserver.access import EVERYTHING, Rule, User
from gitops_mc.sandbox.apiserver.server import ADMIN_TOKEN, ApiServer
from gitops_mc.sandbox.apiserver.store import AcceptedWrite, Watch

__all__ = ["ADMIN_TOKEN", "EVERYTHING", "AcceptedWrite", "ApiServer", "Rule", "User", "Watch"]
