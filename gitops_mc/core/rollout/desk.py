"""Permissions: which clusters may go on, and which may start, counted one after the other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gitops_mc.core.model import DesiredCluster
from gitops_mc.core.plan import ClusterPlan, title_of
from gitops_mc.core.rollout.abort_marks import stopped_pools
from gitops_mc.core.rollout.aborting import resumes, stops
from gitops_mc.core.rollout.case import Admission, Assessment
from gitops_mc.core.rollout.halting import no_way_back
from gitops_mc.core.rollout.inputs import Pass
from gitops_mc.core.rollout.inventory import with_inventory
from gitops_mc.core.rollout.memory import FleetMemory, prune_in_force
from gitops_mc.core.rollout.moves import Move, Standing, WaveState, WaveView
from gitops_mc.core.rollout.next_step import Act, Finished
from gitops_mc.core.rollout.pacing import timed
from gitops_mc.core.rollout.rollback import going_back, is_wanted
from gitops_mc.core.rollout.transitions import about_to, admitted, passed
from gitops_mc.core.rollout.waves import Budget, lines, starts_alone


@dataclass(slots=True)
class Desk:
    """Hands out permissions one after the other, so that each counts those before it."""

    on: Pass
    memory: FleetMemory
    found: dict[str, Assessment]
    budget: Budget
    moves: dict[str, Move] = field(default_factory=dict)

    def stop(self, name: str) -> None:
        """Pause what rolls where an abort stands."""
        a, abort = self.found[name], self.on.acts.abort(name)
        live = self.on.observed.live.get(name)
        if abort is None or live is None:
            return
        pause = stops(name, live, a.memory, self.on.fleet.policy.gates, abort)
        if pause is not None:
            self.moves[name] = pause

    def resume(self, name: str) -> None:
        """End an abort's pause where none stands any more, unless newer content takes over at once."""
        a, live = self.found[name], self.on.observed.live.get(name)
        if live is None or self._taken_over(a):
            return
        unpause = resumes(a, live)
        if unpause is not None:
            self.moves[name] = unpause

    def _taken_over(self, a: Assessment) -> bool:
        """Whether newer content goes into pools that an abort has stopped, before they run again."""
        arriving = a.admission
        live = self.on.observed.live.get(a.name)
        if arriving is None or arriving.standing is not Standing.READY or live is None:
            return False
        if not stopped_pools(live).keys() & {*arriving.overtakes}:
            return False
        kept_out = a.mid_step or a.name in self.on.acts.held or arriving.window is not None
        halted = self.memory.halt is not None and not arriving.repair
        return not kept_out and not halted

    def go_on(self, name: str) -> None:
        """The next step of a content that is under way. Newer content takes over at a step's border: none is begun that
        it would only have to undo, even where its own wave is not open yet.
        """
        a = self.found[name]
        if name in self.moves or not isinstance(a.next, Act) or a.standing is Standing.SKIPPED:
            return
        halted = self.memory.halt is not None and not (a.memory.repairing or a.memory.retrying)
        superseded = a.admission is not None and self._supersedes(a, a.admission)
        held = name in self.on.acts.held
        if a.next.begins and (halted or superseded or held or a.window is not None):
            return
        self._send(name, a.next, a.desired, a.plan)

    @staticmethod
    def _supersedes(a: Assessment, arriving: Admission) -> bool:
        """Whether the next step is not begun, for newer content that is going to take over. The way back from what failed
        is left for nothing but content that may start.
        """
        if a.memory.rolled_back:
            return arriving.standing is Standing.READY
        return arriving.standing is not Standing.FAILED

    def admit(self, name: str, view: WaveView) -> None:
        """The newest content, if the cluster could start it and its wave, the budgets and the halt allow it."""
        a = self.found[name]
        arriving = a.admission
        if name in self.moves or arriving is None or arriving.standing is not Standing.READY or a.mid_step:
            return
        if name in self.on.acts.held and not self._begins_nothing(arriving):
            return
        if arriving.window is not None:
            return
        urgent = arriving.ends_step or arriving.repair or self._taken_over(a)
        halted = self.memory.halt is not None and not a.memory.retrying
        if not urgent and (view.state is not WaveState.OPEN or halted):
            return
        done = isinstance(arriving.next, Finished)
        if not done and not urgent and not self.holds_place(a) and not self._place(name, view):
            return
        memory = admitted(a.memory, self._newest(name), self.on.fleet.commit, self.on.now)
        memory = replace(memory, overtaken=arriving.overtakes)
        self._keep(
            name, replace(a, memory=memory, standing=Standing.IN_FLIGHT, reason="admitted", admission=None)
        )
        if isinstance(arriving.next, Act):
            self._send(name, arriving.next, self._newest(name), arriving.plan)
        elif (
            done and not arriving.repair and not a.memory.retrying
        ):  # a repair passes on the next pass, where its halt ends with it
            live = self.on.observed.live[name]
            assert arriving.plan is not None
            known = with_inventory(memory, self._newest(name), arriving.plan, live)
            after = passed(known, prune_in_force(self.memory), self.on.now)
            self._keep(
                name,
                replace(
                    self.found[name], memory=after, standing=Standing.PASSED, reason="already as Git says"
                ),
            )

    def roll_back(self, name: str) -> None:
        """Assign to a cluster again what it passed, if it is to be rolled back and newer content does not take over."""
        a, on = self.found[name], self.on
        if a.standing is not Standing.FAILED or a.mid_step or not is_wanted(a.memory, on.fleet.policy):
            return
        if name in self.moves or name in on.acts.held:
            return
        if why := no_way_back(on, name, a.memory):
            self.found[name] = replace(a, reason=f"{a.reason}; {why}")
            return
        if a.admission is not None and a.admission.standing is Standing.READY:
            return
        newest = self._newest(name)
        contents = {**on.fleet.contents.get(name, {}), newest.content: newest}
        memory = going_back(a.memory, contents, on.now)
        if memory is not None:
            told = "on its way back to what it passed"
            after = replace(a, memory=memory, standing=Standing.IN_FLIGHT, reason=told, next=None)
            self._keep(name, after)

    def _begins_nothing(self, arriving: Admission) -> bool:
        """Whether a held cluster may be admitted all the same: its open step is ended, or nothing is to be written."""
        return arriving.ends_step or isinstance(arriving.next, Finished)

    def _place(self, name: str, view: WaveView) -> bool:
        flying = [n for n, a in self.found.items() if n != name and self.holds_place(a)]
        if starts_alone(name):
            return not flying
        if any(starts_alone(n) for n in flying):
            return False
        wave = next(
            w for w in lines(self.on.fleet.policy, self.on.fleet.clusters)[0] if w.wave.name == view.wave
        )
        return len(flying) < wave.wave.max_concurrent.at_least_one(len(view.members))

    def holds_place(self, a: Assessment) -> bool:
        """In flight: admitted and not out again, or seen to be so where nobody remembers it, unless a tolerated failure or darkness has freed its place, or it is
        settled at a step's border and waits for its wave with newer content.
        """
        if a.left_open:
            return True
        if not a.in_rollout or a.standing in {Standing.SKIPPED, Standing.READY, Standing.HELD}:
            return False
        if a.standing is Standing.FAILED:
            return a.memory.begun and self.budget.too_many_failures
        if a.standing is Standing.UNREACHABLE:
            return a.memory.begun and self.budget.too_many_unreachable
        return True

    def _send(self, name: str, act: Act, desired: DesiredCluster, plan: ClusterPlan | None) -> None:
        a = self.found[name]
        live = self.on.observed.live[name]
        memory = about_to(a.memory, act, desired, live, self.on.now)
        memory = timed(memory, act, plan, live, self.on.now)
        self._keep(name, replace(a, memory=memory, reason=f"writing {title_of(act.step.id)}"))
        self.moves[name] = act.move

    def _newest(self, name: str) -> DesiredCluster:
        return next(c for c in self.on.fleet.clusters if c.name == name)

    def _keep(self, name: str, assessment: Assessment) -> None:
        self.found[name] = assessment
        self.memory = self.memory.with_cluster(name, assessment.memory)
