//! Starting what the plan starts.

use mapa_core::{Decision, DeviceId, DeviceSet, Rules, criteria::max, preserved_direct_gbps};

use super::{NAME, PlannedJob, TopologyPlan};
use mapa_sched::Turn;
use mapa_sched::{JobId, Tenant};

impl TopologyPlan {
    /// Starts what the plan starts now.
    pub(super) fn start_planned(&mut self, now: f64, turn: &mut Turn<'_>) {
        for lane in self.plan.take_changed() {
            self.runs.bring(&mut self.plan, lane, now);
            if self.plan.list(lane).is_empty() {
                continue;
            }
            let starts = self.plan.at_once(lane).starts;
            let chosen: Vec<(JobId, u8)> = starts
                .iter()
                .map(|&place| &self.plan.list(lane)[place])
                .map(|entry| (entry.id, entry.gene))
                .collect();
            for (id, gene) in chosen {
                self.runs.bring(&mut self.plan, lane, now);
                if self.is_overdue {
                    // Whoever has been overtaken too often goes first; then this lane goes on.
                    self.plan.touch(lane);
                    break;
                }
                // One that has no set after all keeps nobody behind it from starting.
                self.start(id, lane, gene, now, turn);
            }
        }
        if self.is_overdue {
            return;
        }
        // A start changes its machine, and so touches its lane. The plan is brought up to it, so that
        // it can be asked.
        for lane in self.plan.take_changed() {
            self.runs.bring(&mut self.plan, lane, now);
        }
    }

    /// Starts a job on the set that the plan has for it, if there is one.
    pub(super) fn start(
        &mut self,
        id: JobId,
        lane: usize,
        gene: u8,
        now: f64,
        turn: &mut Turn<'_>,
    ) {
        let Some(held) = self.waiter(id).cloned() else {
            return;
        };
        let (machines, state) = (self.plan.physics(), self.plan.state(lane));
        let Some((set, loss)) = machines.set(state, &held.own, gene) else {
            return;
        };
        let tables = machines.has_tables(self.runs.kind(lane));
        let machine = self.runs.machine(lane);
        let model = machines.model.clone();
        let request = &held.job.request;
        let decision: Option<Decision> = turn.view(machine).ok().and_then(|view| {
            let by_links = Rules::new(NAME).prefer(max(model));
            if tables {
                // Only the ranks' order is left to decide.
                view.decide(by_links, &request.clone().only(devices_of(set)))
                    .ok()
            } else if held.own.chooses {
                view.decide(by_links.then(max(preserved_direct_gbps())), request)
                    .ok()
            } else {
                view.decide(
                    Rules::new(NAME).prefer(max(preserved_direct_gbps())),
                    request,
                )
                .ok()
            }
        });
        let placed = decision.map(|decision| turn.place(Tenant::Job(id), decision));
        if !matches!(placed, Some(Ok(_))) {
            return;
        }
        self.started(&held, lane, set, now, held.own.seconds(loss));
        if let Ok(machine) = turn.fleet().machine(machine) {
            self.runs.look(&mut self.plan, lane, machine);
        }
    }

    /// Notes that a job has started.
    pub(super) fn started(
        &mut self,
        held: &PlannedJob,
        lane: usize,
        set: u32,
        now: f64,
        takes: f64,
    ) {
        self.plan.remove(held.job.id);
        self.forget(held.job.id);
        self.runs.start(held.job.id, lane, set, now, takes);
        let area = takes * f64::from(held.own.devices);
        for (_, earlier) in self.held.range_mut(..held.serial) {
            let was = earlier.overtaken > earlier.limit;
            earlier.overtaken += area;
            self.is_overdue |= !was && earlier.overtaken > earlier.limit;
        }
    }
}

/// The devices of a mask.
fn devices_of(set: u32) -> DeviceSet {
    let ids = (0..u32::BITS).filter(|at| set >> at & 1 == 1);
    ids.map(DeviceId).collect()
}
