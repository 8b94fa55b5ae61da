"""What people do on a cluster with kubectl, while a simulation is played."""

from __future__ import annotations

from gitops_mc.sandbox.people import Person
from tests.scenarios.drawn import Deed, HandAct

EMERGENCY = "/etc/emergency.conf"
"""A file that somebody puts into a config by hand."""
CUSTOM_LABEL = "node-role.kubernetes.io/gpu"


def carry_out(act: HandAct, person: Person) -> None:
    """What cannot be done (a pool that is not there, no config of ours) is left."""
    match act.deed:
        case Deed.CORDON:
            person.cordon(act.subject)
        case Deed.UNCORDON:
            person.uncordon(act.subject)
        case Deed.PAUSE | Deed.UNPAUSE:
            if person.get("machineconfigpools", act.subject) is not None:
                (person.pause if act.deed is Deed.PAUSE else person.unpause)(act.subject)
        case Deed.LABEL:
            person.label_node(act.subject, **{CUSTOM_LABEL: ""})
        case Deed.UNLABEL:
            person.label_node(act.subject, **{CUSTOM_LABEL: None})
        case Deed.EDIT:
            _add_emergency_file(person)


def _add_emergency_file(person: Person) -> None:
    ours = [c for c in person.list_all("machineconfigs") if c["metadata"]["name"][0] in "567"]
    if ours:
        name, spec = ours[0]["metadata"]["name"], ours[0]["spec"]
        emergency = {"path": EMERGENCY, "mode": 420, "contents": {"source": "data:,mended"}}
        files = [*spec["config"]["storage"]["files"], emergency]
        edited = {"kernelArguments": ["debug"], "config": {"storage": {"files": files}}}
        person.edit("machineconfigs", name, {"spec": edited})
