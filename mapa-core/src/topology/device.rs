//! Vertices of a machine: devices, the instances into which they can be partitioned, parts of the
//! host.

use std::sync::Arc;

use super::link::Link;
use crate::ids::{DeviceId, LinkClass, PortId};
use crate::mig;

/// What a vertex of the [`HardwareGraph`](super::HardwareGraph) is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Unit {
    /// A whole device.
    Whole,
    /// An instance into which a device can be partitioned.
    Slice(mig::Instance),
    /// A NUMA node: its cores and its memory. Only in graphs made by
    /// [`Fabric::lower_with_host`](super::Fabric::lower_with_host).
    Numa,
    /// A network card. Only in graphs made by
    /// [`Fabric::lower_with_host`](super::Fabric::lower_with_host).
    Nic,
}

impl Unit {
    /// The instance, if the vertex is one.
    #[must_use]
    pub fn instance(self) -> Option<mig::Instance> {
        if let Self::Slice(instance) = self {
            Some(instance)
        } else {
            None
        }
    }
}

/// A vertex of the [`HardwareGraph`](super::HardwareGraph).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Device {
    /// The name in the machine's description. The name of an instance is its parent's name, its
    /// profile and start: `GPU0/3g.20gb@4`.
    pub name: String,
    /// The vendor's number, where it is not the device id.
    pub index: Option<u32>,
    /// The vendor's name of the product.
    pub product: Option<String>,
    /// The vendor's UUID.
    pub uuid: Option<String>,
    /// The PCI address.
    pub pci: Option<String>,
    /// Memory in bytes.
    pub memory_bytes: Option<u64>,
    /// The NUMA node above the device.
    pub numa: Option<u32>,
    /// The port into a switched fabric: all links of the device to its link switches together. They
    /// do not depend on the number of peers.
    pub switch_port: Option<Link>,
    /// The kind of vertex.
    pub unit: Unit,
    /// The whole device that the vertex is a part of; a whole device is its own parent.
    pub parent: DeviceId,
    /// The number of slices, if the parent can be partitioned.
    pub size: Option<mig::Size>,
    /// The host bridge through which the device reaches the host; none for the host's own parts.
    pub port: Option<PortId>,
    /// The class of the path to each network card, the closest first; an instance has those of its device.
    pub nics: Arc<[LinkClass]>,
}

impl Device {
    /// How many network cards are at most this far away.
    ///
    /// # Complexity
    /// O(c) for c cards.
    #[must_use]
    pub fn nics_within(&self, class: LinkClass) -> usize {
        self.nics.iter().take_while(|nic| **nic >= class).count()
    }

    /// A part of the host.
    pub(super) fn host(name: String, unit: Unit, numa: Option<u32>) -> Self {
        Self {
            name,
            index: None,
            product: None,
            uuid: None,
            pci: None,
            memory_bytes: None,
            numa,
            switch_port: None,
            unit,
            parent: DeviceId::default(),
            size: None,
            port: None,
            nics: Arc::default(),
        }
    }

    /// An instance of this device, which has the given id.
    pub(super) fn instance(&self, id: usize, model: &mig::Model, instance: mig::Instance) -> Self {
        let profile = model.profile(instance.profile);
        Self {
            memory_bytes: Some(profile.memory_bytes),
            parent: DeviceId(id as u32),
            size: Some(profile.size),
            nics: Arc::clone(&self.nics),
            ..Self::host(
                format!("{}/{}", self.name, model.print_instance(instance)),
                Unit::Slice(instance),
                self.numa,
            )
        }
    }
}
