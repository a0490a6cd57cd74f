//! Scores of placements: the bandwidths of the devices that a job has.

use std::collections::BTreeMap;

use mapa_core::{
    Candidate, Census, Coefficients, DeviceId, HardwareGraph, Objective, Pattern, Policy, Request,
    Tiers, aggregate_gbps, effective_gbps, greedy, ring_packing_gbps,
};
use mapa_sched::{Assignment, Fleet};

/// The scores of a placement on its machine. They do not depend on other jobs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scores {
    /// The pattern's edges by kind of link: double, single, PCIe.
    pub links: Census,
    /// Aggregated bandwidth (Eq. 1), GB/s; 0 for one device.
    pub aggregate_gbps: f64,
    /// The highest aggregated bandwidth that the pattern could have on the idle machine
    /// (`BW_IdealAllocation`, section 2.2); 0 for one device. `None` if the machine's whole devices
    /// cannot hold the pattern, or the search reached its limit.
    pub ideal_aggregate_gbps: Option<f64>,
    /// Predicted effective bandwidth (Eq. 2), GB/s. For one device it is the value of Eq. 2 for no
    /// links, 12.335 GB/s.
    pub effective_gbps: f64,
    /// Whether Eq. 2 was fitted to placements of this kind ([`Coefficients::in_domain`]): two to
    /// five devices, no bond of more than two links. Outside, its predictions mean nothing: they
    /// may be negative or above what any link carries.
    pub in_domain: bool,
    /// The bandwidth that a packing of rings, as NCCL uses them, can carry at once, GB/s; `None`
    /// for one device.
    pub ring_packing_gbps: Option<f64>,
}

/// A placement: the fingerprint of the machine's graph, and the devices in rank order.
type PlacementKey = (u64, Vec<DeviceId>);

/// Computes the scores of placements, each once.
#[derive(Debug, Default)]
pub struct Scorer {
    ideals: Vec<(u64, Pattern, Option<f64>)>,
    known: BTreeMap<PlacementKey, Vec<(Pattern, Scores)>>,
}

impl Scorer {
    /// A scorer without any results yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The scores of this placement of a pattern; `None` if it does not give each rank a device of
    /// the machine.
    #[must_use]
    pub fn scores(
        &mut self,
        graph: &HardwareGraph,
        pattern: &Pattern,
        placement: &[DeviceId],
    ) -> Option<Scores> {
        let is_of_machine = placement.iter().all(|&id| graph.check(id).is_ok());
        if placement.len() != pattern.len() || !is_of_machine {
            return None;
        }
        let here = (graph.fingerprint(), placement.to_vec());
        let known = self
            .known
            .get(&here)
            .and_then(|all| all.iter().find(|(candidate, _)| candidate == pattern));
        if let Some(&(_, scores)) = known {
            return Some(scores);
        }
        let all = graph.all();
        let candidate = Candidate {
            view: graph.with_free(&all),
            pattern,
            placement,
        };
        let score = |objective: Objective<'_>| objective.score(&candidate);
        let scores = Scores {
            links: Census::of(pattern, placement, graph, &Tiers::PAPER),
            aggregate_gbps: score(aggregate_gbps()),
            ideal_aggregate_gbps: self.ideal(graph, pattern),
            effective_gbps: score(effective_gbps()),
            in_domain: Coefficients::in_domain(pattern, placement, graph),
            ring_packing_gbps: (pattern.len() > 1).then(|| score(ring_packing_gbps())),
        };
        self.known
            .entry(here)
            .or_default()
            .push((pattern.clone(), scores));
        Some(scores)
    }

    /// The scores of a job's placement on one or several machines of a fleet. `None` if the placement
    /// does not give each rank a device of the fleet.
    ///
    /// On several machines, an edge between machines counts as PCIe, and in Eq. 1 with the network
    /// bandwidth of a machine. Effective bandwidth and ring packing are the lowest of the network's
    /// bandwidth and those of the parts with several ranks; no model was fitted to such placements.
    /// The ideal is `None`.
    #[must_use]
    pub fn scores_at(
        &mut self,
        fleet: &Fleet,
        pattern: &Pattern,
        at: &Assignment,
    ) -> Option<Scores> {
        // Ranks may share a device.
        let ranks: usize = at.parts().map(|(ranks, ..)| ranks.len()).sum();
        if ranks != pattern.len() {
            return None;
        }
        if at.rest.is_empty() {
            let graph = fleet.machine(at.machine).ok()?.graph();
            return self.scores(graph, pattern, &at.placement);
        }
        let network = fleet.network_gbps().unwrap_or(f64::NAN);
        let mut all = Scores {
            links: Census::default(),
            aggregate_gbps: 0.0,
            ideal_aggregate_gbps: None,
            effective_gbps: network,
            in_domain: false,
            ring_packing_gbps: Some(network),
        };
        let (mut double, mut single, mut pcie, mut inside) = (0, 0, 0, 0);
        for (ranks, machine, placement) in at.parts() {
            let part = pattern.part(ranks);
            inside += part.edges().len();
            let score = self.scores(fleet.machine(machine).ok()?.graph(), &part, placement)?;
            let (x, y, z) = score.links.xyz();
            (double, single, pcie) = (double + x, single + y, pcie + z);
            all.aggregate_gbps += score.aggregate_gbps;
            if part.len() > 1 {
                all.effective_gbps = all.effective_gbps.min(score.effective_gbps);
                all.ring_packing_gbps = all
                    .ring_packing_gbps
                    .zip(score.ring_packing_gbps)
                    .map(|(a, b)| a.min(b));
            }
        }
        let between = pattern.edges().len() - inside;
        all.links = Census::from_xyz(double, single, pcie + between as u32);
        all.aggregate_gbps += network * between as f64;
        Some(all)
    }

    fn ideal(&mut self, graph: &HardwareGraph, pattern: &Pattern) -> Option<f64> {
        let fingerprint = graph.fingerprint();
        let known = self
            .ideals
            .iter()
            .find(|(machine, candidate, _)| *machine == fingerprint && candidate == pattern);
        if let Some(&(.., ideal)) = known {
            return ideal;
        }
        let all = graph.all();
        let best = greedy()
            .decide(&Request::new(pattern.clone()), &graph.with_free(&all))
            .ok();
        let ideal = best
            .filter(|best| best.search().complete())
            .and_then(|best| best.best().score("aggregate_gbps"));
        self.ideals.push((fingerprint, pattern.clone(), ideal));
        ideal
    }
}
