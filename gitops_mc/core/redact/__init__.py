"""One redactor in front of every output: what is marked sensitive appears in none, in no encoding."""

from gitops_mc.core.redact.places import marker
from gitops_mc.core.redact.redactor import Redactor, secrets_of

__all__ = ["Redactor", "marker", "secrets_of"]
