//! Extreme values by type.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use mapa_core::mig::{Instance, Layout, Model, Profile, ProfileId, Size};
use mapa_core::*;

/// A type with extreme values.
pub(crate) trait Extreme: Sized {
    fn values() -> Vec<Self>;
}

/// The values of types. A type per line: the generator looks for them here.
macro_rules! values {
    ($own:ty: $values:expr) => {
        impl Extreme for $own {
            fn values() -> Vec<Self> {
                $values.into_iter().collect()
            }
        }
    };
}

values!(bool: [false, true]);
values!(u8: [0, 1, 7, u8::MAX]);
values!(u16: [0, 1, u16::MAX]);
values!(u32: [0, 1, 63, u32::MAX]);
values!(u64: [0, 1, u64::MAX]);
values!(usize: [0, 1, 2, 64, usize::MAX]);
values!(i32: [0, -1, i32::MIN, i32::MAX]);
values!(i64: [0, -1, i64::MIN, i64::MAX]);
values!(f64: [0.0, -0.0, 1.0, -1.0, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
values!(String: ["", "0", "GPU0", "\0", "-1", "1e999", "\u{202e}x", "ring", "tp=2,pp=2"].map(str::to_owned).into_iter().chain(["x".repeat(10_000)]));
values!(Duration: [Duration::ZERO, Duration::MAX]);
values!(DeviceId: [0, 1, 3, 64, 100_000].map(DeviceId));
values!(MachineId: [0, u32::MAX].map(MachineId));
values!(LeaseId: [0, u64::MAX].map(LeaseId));
values!(DeviceSet: [DeviceSet::new(), DeviceSet::from([0]), DeviceSet::from([1, 2]), DeviceSet::first_n(4), DeviceSet::from([3, 70_000])]);
values!(LinkClass: [LinkClass::Direct(0), LinkClass::Direct(1), LinkClass::Direct(u8::MAX), LinkClass::Sys, LinkClass::Node, LinkClass::Pix]);
values!(Link: [0.0, 25.0, f64::NAN, f64::INFINITY, -1.0].map(|gbps| Link { class: LinkClass::Direct(1), gbps }));
values!(Pattern: [Pattern::ring(0), Pattern::ring(1), Pattern::ring(2), Pattern::ring(5), Shape::ALL[0].pattern(3), Pattern::independent(3)]);
values!(Shape: Shape::ALL);
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

impl<T: Extreme> Extreme for Option<T> {
    fn values() -> Vec<Self> {
        std::iter::once(None)
            .chain(T::values().into_iter().map(Some))
            .collect()
    }
}

impl<T: Extreme> Extreme for Vec<T> {
    fn values() -> Vec<Self> {
        let all = T::values();
        let first = T::values().into_iter().take(1).collect();
        let two = T::values().into_iter().rev().take(2).collect();
        vec![Vec::new(), first, two, all]
    }
}

impl<T: Extreme> Extreme for Arc<T> {
    fn values() -> Vec<Self> {
        T::values().into_iter().map(Arc::new).collect()
    }
}

/// Tuples: every combination, made anew as values need not be cloned.
macro_rules! tuples {
    ($($part:ident $at:tt),*) => {
        impl<$($part: Extreme),*> Extreme for ($($part,)*) {
            fn values() -> Vec<Self> {
                let lengths = [$($part::values().len()),*];
                let all: usize = lengths.iter().product();
                // Steps that are no divisor of the lengths reach all values of each part.
                let step = (all / 300).max(1) | 1;
                (0..all)
                    .step_by(step)
                    .filter_map(|number| {
                        let mut rest = number;
                        let places = lengths.map(|length| {
                            let place = rest % length;
                            rest /= length;
                            place
                        });
                        Some(($($part::values().into_iter().nth(places[$at])?,)*))
                    })
                    .collect()
            }
        }
    };
}

tuples!(A 0);
tuples!(A 0, B 1);
tuples!(A 0, B 1, C 2);
tuples!(A 0, B 1, C 2, D 3);
tuples!(A 0, B 1, C 2, D 3, E 4);
