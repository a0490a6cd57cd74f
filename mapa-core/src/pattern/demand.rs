//! What a rank needs of its device.

use crate::mig;
use crate::topology::{Device, Unit};

/// What a rank needs of the vertex it is put on. The default is a whole device of its own.
///
/// Demands are labels of the pattern's vertices: ranks are only swapped with ranks of equal demand.
///
/// ```
/// use mapa_core::{Demand, Sharing, Want, mig::Size};
///
/// // A task that may share its slice with others, as CASE packs them: 2 GiB of memory and 640 warps.
/// let task = Demand::any().shared().memory(2 << 30).warps(640);
/// assert_eq!((task.want, task.sharing), (Want::Any, Sharing::Shared));
/// // A job on a 1g slice that copies 5.7 GB/s over PCIe.
/// let job = Demand::slice(Size::new(1, 1)).pcie_gbps(5.7);
/// assert_eq!(job.pcie_mb_s, 5700);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default, deny_unknown_fields))]
pub struct Demand {
    /// What kind of vertex.
    pub want: Want,
    /// Whether others may be there too.
    pub sharing: Sharing,
    /// Memory, bytes. The memory of a device is never given away twice; one whose memory is not known holds no demand for
    /// any.
    pub memory_bytes: u64,
    /// Warps in flight. Devices share their multiprocessors out in time, so this is counted, not limited: rules decide.
    pub warps: u32,
    /// PCIe traffic, MB/s (decimal). Counted, not limited, as warps are. A tenant with any is PCIe-bound.
    pub pcie_mb_s: u32,
    /// Ranks of different roles are never swapped.
    pub role: u16,
}

/// The kind of vertex that a rank wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Want {
    /// A whole device.
    #[default]
    Whole,
    /// An instance of exactly this size.
    Slice(mig::Size),
    /// An instance of exactly this profile of its device's model: for what size does not tell apart, such as media
    /// engines. Where a machine has devices of several models, one id is another profile on each.
    Profile(mig::ProfileId),
    /// An instance of at least this size, or a whole device that is.
    AtLeast(mig::Size),
    /// A whole device or any instance.
    Any,
    /// A NUMA node: a core to run on, memory to read from.
    Numa,
    /// A network card.
    Nic,
}

/// Whether a rank shares its vertex.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Sharing {
    /// Nobody else is there.
    #[default]
    Exclusive,
    /// Others that share may be there too, of this job and of other jobs, as far as the memory goes.
    Shared,
}

impl Demand {
    fn of(want: Want) -> Self {
        Self { want, ..Self::default() }
    }

    /// A whole device of its own.
    #[must_use]
    pub fn whole() -> Self {
        Self::of(Want::Whole)
    }

    /// An instance of exactly this size, of its own.
    #[must_use]
    pub fn slice(size: mig::Size) -> Self {
        Self::of(Want::Slice(size))
    }

    /// An instance of exactly this profile, of its own.
    #[must_use]
    pub fn profile(profile: mig::ProfileId) -> Self {
        Self::of(Want::Profile(profile))
    }

    /// An instance or device of at least this size, of its own.
    #[must_use]
    pub fn at_least(size: mig::Size) -> Self {
        Self::of(Want::AtLeast(size))
    }

    /// Any whole device or instance, of its own.
    #[must_use]
    pub fn any() -> Self {
        Self::of(Want::Any)
    }

    /// A NUMA node, shared with others.
    #[must_use]
    pub fn numa() -> Self {
        Self::of(Want::Numa).shared()
    }

    /// A network card, shared with others.
    #[must_use]
    pub fn nic() -> Self {
        Self::of(Want::Nic).shared()
    }

    /// Others may be there too.
    #[must_use]
    pub fn shared(self) -> Self {
        Self { sharing: Sharing::Shared, ..self }
    }

    /// Nobody else is there.
    #[must_use]
    pub fn exclusive(self) -> Self {
        Self { sharing: Sharing::Exclusive, ..self }
    }

    /// So much memory, bytes.
    #[must_use]
    pub fn memory(self, memory_bytes: u64) -> Self {
        Self { memory_bytes, ..self }
    }

    /// So many warps in flight.
    #[must_use]
    pub fn warps(self, warps: u32) -> Self {
        Self { warps, ..self }
    }

    /// So much PCIe traffic, decimal GB/s, kept in MB/s: integers, so that booking and releasing cancel exactly. What is
    /// not a number or negative counts as none.
    #[must_use]
    pub fn pcie_gbps(self, gbps: f64) -> Self {
        // Casts from floats saturate, and make 0 of NaN.
        Self { pcie_mb_s: (gbps * 1000.0).round() as u32, ..self }
    }

    /// Ranks of different roles are never swapped.
    #[must_use]
    pub fn role(self, role: u16) -> Self {
        Self { role, ..self }
    }

    /// Whether a vertex is of the kind that it wants, and large enough when idle.
    #[must_use]
    pub fn fits(&self, device: &Device) -> bool {
        let kind = match (self.want, device.unit) {
            (Want::Whole | Want::Any, Unit::Whole) | (Want::Any, Unit::Slice(_)) => true,
            (Want::Slice(size), Unit::Slice(_)) => device.size == Some(size),
            (Want::Profile(profile), Unit::Slice(instance)) => instance.profile == profile,
            (Want::AtLeast(size), Unit::Whole | Unit::Slice(_)) => device.size.is_some_and(|own| own.covers(size)),
            (Want::Numa, Unit::Numa) | (Want::Nic, Unit::Nic) => true,
            _ => false,
        };
        kind && (self.memory_bytes == 0 || device.memory_bytes.is_some_and(|own| own >= self.memory_bytes))
    }

    /// Whether others may be there too.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.sharing == Sharing::Shared
    }
}
