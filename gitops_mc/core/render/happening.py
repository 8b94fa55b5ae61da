"""What is told of a fleet when it happens, in Kubernetes Events and in the log: one row a reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum


class Weight(StrEnum):
    """As Kubernetes knows it: the `type` of an Event."""

    NORMAL = "Normal"
    WARNING = "Warning"
    """Something is wrong, or only a human gets it further."""


class About(StrEnum):
    """Which object it happens to."""

    FLEET = "Fleet"
    CLUSTER = "ClusterRollout"


class Reason(Enum):
    """Every reason there is: its word, its weight, what it is about, and when it is told."""

    CLUSTER_STARTED = ("Started", Weight.NORMAL, About.CLUSTER, "the cluster is in flight with a content")
    STEP_STARTED = ("StepStarted", Weight.NORMAL, About.CLUSTER, "it goes on with its next step")
    CLUSTER_PASSED = ("Passed", Weight.NORMAL, About.CLUSTER, "every gate has opened with the content")
    CLUSTER_FAILED = ("Failed", Weight.WARNING, About.CLUSTER, "it failed with a content, which is held")
    CLUSTER_BLOCKED = (
        "Blocked",
        Weight.WARNING,
        About.CLUSTER,
        "sick before a write, refused, or not Running",
    )
    VERSION_NOT_PUBLISHED = (
        "VersionNotPublished",
        Weight.WARNING,
        About.CLUSTER,
        "the platform cannot install a module's version yet",
    )
    CLUSTER_PROBLEMS = ("Problems", Weight.WARNING, About.CLUSTER, "its part of the repository has problems")
    CLUSTER_UNREACHABLE = ("Unreachable", Weight.WARNING, About.CLUSTER, "dark for longer than it may be")
    CLUSTER_UNREGISTERED = (
        "Unregistered",
        Weight.WARNING,
        About.CLUSTER,
        "the platform knows no such cluster",
    )
    CLUSTER_SKIPPED = ("Skipped", Weight.NORMAL, About.CLUSTER, "somebody left it out for this content")
    CLUSTER_NEEDS_APPROVAL = (
        "NeedsApproval",
        Weight.WARNING,
        About.CLUSTER,
        "met for the first time, with a plan that changes what somebody set",
    )
    CLUSTER_HELD = (
        "Held",
        Weight.NORMAL,
        About.CLUSTER,
        "an order of somebody keeps it from beginning anything",
    )
    WINDOW_AWAITED = (
        "WindowAwaited",
        Weight.NORMAL,
        About.CLUSTER,
        "what comes next waits for its change window",
    )
    CLUSTER_READY = (
        "Ready",
        Weight.NORMAL,
        About.CLUSTER,
        "what stood in its way is gone, and it could start",
    )
    CLUSTER_GONE = (
        "GoneFromGit",
        Weight.WARNING,
        About.CLUSTER,
        "its folder is gone; nothing is changed there",
    )
    ROLLED_BACK = (
        "RolledBack",
        Weight.WARNING,
        About.CLUSTER,
        "it goes back to what it passed; the failed content is held",
    )
    NEEDS_HANDS = ("NeedsHands", Weight.WARNING, About.CLUSTER, "only a named act of a human gets it further")
    DRIFT_FOUND = ("DriftFound", Weight.WARNING, About.CLUSTER, "objects are not any more what was written")
    DRIFT_GONE = ("DriftGone", Weight.NORMAL, About.CLUSTER, "all of them are as Git says again")
    WAVE_OPENED = ("WaveOpened", Weight.NORMAL, About.FLEET, "its clusters may start")
    WAVE_SOAKING = ("WaveSoaking", Weight.NORMAL, About.FLEET, "every cluster is through, and the soak runs")
    WAVE_DONE = ("WaveDone", Weight.NORMAL, About.FLEET, "the next wave may open")
    WAVE_NEEDS_APPROVAL = (
        "WaveNeedsApproval",
        Weight.WARNING,
        About.FLEET,
        "it opens when somebody approves it",
    )
    HALTED = ("Halted", Weight.WARNING, About.FLEET, "more clusters failed than are tolerated: no new writes")
    HALT_LIFTED = ("HaltLifted", Weight.NORMAL, About.FLEET, "repaired, or released by somebody")
    ROLLOUT_DONE = (
        "RolloutDone",
        Weight.NORMAL,
        About.FLEET,
        "every cluster that can have its content has it",
    )
    ROLLOUT_HELD = (
        "RolloutHeld",
        Weight.WARNING,
        About.FLEET,
        "nothing goes on before a named act of a human",
    )
    FAULT = (
        "FleetFault",
        Weight.WARNING,
        About.FLEET,
        "gateway, global API or credentials; nobody is counted",
    )
    FAULT_OVER = ("FleetFaultOver", Weight.NORMAL, About.FLEET, "clusters can be read again")
    ORDERED = (
        "Ordered",
        Weight.NORMAL,
        About.FLEET,
        "what somebody asked for by an annotation was done or refused",
    )
    REVISION_FOUND = ("RevisionFound", Weight.NORMAL, About.FLEET, "the source has another commit")
    REVISION_REFUSED = (
        "RevisionRefused",
        Weight.WARNING,
        About.FLEET,
        "a commit is not used, and the last good one stays",
    )
    POLL_FAILED = ("PollFailed", Weight.WARNING, About.FLEET, "the source cannot be read; told once")
    WEBHOOK_DEAF = (
        "WebhookDeaf",
        Weight.WARNING,
        About.FLEET,
        "the Secret of its webhook is not there or holds none, so that every request is answered 401; told once",
    )
    CREDENTIAL_EXPIRES = (
        "CredentialExpires",
        Weight.WARNING,
        About.FLEET,
        "a token is about to expire, or has; told two weeks, three days and one day before, and then",
    )
    WEBHOOK_HEARS = ("WebhookHears", Weight.NORMAL, About.FLEET, "it has a secret again")
    FORGE_FAILED = (
        "ForgeFailed",
        Weight.WARNING,
        About.FLEET,
        "its forge takes no commit status, or cannot be reached; the rollout goes on; told once",
    )
    FORGE_RECOVERED = ("ForgeRecovered", Weight.NORMAL, About.FLEET, "its forge takes commit statuses again")
    PREVIEWS_FAILED = (
        "PreviewsFailed",
        Weight.WARNING,
        About.FLEET,
        "pull requests get no previews, or not all of them do; the rollout goes on; told once",
    )
    PREVIEWS_RECOVERED = ("PreviewsRecovered", Weight.NORMAL, About.FLEET, "they get previews again")
    POLL_RECOVERED = ("PollRecovered", Weight.NORMAL, About.FLEET, "it can be read again")

    def __init__(self, word: str, weight: Weight, about: About, when: str) -> None:
        self.word = word
        """CamelCase, as `kubectl get events` shows it."""
        self.weight = weight
        self.about = about
        self.when = when

    @property
    def event(self) -> str:
        """The name it has in the log: `cluster_failed`, `wave_opened`."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Happening:
    """One thing that happened. `text` is for people, and not redacted yet."""

    reason: Reason
    text: str
    cluster: str = ""
    """Empty where it is about the fleet."""
    wave: str = ""
    step: str = ""
    revision: str = ""
    subject: str = ""
    """What it is about, where reason, cluster and wave do not say it: a credential."""

    def __post_init__(self) -> None:
        if (self.reason.about is About.CLUSTER) != bool(self.cluster):
            raise ValueError(f"{self.reason.word} is about a {self.reason.about.value}")
