//! The shares that are shipped: a copy of `mapa-regress/data/efficiency.toml`, which a test compares.

use super::efficiency::{Class, Efficiency, Factor, Part, Spread, Use};

/// Where the shares come from.
const SOURCE: &str = "public measurements, mapa-regress/data/efficiency.toml";

const FACTORS: &[(Part, Use, Option<&str>, f64, u32)] = &[
    (Part::Direct, Use::Copy, Some("NVLink 1"), 0.91, 1),
    (Part::Direct, Use::Copy, Some("NVLink 2"), 0.96, 2),
    (Part::Direct, Use::BothWays, Some("NVLink 2"), 0.97, 2),
    (Part::Direct, Use::Ring, Some("NVLink 2"), 0.86, 1),
    (Part::Direct, Use::Copy, Some("NVLink 3"), 0.90, 3),
    (Part::Direct, Use::BothWays, Some("NVLink 3"), 0.93, 3),
    (Part::Direct, Use::Ring, Some("NVLink 3"), 0.774, 6),
    (Part::Direct, Use::Pair, Some("NVLink 3"), 0.69, 1),
    (Part::Direct, Use::Exchange, Some("NVLink 3"), 0.75, 1),
    (Part::Direct, Use::Copy, Some("NVLink 4"), 0.855, 3),
    (Part::Direct, Use::BothWays, Some("NVLink 4"), 0.825, 3),
    (Part::Direct, Use::Ring, Some("NVLink 4"), 0.80, 1),
    (Part::Direct, Use::InSwitch, Some("NVLink 4"), 0.609, 6),
    (Part::Direct, Use::Copy, Some("NVLink 5"), 0.90, 2),
    (Part::Direct, Use::Ring, Some("NVLink 5"), 0.753, 1),
    (Part::Direct, Use::InSwitch, Some("NVLink 5"), 0.526, 1),
    (Part::Direct, Use::InRack, Some("NVLink 5"), 0.47, 1),
    (Part::Direct, Use::Copy, Some("Infinity Fabric 2"), 0.99, 1),
    (
        Part::Direct,
        Use::BothWays,
        Some("Infinity Fabric 2"),
        0.98,
        1,
    ),
    (Part::Direct, Use::Copy, Some("Infinity Fabric 3"), 0.648, 1),
    (
        Part::Direct,
        Use::TwoHops,
        Some("Infinity Fabric 3"),
        0.565,
        1,
    ),
    (
        Part::Direct,
        Use::BothWays,
        Some("Infinity Fabric 3"),
        0.81,
        1,
    ),
    (
        Part::Direct,
        Use::Engines,
        Some("Infinity Fabric 3"),
        1.014,
        1,
    ),
    (Part::Direct, Use::Copy, Some("Infinity Fabric 4"), 0.753, 2),
    (
        Part::Direct,
        Use::BothWays,
        Some("Infinity Fabric 4"),
        0.714,
        1,
    ),
    (Part::Direct, Use::Ring, Some("Infinity Fabric 4"), 0.70, 3),
    (Part::Direct, Use::Pair, Some("Infinity Fabric 4"), 0.745, 1),
    (
        Part::Direct,
        Use::Exchange,
        Some("Infinity Fabric 4"),
        0.67,
        1,
    ),
    (Part::Slot, Use::Copy, None, 0.87, 7),
    (Part::Slot, Use::BothWays, None, 0.81, 6),
    (Part::Slot, Use::Ring, None, 0.70, 8),
    (Part::Slot, Use::Exchange, None, 0.50, 3),
    (Part::Slot, Use::Host, None, 0.90, 3),
    (Part::Uplink, Use::Copy, None, 0.90, 2),
    (Part::Uplink, Use::Exchange, None, 0.81, 6),
    (Part::Uplink, Use::Host, None, 0.90, 1),
    (Part::SocketLink, Use::Copy, None, 0.63, 4),
    (Part::SocketLink, Use::BothWays, None, 0.63, 3),
    (Part::SocketLink, Use::Ring, None, 0.655, 1),
    (Part::SocketLink, Use::Host, None, 0.79, 1),
    (Part::SocketLink, Use::Exchange, None, 1.0, 0),
    (Part::SocketBus, Use::Copy, None, 0.90, 1),
    (Part::SocketBus, Use::BothWays, None, 0.53, 1),
    (Part::Root, Use::Host, None, 1.16, 1),
    (Part::Crossing, Use::Ring, None, 0.82, 2),
    (Part::Staged, Use::Copy, None, 0.64, 6),
    (Part::StagedPool, Use::Copy, None, 0.92, 6),
    (Part::UplinkPool, Use::Copy, None, 1.19, 0),
];

const SPREADS: &[(Class, f64, u32)] = &[
    (Class::DirectCopy, 0.29, 11),
    (Class::DirectCollective, 0.14, 15),
    (Class::OneSocket, 0.05, 8),
    (Class::AcrossSockets, 0.27, 5),
    (Class::HostRing, 0.28, 8),
    (Class::HostExchange, 0.15, 7),
    (Class::HostCopy, 0.23, 4),
    (Class::Staged, 0.32, 7),
    (Class::Islands, 0.3, 4),
    (Class::Uneven, 0.37, 1),
];

const SHARED_ROOT: f64 = 0.92;

const EXPONENTS: &[(&str, f64)] = &[("Infinity Fabric 3", 0.5)];

pub(super) fn table() -> Efficiency {
    Efficiency {
        source: SOURCE.to_owned(),
        factors: FACTORS
            .iter()
            .map(|&(part, using, generation, value, machines)| Factor {
                part,
                using,
                generation: generation.map(str::to_owned),
                value,
                machines,
            })
            .collect(),
        spreads: SPREADS
            .iter()
            .map(|&(class, log, machines)| Spread {
                class,
                log,
                machines,
            })
            .collect(),
        shared_root: SHARED_ROOT,
        exponents: EXPONENTS
            .iter()
            .map(|&(name, exponent)| (name.to_owned(), exponent))
            .collect(),
    }
}
