//! Jobs over several machines.

use mapa_core::{Decision, LinkClass, MAX_DEVICES, MachineId, Policy, Reason, Refusal, Request};

use super::Fleet;
use super::alike::AlikeDevices;
use super::answer::{best_of, no_machine};
use super::network::FleetNetwork;

impl Fleet {
    /// Joins the machines by a network on which each machine sends and receives `gbps` GB/s. Jobs
    /// that are too large for every machine are then [spread](Self::spread) over several. Default:
    /// no network, and such jobs are infeasible.
    #[must_use]
    pub fn with_network(self, gbps: f64) -> Self {
        Self {
            network: Some(FleetNetwork {
                gbps,
                when_busy: false,
            }),
            ..self
        }
    }

    /// Also spreads jobs that one machine could hold, but for which no machine has room now.
    /// Without a network this changes nothing.
    #[must_use]
    pub fn spread_when_busy(self) -> Self {
        Self {
            network: self.network.map(|network| FleetNetwork {
                when_busy: true,
                ..network
            }),
            ..self
        }
    }

    /// The bandwidth with which each machine sends and receives over the network, GB/s, if there is
    /// a network.
    #[must_use]
    pub fn network_gbps(&self) -> Option<f64> {
        self.network.map(|network| network.gbps)
    }

    /// The decisions for a job, the first part and the others: by [`Fleet::decide`], or if that
    /// refuses and there is a network, by [`Fleet::spread`].
    pub(crate) fn choose(
        &self,
        policy: impl Policy,
        request: &Request,
    ) -> Result<(Decision, Vec<Decision>), Refusal> {
        let why = match self.decide(&policy, request) {
            Ok(decision) => return Ok((decision, Vec::new())),
            Err(why) => why,
        };
        let spreads = match (self.network, &why) {
            (Some(_), Refusal::Infeasible(Reason::TooFewDevices { .. })) => true,
            // On a machine of several products the refusal speaks of these.
            (Some(_), Refusal::Infeasible(_)) => self.exceeds_products(request),
            (Some(network), Refusal::Busy(_)) => network.when_busy && request.pattern.len() > 1,
            _ => false,
        };
        let is_busy = matches!(why, Refusal::Busy(_));
        match spreads.then(|| self.spread(policy, request)) {
            Some(Ok(mut parts)) if !parts.is_empty() => Ok((parts.remove(0), parts)),
            // Where a machine is only busy, it will have room in the end: that refusal stands.
            Some(Err(other)) if !is_busy => Err(other),
            _ => Err(why),
        }
    }

    /// The policy's decisions for a job over several machines, as few machines as the free devices
    /// allow. Consecutive ranks lie on one machine, as launchers of distributed programs (torchrun,
    /// MPI) fill them. Each part is the pattern of its ranks among themselves. It is as large as
    /// any machine that is left has room for, and lies on the best machine for it. So the last and
    /// smaller part lies where it fits best. Ranks of different machines communicate over the
    /// network.
    ///
    /// Where the products of all devices are known, all parts are of one product, that with the fewest parts, unless
    /// [`Request::unlike`] allows others.
    ///
    /// If a policy refuses a part because of its links, a smaller part is tried. In that case a
    /// solution on fewer machines may exist. The decisions are on the present state, and none
    /// changes another: [`Turn::place_parts`](crate::Turn::place_parts) books them.
    ///
    /// # Complexity
    /// O(p r) decisions at most for p parts and r ranks; p if there is room for the largest parts. On a fleet of several
    /// products each of these is a decision for each machine of a product.
    ///
    /// # Errors
    /// - `Infeasible` if there is no network, or the idle fleet has no room for the job; if the
    ///   request names devices, one NUMA node for all, or a least class of link; if the job has
    ///   more than 1,024 ranks.
    /// - `LimitReached` if a search stopped early.
    /// - `Busy` otherwise.
    pub fn spread(&self, policy: impl Policy, request: &Request) -> Result<Vec<Decision>, Refusal> {
        let never = |rule: &'static str| Err(Refusal::Infeasible(Reason::Rule(rule.into())));
        if self.network.is_none() {
            return never("a network between the machines, for a job over several");
        }
        if !request.must_include.is_empty() {
            return never(
                "no devices by name in a job over several machines, whose device numbers are the \
                 same",
            );
        }
        if request.same_numa {
            return never("no single NUMA node in a job over several machines");
        }
        if request.min_link != LinkClass::None {
            return never(
                "no least class of link in a job over several machines, which only a network joins",
            );
        }
        if request.pattern.len() > MAX_DEVICES {
            return never("at most 1024 ranks in a job over several machines");
        }
        match self.parts(&policy, request) {
            Ok(parts) => return Ok(parts),
            Err(limit @ Refusal::LimitReached(_)) => return Err(limit),
            Err(_) => {}
        }
        // There is no room now. Whether there ever is depends on the idle fleet, which is made
        // once.
        let graphs = || self.machines.iter().map(|machine| machine.graph().clone());
        let idle = self.idle.get_or_init(|| Self::new(graphs()));
        match idle.parts(&policy, request) {
            Err(never @ Refusal::Infeasible(_)) => {
                let allowed = graphs().map(|graph| graph.wholes().len()).sum();
                let wanted = request.pattern.len();
                let too_few = Refusal::Infeasible(Reason::TooFewDevices { wanted, allowed });
                Err(if allowed < wanted { too_few } else { never })
            }
            _ => Err(Refusal::Busy(Reason::Rule(
                "machines with room for all parts of the job at the same time".into(),
            ))),
        }
    }

