//! Extreme values of the core's types.

use std::sync::{Arc, LazyLock};

use mapa_core::mig::{Instance, Layout, Model, Profile, ProfileId, Size};
use mapa_core::*;

use crate::shared::{Extreme, values};

values!(DeviceId: [0, 1, 3, 64, 100_000].map(DeviceId));
values!(MachineId: [0, u32::MAX].map(MachineId));
values!(LeaseId: [0, u64::MAX].map(LeaseId));
values!(DeviceSet: [DeviceSet::new(), DeviceSet::from([0]), DeviceSet::from([1, 2]), DeviceSet::first_n(4), DeviceSet::from([3, 70_000])]);
values!(LinkClass: [LinkClass::Direct(0), LinkClass::Direct(1), LinkClass::Direct(u8::MAX), LinkClass::Sys, LinkClass::Node, LinkClass::Pix]);
values!(Link: [0.0, 25.0, f64::NAN, f64::INFINITY, -1.0].map(|gbps| Link { class: LinkClass::Direct(1), gbps }));
values!(Pattern: [Pattern::ring(0), Pattern::ring(1), Pattern::ring(2), Pattern::ring(5), Shape::ALL[0].pattern(3), Pattern::independent(3)]);
values!(Shape: Shape::ALL);
values!(Box<dyn Policy>: BuiltIn::ALL.iter().map(BuiltIn::policy));
values!(Demand: [Demand::default(), Demand::any()]);
values!(Request: Pattern::values().into_iter().map(Request::new));
values!(HardwareGraph: [MACHINE.clone(), ONE.clone()].map(|graph| (*graph).clone()));
values!(Census: [Census::from_counts(&[0, 0, 0]), Census::from_counts(&[1, 2, 3]), Census::from_counts(&[u32::MAX, u32::MAX, u32::MAX])].into_iter().flatten());
values!(Tiers: [Tiers::PAPER]);
values!(Coefficients: [Coefficients::FULL]);
values!(Size: [(0, 0), (1, 1), (7, 8), (u8::MAX, u8::MAX)].map(|(compute, memory)| Size::new(compute, memory)));
values!(ProfileId: [0, 1, u8::MAX].map(ProfileId));
values!(Layout: [Layout::whole()]);
values!(Graph: [Graph::new(0, []), Graph::new(3, [(0, 1), (1, 2)])].into_iter().flatten());
values!(Limits: [Limits::NONE, Limits::NONE.nodes(0), Limits::NONE.nodes(1000)]);
values!(MatchConfig: [MatchConfig::new(), MatchConfig::new().induced(true)]);
values!(Parallelism: ["tp=2", "tp=2,pp=2,dp=2", "ep=4"].into_iter().filter_map(|text| text.parse().ok()));
values!(ModelShape: ["layers=2,hidden=8"].into_iter().filter_map(|text| text.parse().ok()));
values!(Allocator: [Allocator::new(MACHINE.clone()), Allocator::new(ONE.clone())]);
values!(LinkModel: [LinkModel::paper()]);
values!(Sensitivity: [Sensitivity::Sensitive, Sensitivity::Insensitive, Sensitivity::Unknown]);
values!(Fabric: [Fabric::new(), fabric(2)]);
values!(NodeId: fabric(5).nodes().map(|node| node.0).collect::<Vec<_>>());
values!(Placement: [&[][..], &[0], &[0, 0], &[2, 1], &[0, 1, 2], &[100_000, 0]].map(|ids| ids.iter().map(|&id| DeviceId(id)).collect::<Placement>()));
values!(Operation: [Operation::AllReduce, Operation::AllToAll, Operation::SendRecv, Operation::CopyBothWays]);
values!(Dimension: [Dimension::Tensor, Dimension::Pipeline, Dimension::Data, Dimension::Sequence]);
values!(Rates: [1.0, 0.0, -1.0, f64::NAN, f64::MAX].map(|share| Rates { direct: share, host: share, between_sockets: Some(share) }));
values!(Efficiency: [(*Efficiency::shipped().clone()).clone()]);
values!(HostNetwork: [(*HostNetwork::of(&MACHINE)).clone(), (*HostNetwork::of(&ONE)).clone()]);
values!(Expected: [Expected::new(Operation::AllReduce, Efficiency::shipped().clone()), Expected::new(Operation::CopyBothWays, Efficiency::shipped().clone())]);
values!(Objective<'static>: [aggregate_gbps(), effective_gbps(), ring_packing_gbps(), host_distance()]);
values!(Rules<'static>: [Rules::new("none"), Rules::new("one").prefer(criteria::max(aggregate_gbps()))]);
values!(Model: [Model::new("none", Size::new(0, 0), Vec::new()), Model::new("some", Size::new(7, 8), vec![profile(1, 1), profile(7, 8)])].into_iter().flatten());
values!(Profile: [profile(0, 0), profile(1, 1), profile(u8::MAX, u8::MAX)]);
values!(Instance: [(0, 0), (1, 7), (u8::MAX, u8::MAX)].map(|(profile, start)| Instance { profile: ProfileId(profile), start }));

/// A machine and the devices of it that are free, of which there may be some that it does not have.
pub(crate) struct ViewParts(Arc<HardwareGraph>, DeviceSet);

impl ViewParts {
    pub(crate) fn view(&self) -> View<'_> {
        self.0.with_free(&self.1)
    }
}

impl Extreme for ViewParts {
    fn values() -> Vec<Self> {
        DeviceSet::values()
            .into_iter()
            .map(|free| Self(MACHINE.clone(), free))
            .collect()
    }
}

fn profile(compute: u8, memory: u8) -> Profile {
    Profile {
        name: format!("{compute}g.{memory}m"),
        size: Size::new(compute, memory),
        memory_bytes: u64::MAX,
        starts: vec![0],
        max_instances: 1,
    }
}

fn fabric(devices: u32) -> Fabric {
    let text = (0..devices).map(|at| format!("GPU{at}"));
    let mut fabric = Fabric::new();
    let ids: Vec<NodeId> = text
        .map(|name| fabric.add_device(name).expect("a name of its own"))
        .collect();
    for pair in ids.windows(2) {
        fabric
            .link(pair[0], pair[1], LinkClass::Direct(1), 25.0)
            .expect("two devices");
    }
    fabric
}

fn machine(devices: u32) -> Arc<HardwareGraph> {
    Arc::new(fabric(devices).lower().expect("a machine"))
}

static MACHINE: LazyLock<Arc<HardwareGraph>> = LazyLock::new(|| machine(4));
static ONE: LazyLock<Arc<HardwareGraph>> = LazyLock::new(|| machine(1));
