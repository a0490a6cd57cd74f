//! Jobs over several machines.

use mapa_core::{Decision, LinkClass, MAX_DEVICES, MachineId, Policy, Reason, Refusal, Request};

use super::{Fleet, best_of, no_machine};

/// What joins the machines of a fleet, and when jobs use it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Network {
    pub(super) gbps: f64,
    /// Whether jobs are spread that have to wait for a machine, too.
    pub(super) when_busy: bool,
}

impl Fleet {
    /// Joins the machines by a network on which each of them sends and receives so many GB/s. Jobs that are too large for every
    /// machine are then [spread](Self::spread) over several. Default: no network, and such jobs are infeasible.
    #[must_use]
    pub fn with_network(self, gbps: f64) -> Self {
        Self { network: Some(Network { gbps, when_busy: false }), ..self }
    }

    /// Spreads jobs also where a machine could hold them, but none has room now. Without a network it changes nothing.
    #[must_use]
    pub fn spread_when_busy(self) -> Self {
        Self { network: self.network.map(|network| Network { when_busy: true, ..network }), ..self }
    }

    /// What each machine sends and receives over the network, GB/s, if there is one.
    #[must_use]
    pub fn network_gbps(&self) -> Option<f64> {
        self.network.map(|network| network.gbps)
    }

    /// As [`Fleet::decide`], or where that says no and a network is there, as [`Fleet::spread`]: the first part, and further ones.
    pub(crate) fn choose(&self, policy: impl Policy, request: &Request) -> Result<(Decision, Vec<Decision>), Refusal> {
        let why = match self.decide(&policy, request) {
            Ok(decision) => return Ok((decision, Vec::new())),
            Err(why) => why,
        };
        let spreads = match (self.network, &why) {
            (Some(_), Refusal::Infeasible(Reason::TooFewDevices { .. })) => true,
            (Some(network), Refusal::Busy(_)) => network.when_busy && request.pattern.len() > 1,
            _ => false,
        };
        let is_busy = matches!(why, Refusal::Busy(_));
        match spreads.then(|| self.spread(policy, request)) {
            Some(Ok(mut parts)) if !parts.is_empty() => Ok((parts.remove(0), parts)),
            // One machine will have room, whatever several have.
            Some(Err(other)) if !is_busy => Err(other),
            _ => Err(why),
        }
    }

    /// The policy's decisions for a job over several machines, as few as can be by what is free: consecutive ranks lie on one machine,
    /// as launchers of distributed programs (torchrun, MPI) fill them. Each part is the pattern that its ranks have among
    /// themselves, as large as any machine that is left has room for, on the best machine for it; so the last and smaller one lies
    /// where it fits best. What ranks of different machines send goes over the network.
    ///
    /// A policy that refuses a part for its links is asked for a smaller one; then there may be a way over fewer machines. The
    /// decisions are on the present state, and none changes another: [`Turn::place_parts`](crate::Turn::place_parts) books them.
    ///
    /// O(parts x ranks) decisions at most; one a part where the largest has room.
    ///
    /// # Errors
    /// `Infeasible` if there is no network, the request names devices that it must have, a NUMA node for all or a least class of
    /// link, the job has more than 1,024 ranks, or the idle fleet has no room for it; else `Busy`; `LimitReached` if a search stopped
    /// early.
    pub fn spread(&self, policy: impl Policy, request: &Request) -> Result<Vec<Decision>, Refusal> {
        let never = |rule: &'static str| Err(Refusal::Infeasible(Reason::Rule(rule.into())));
        if self.network.is_none() {
            return never("a network between the machines, for a job over several");
        }
        if !request.must_include.is_empty() {
            return never("no device by name in a job over several machines, which number their devices alike");
        }
        if request.same_numa {
            return never("no job over several machines that must be on one NUMA node");
        }
        if request.min_link != LinkClass::None {
            return never("no least class of link in a job over several machines, which a network joins");
        }
        if request.pattern.len() > MAX_DEVICES {
            return never("at most 1024 ranks in a job over several machines");
        }
        match self.parts(&policy, request) {
            Ok(parts) => return Ok(parts),
            Err(limit @ Refusal::LimitReached(_)) => return Err(limit),
            Err(_) => {}
        }
        let graphs = || self.machines.iter().map(|machine| machine.graph().clone());
        let idle = self.idle.get_or_init(|| Self::new(graphs()));
        match idle.parts(&policy, request) {
            Err(never @ Refusal::Infeasible(_)) => {
                let allowed = graphs().map(|graph| graph.wholes().len()).sum();
                let wanted = request.pattern.len();
                let too_few = Refusal::Infeasible(Reason::TooFewDevices { wanted, allowed });
                Err(if allowed < wanted { too_few } else { never })
            }
            _ => Err(Refusal::Busy(Reason::Rule("machines with room for all parts of the job at once".into()))),
        }
    }

    fn parts(&self, policy: &impl Policy, request: &Request) -> Result<Vec<Decision>, Refusal> {
        let ranks = request.pattern.len();
        let (mut parts, mut taken, mut from) = (Vec::new(), Vec::new(), 0);
        let mut most = self.machines.iter().map(|machine| machine.graph().len()).max().unwrap_or(0);
        while from < ranks {
            most = most.min(ranks - from);
            let part = Request { pattern: request.pattern.part(from..from + most), ..request.clone() };
            match self.decide_beside(policy, &part, &taken) {
                Ok(decision) => {
                    if let Ok(machine) = self.machine(decision.stamp().machine) {
                        decision.answers(&part, machine.graph())?;
                    }
                    taken.push(decision.stamp().machine);
                    parts.push(decision);
                    from += most;
                }
                Err(why) if most <= 1 || matches!(why, Refusal::LimitReached(_)) => return Err(why),
                Err(_) => most -= 1,
            }
        }
        Ok(parts)
    }

    /// As [`Fleet::decide`], on other machines than these.
    fn decide_beside(&self, policy: &impl Policy, request: &Request, taken: &[MachineId]) -> Result<Decision, Refusal> {
        match policy.of_free_set() {
            None => best_of(self.views().filter(|view| !taken.contains(&view.machine())), policy, request),
            Some(id) => {
                let best = self.index().best(&self.machines, (id, policy), request, taken);
                best.map_or_else(|| Err(no_machine(request)), |(_, answer)| answer)
            }
        }
    }
}
