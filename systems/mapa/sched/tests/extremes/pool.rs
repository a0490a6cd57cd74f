//! Extreme values of rings on one machine and of schedulers by topology.

use mapa_core::{HardwareGraph, Patience, ring_packing_gbps};
use mapa_system_mapa::topology::*;
use mapa_system_mapa::*;

use crate::sched_pool::driven;
use crate::shared::{Extreme, values};

values!(Ascent: [(0, 0), (1, 1), (u32::MAX, 1), (1, u32::MAX)].map(|(slots, rounds)| Ascent { slots, rounds }));
values!(Foresight: [Foresight::default(), driven(Foresight::default().queue(2)), driven(Foresight::default().known_ends().queue(usize::MAX).patience(Patience::values().pop()))]);
values!(Patience: [0.0, f64::NAN, -1.0, f64::MAX].map(|number| Patience { kappa: number, slowdown: number, floor_gbps: number, full_gbps: number }));
values!(PlanGoal: PlanGoal::ALL);
values!(PlanPart: PlanPart::ALL);
values!(RingBounds: HardwareGraph::values().iter().flat_map(|graph| [vec![], vec![ring(1, 1.0, 1.0)], vec![ring(2, f64::MAX, f64::MIN_POSITIVE), ring(1, 1.0, 1e10), ring(3, 1e300, 1e-300)]].into_iter().filter_map(|jobs| RingBounds::new(graph, &ring_packing_gbps(), &jobs).ok())));
values!(RingWork: [ring(1, 1.0, 1.0), ring(0, 0.0, f64::NAN), ring(usize::MAX, f64::NAN, -1.0), ring(2, f64::MAX, f64::MIN_POSITIVE), ring(1, 1.0, f64::MAX)]);
values!(TopologyPlan: [TopologyPlan::new(), driven(TopologyPlan::new()), driven(TopologyPlan::new().search(0).overtaking(f64::NAN).blend(f64::MAX)), driven(TopologyPlan::new().goal(PlanGoal::ALL[1]).trust(Trust::ClassMeans).overtaking(0.0))]);
values!(Trust: Trust::ALL);

fn ring(devices: usize, ratio: f64, seconds: f64) -> RingWork {
    RingWork {
        arrives: 1e10,
        devices,
        ratio,
        seconds,
    }
}
