//! The shares that are shipped: a copy of `mapa-regress/data/efficiency.toml`. The test that compares
//! the two writes both: `MAPA_WRITE_EFFICIENCY=1 cargo test -p mapa-front --test all efficiency`.

use std::sync::{Arc, LazyLock};

use super::efficiency::{Class, Efficiency, Factor, Part, Spread, Use};

/// Where the shares come from.
const SOURCE: &str = "fitted to mapa-regress/data/measured.tsv, whose rows name their sources";

/// Part, traffic, generation of direct links, share, machines on which it was measured.
const FACTORS: &[(Part, Use, Option<&str>, f64, u32)] = &[
    (
        Part::Direct,
        Use::Copy,
        Some("Infinity Fabric 2"),
        0.9884,
        1,
    ),
    (
        Part::Direct,
        Use::Copy,
        Some("Infinity Fabric 3"),
        0.6644,
        1,
    ),
    (
        Part::Direct,
        Use::Copy,
        Some("Infinity Fabric 4"),
        0.7535,
        2,
    ),
    (Part::Direct, Use::Copy, Some("NVLink 1"), 0.9126, 1),
    (Part::Direct, Use::Copy, Some("NVLink 2"), 0.9404, 2),
    (Part::Direct, Use::Copy, Some("NVLink 3"), 0.9071, 3),
    (Part::Direct, Use::Copy, Some("NVLink 4"), 0.8554, 5),
    (Part::Direct, Use::Copy, Some("NVLink 5"), 0.8992, 2),
    (
        Part::Direct,
        Use::BothWays,
        Some("Infinity Fabric 2"),
        0.9772,
        1,
    ),
    (
        Part::Direct,
        Use::BothWays,
        Some("Infinity Fabric 3"),
        0.8113,
        1,
    ),
    (
        Part::Direct,
        Use::BothWays,
        Some("Infinity Fabric 4"),
        0.715,
        1,
    ),
    (Part::Direct, Use::BothWays, Some("NVLink 2"), 0.9383, 2),
    (Part::Direct, Use::BothWays, Some("NVLink 3"), 0.895, 4),
    (Part::Direct, Use::BothWays, Some("NVLink 4"), 0.8247, 3),
    (
        Part::Direct,
        Use::Ring,
        Some("Infinity Fabric 4"),
        0.7014,
        3,
    ),
    (Part::Direct, Use::Ring, Some("NVLink 2"), 0.911, 1),
    (Part::Direct, Use::Ring, Some("NVLink 3"), 0.7744, 9),
    (Part::Direct, Use::Ring, Some("NVLink 4"), 0.8019, 1),
    (Part::Direct, Use::Ring, Some("NVLink 5"), 0.7568, 1),
    (
        Part::Direct,
        Use::Pair,
        Some("Infinity Fabric 4"),
        0.7457,
        1,
    ),
    (Part::Direct, Use::Pair, Some("NVLink 3"), 0.6784, 2),
    (
        Part::Direct,
        Use::Exchange,
        Some("Infinity Fabric 4"),
        0.8008,
        1,
    ),
    (Part::Direct, Use::Exchange, Some("NVLink 3"), 0.7499, 1),
    (Part::Direct, Use::InSwitch, Some("NVLink 4"), 0.6115, 7),
    (Part::Direct, Use::InSwitch, Some("NVLink 5"), 0.5287, 1),
    (Part::Direct, Use::InRack, Some("NVLink 5"), 0.4725, 1),
    (
        Part::Direct,
        Use::TwoHops,
        Some("Infinity Fabric 3"),
        0.576,
        1,
    ),
    (
        Part::Direct,
        Use::Engines,
        Some("Infinity Fabric 3"),
        1.015,
        1,
    ),
    (Part::Slot, Use::Copy, None, 0.8569, 7),
    (Part::Slot, Use::BothWays, None, 0.8093, 6),
    (Part::Slot, Use::Ring, None, 0.7099, 8),
    (Part::Slot, Use::Exchange, None, 0.535, 3),
    (Part::Slot, Use::Host, None, 0.8974, 4),
    (Part::Staged, Use::Copy, None, 0.6521, 6),
    (Part::StagedPool, Use::BothWays, None, 0.9103, 4),
    (Part::StagedPool, Use::Ring, None, 0.9232, 3),
    (Part::Uplink, Use::Copy, None, 0.8538, 1),
    (Part::Uplink, Use::Exchange, None, 0.7936, 6),
    (Part::Uplink, Use::Host, None, 0.9003, 1),
    (Part::UplinkPool, Use::Copy, None, 1.19, 0),
    (Part::SocketLink, Use::Copy, None, 0.6305, 4),
    (Part::SocketLink, Use::BothWays, None, 0.6332, 3),
    (Part::SocketLink, Use::Ring, None, 0.6612, 1),
    (Part::SocketLink, Use::Exchange, None, 1.0, 0),
    (Part::SocketLink, Use::Host, None, 0.7891, 1),
    (Part::SocketBus, Use::Copy, None, 0.9034, 1),
    (Part::SocketBus, Use::BothWays, None, 0.5302, 1),
    (Part::Root, Use::Host, None, 1.1585, 1),
    (Part::Crossing, Use::Ring, None, 1.0024, 2),
];

/// Class, spread, machines on which it is known.
const SPREADS: &[(Class, f64, u32)] = &[
    (Class::DirectCopy, 0.28, 19),
    (Class::DirectCollective, 0.159, 25),
    (Class::OneSocket, 0.097, 8),
    (Class::AcrossSockets, 0.649, 5),
    (Class::HostRing, 0.453, 8),
    (Class::HostExchange, 0.192, 7),
    (Class::HostCopy, 0.228, 4),
    (Class::Staged, 0.321, 9),
    (Class::Islands, 0.175, 3),
    (Class::Uneven, 0.591, 1),
];

/// Set by hand, from one machine: four RTX 4090 on two roots, two on roots of their own.
const SHARED_ROOT: f64 = 0.92;

/// Set by hand, from one machine whose rows are not fitted: eight A100 over PCIe, in one socket and
/// across. They say 0.89 one way and 0.67 both ways; this much orders sets and leaves sizes as they are.
const SHARED_MEMORY: f64 = 0.985;

/// Set by hand, from one machine: copies over 1, 2 and 4 links of an MI250.
const EXPONENTS: &[(&str, f64)] = &[("Infinity Fabric 3", 0.5)];

impl Efficiency {
    /// The shares that MAPA ships, fitted to public measurements.
    #[must_use]
    pub fn shipped() -> Arc<Self> {
        static SHIPPED: LazyLock<Arc<Efficiency>> = LazyLock::new(|| Arc::new(table()));
        Arc::clone(&SHIPPED)
    }
}

fn table() -> Efficiency {
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
        shared_memory: SHARED_MEMORY,
        exponents: EXPONENTS
            .iter()
            .map(|&(name, exponent)| (name.to_owned(), exponent))
            .collect(),
    }
}