    /// The parts of a job by what is free now, with devices of one product unless the request allows others.
    ///
    /// # Errors
    /// As [`parts_of`](Self::parts_of).
    fn parts(&self, policy: &impl Policy, request: &Request) -> Result<Vec<Decision>, Refusal> {
        self.parts_alike(request, |alike| self.parts_of(policy, request, alike))
    }

    /// The parts of a job by what is free now, largest first; on the devices of one product, if that is given.
    ///
    /// # Errors
    /// The refusal of the first part for which even one rank has no room.
    fn parts_of(
        &self,
        policy: &impl Policy,
        request: &Request,
        alike: Option<&AlikeDevices>,
    ) -> Result<Vec<Decision>, Refusal> {
        let ranks = request.pattern.len();
        let (mut parts, mut taken, mut from) = (Vec::new(), Vec::new(), 0);
        // An upper bound is enough. It counts instances too, and shrinks with every refusal.
        let mut most = self
            .machines
            .iter()
            .map(|machine| machine.graph().len())
            .max()
            .unwrap_or(0);
        // No part can be larger than one that was refused before: fewer machines are left each
        // time.
        while from < ranks {
            most = most.min(ranks - from);
            let part = Request {
                pattern: request.pattern.part(from..from + most),
                ..request.clone()
            };
            let decided = match alike {
                Some(alike) => self.decide_alike(policy, &part, &taken, alike),
                None => self.decide_beside(policy, &part, &taken),
            };
            match decided {
                Ok(decision) => {
                    // As in `Turn::start`: a policy written by hand may decide for another request.
                    if let Ok(machine) = self.machine(decision.stamp().machine) {
                        decision.answers(&part, machine.graph())?;
                    }
                    taken.push(decision.stamp().machine);
                    parts.push(decision);
                    from += most;
                }
                Err(why) if most <= 1 || matches!(why, Refusal::LimitReached(_)) => {
                    return Err(why);
                }
                Err(_) => most -= 1,
            }
        }
        Ok(parts)
    }

    /// The best decision over the machines that are not `taken`, as [`Fleet::decide`].
    fn decide_beside(
        &self,
        policy: &impl Policy,
        request: &Request,
        taken: &[MachineId],
    ) -> Result<Decision, Refusal> {
        match policy.of_free_set() {
            None => best_of(
                self.views().filter(|view| !taken.contains(&view.machine())),
                policy,
                request,
            ),
            Some(id) => {
                let best = self
                    .index()
                    .best(&self.machines, (id, policy), request, taken);
                best.map_or_else(|| Err(no_machine(request)), |(_, answer)| answer)
            }
        }
    }
}
