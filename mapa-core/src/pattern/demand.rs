//! What a rank needs of its device.

use crate::ids::LinkClass;
use crate::mig;
use crate::topology::{Device, DeviceId, DeviceSet, HardwareGraph, Unit};

/// What a rank needs of the vertex on which it is placed. The default is a whole device that no
/// other rank uses.
///
/// Demands are labels of the pattern's vertices: ranks are only swapped with ranks of equal demand.
///
/// # Examples
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
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Demand {
    /// What kind of vertex.
    pub want: Want,
    /// Whether other ranks may be on the vertex too.
    pub sharing: Sharing,
    /// Memory, bytes. Memory of a device is never allocated twice. A device of unknown memory fits
    /// only demands of 0 bytes.
    pub memory_bytes: u64,
    /// Warps in flight. Ranks on one device share its multiprocessors in time, so warps are counted
    /// but not limited; a policy may use the count.
    pub warps: u32,
    /// PCIe traffic, MB/s (decimal). Counted but not limited, like warps. A tenant with more than 0
    /// is PCIe-bound.
    pub pcie_mb_s: u32,
    /// Ranks of different roles are never swapped.
    pub role: u16,
    /// How many network cards must be near the device. Cards are not allocated: ranks and jobs may share one.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "is_zero"))]
    pub nics: u8,
    /// How near: the worst class of path to such a card.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "is_no_class"))]
    pub nic_within: LinkClass,
}

// The signatures are serde's.
#[cfg(feature = "serde")]
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &u8) -> bool {
    *count == 0
}

#[cfg(feature = "serde")]
fn is_no_class(class: &LinkClass) -> bool {
    *class == LinkClass::None
}

/// The kind of vertex that a rank wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub enum Want {
    /// A whole device.
    #[default]
    Whole,
    /// An instance of exactly this size.
    Slice(mig::Size),
    /// An instance of exactly this profile of its device's model. Needed where profiles of one size
    /// differ in something else, such as media engines. On a machine with devices of several
    /// models, one id means a different profile on each.
    Profile(mig::ProfileId),
    /// An instance or a whole device of at least this size.
    AtLeast(mig::Size),
    /// A whole device or any instance.
    Any,
    /// A NUMA node: its cores and its memory.
    Numa,
    /// A network card.
    Nic,
}

/// Whether a rank shares its vertex with other ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "kebab-case")
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Sharing {
    /// No other rank, of this job or another, may be on the vertex.
    #[default]
    Exclusive,
    /// Other ranks that share may be on the vertex too, of this job and of other jobs, as long as
    /// its memory suffices.
    Shared,
}

impl Demand {
    fn of(want: Want) -> Self {
        Self {
            want,
            ..Self::default()
        }
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

    /// The demand with sharing: other ranks may be on the vertex too.
    #[must_use]
    pub fn shared(self) -> Self {
        Self {
            sharing: Sharing::Shared,
            ..self
        }
    }

    /// The demand without sharing: no other rank may be on the vertex.
    #[must_use]
    pub fn exclusive(self) -> Self {
        Self {
            sharing: Sharing::Exclusive,
            ..self
        }
    }

    /// The demand with this much memory, bytes.
    #[must_use]
    pub fn memory(self, memory_bytes: u64) -> Self {
        Self {
            memory_bytes,
            ..self
        }
    }

    /// The demand with this many warps in flight.
    #[must_use]
    pub fn warps(self, warps: u32) -> Self {
        Self { warps, ..self }
    }

    /// The demand with this much PCIe traffic, decimal GB/s. It is kept in whole MB/s, so that
    /// booking and releasing cancel exactly. A value that is negative or not a number counts as 0.
    #[must_use]
    pub fn pcie_gbps(self, gbps: f64) -> Self {
        // Casts from floats saturate, and make 0 of NaN.
        Self {
            pcie_mb_s: (gbps * 1000.0).round() as u32,
            ..self
        }
    }

    /// The role of the rank. Ranks of different roles are never swapped.
    #[must_use]
    pub fn role(self, role: u16) -> Self {
        Self { role, ..self }
    }

    /// The demand for a device with `nics` network cards at most this far away: [`LinkClass::Pix`] for cards below one
    /// PCIe switch. Cards are not allocated: ranks and jobs may share one.
    ///
    /// # Examples
    /// ```
    /// use mapa_core::{Demand, Fabric, FabricNode, LinkClass, NodeKind, Pattern, Policy, Request, auto};
    ///
    /// let mut fabric = Fabric::new();
    /// let ids = [0, 1, 2].map(|i| fabric.add_device(format!("GPU{i}")).unwrap());
    /// let card = fabric.add(FabricNode { name: "NIC0".to_owned(), kind: NodeKind::Nic })?;
    /// for (a, b) in [(0, 1), (0, 2), (1, 2)] {
    ///     fabric.link(ids[a], ids[b], LinkClass::Node, 31.5)?;
    /// }
    /// for (id, class) in ids.into_iter().zip([LinkClass::Sys, LinkClass::Pix, LinkClass::Pxb]) {
    ///     fabric.link(id, card, class, 31.5)?;
    /// }
    /// let graph = fabric.lower()?;
    /// let job = Pattern::ring(2).each(Demand::whole().near_nics(1, LinkClass::Pxb));
    /// let decision = auto().decide(&Request::new(job), &graph.with_free(&graph.all()))?;
    /// assert_eq!(decision.placement().set(), [1, 2].into());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn near_nics(self, nics: u8, nic_within: LinkClass) -> Self {
        Self {
            nics,
            nic_within,
            ..self
        }
    }

    /// Whether a vertex is of the kind that the demand wants, large enough for it when idle, and near enough to network
    /// cards.
    #[must_use]
    pub fn fits(&self, device: &Device) -> bool {
        let kind = match (self.want, device.unit) {
            (Want::Whole | Want::Any, Unit::Whole) | (Want::Any, Unit::Slice(_)) => true,
            (Want::Slice(size), Unit::Slice(_)) => device.size == Some(size),
            (Want::Profile(profile), Unit::Slice(instance)) => instance.profile == profile,
            (Want::AtLeast(size), Unit::Whole | Unit::Slice(_)) => {
                device.size.is_some_and(|required| required.covers(size))
            }
            (Want::Numa, Unit::Numa) | (Want::Nic, Unit::Nic) => true,
            _ => false,
        };
        let is_near = self.nics == 0 || device.nics_within(self.nic_within) >= self.nics.into();
        kind && is_near
            && (self.memory_bytes == 0
                || device
                    .memory_bytes
                    .is_some_and(|memory_bytes| memory_bytes >= self.memory_bytes))
    }

    /// Whether other ranks may be on the vertex too.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.sharing == Sharing::Shared
    }
}

impl HardwareGraph {
    /// The vertices of the kind that a demand wants that are large enough for it when idle.
    ///
    /// # Complexity
    /// O(V) for V vertices; O(m / 64) for m whole devices if the demand is for any whole device.
    #[must_use]
    pub fn candidates(&self, demand: &Demand) -> DeviceSet {
        if demand.want == Want::Whole && demand.memory_bytes == 0 && demand.nics == 0 {
            return self.wholes();
        }
        let ids = (0..self.len() as u32).map(DeviceId);
        ids.filter(|&id| demand.fits(self.device(id))).collect()
    }
}
