"""GitOps for the machine configuration of a fleet of Kubernetes clusters."""

__version__ = "0.1.0"
