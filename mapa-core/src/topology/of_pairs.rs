//! A machine by its pairs of devices: as `{:?}` prints it, so that a failing test's machine can be copied into another.

use std::collections::BTreeMap;
use std::fmt;

use super::device_set::DeviceSet;
use super::fabric::{Fabric, FabricWire};
use super::hardware::HardwareGraph;
use crate::error::{Error, ErrorKind};
use crate::ids::{DeviceId, LinkClass};

/// The most devices whose pairs are printed one by one: these have 120.
const LISTED: usize = 16;

impl HardwareGraph {
    /// The machine with these devices and links. A link is of two devices, by their positions, with its class and its
    /// bandwidth, GB/s per direction: direct links, a path through the host, or one of each. A pair without a link is not
    /// joined.
    ///
    /// `{:?}` of a machine of at most sixteen devices prints this call. It has neither link switches nor the tree of the
    /// host nor MIG, and says so if the machine has these: [`Fabric`] describes them.
    ///
    /// # Examples
    /// ```
    /// use mapa_core::{HardwareGraph, LinkClass};
    ///
    /// let graph = HardwareGraph::of_pairs(
    ///     ["GPU0", "GPU1", "GPU2"],
    ///     [(0, 1, LinkClass::Direct(2), 50.0), (0, 2, LinkClass::Sys, 12.0), (1, 2, LinkClass::Sys, 12.0)],
    /// )?;
    /// assert_eq!(
    ///     format!("{graph:?}"),
    ///     "HardwareGraph::of_pairs([\"GPU0\", \"GPU1\", \"GPU2\"], [(0, 1, LinkClass::Direct(2), 50.0), \
    ///      (0, 2, LinkClass::Sys, 12.0), (1, 2, LinkClass::Sys, 12.0)])"
    /// );
    /// # Ok::<(), mapa_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Two devices of one name, a position that no device has, a link that is given twice, a bandwidth that is not a positive
    /// number.
    ///
    /// # Complexity
    /// As [`Fabric::lower`].
    pub fn of_pairs<'n>(
        names: impl IntoIterator<Item = &'n str>,
        links: impl IntoIterator<Item = (usize, usize, LinkClass, f64)>,
    ) -> Result<Self, Error> {
        let mut fabric = Fabric::new();
        let devices = names.into_iter().map(|name| fabric.add_device(name));
        let devices = devices.collect::<Result<Vec<_>, _>>()?;
        let device = |at: usize| devices.get(at).copied().ok_or(ErrorKind::ForeignNode);
        for (a, b, class, gbps) in links {
            fabric.link(device(a)?, device(b)?, class, gbps)?;
        }
        fabric.lower()
    }
}

/// The call of [`HardwareGraph::of_pairs`] that makes these devices and links again, and what it leaves out; of more than
/// sixteen devices their names and the number of pairs of each class.
impl fmt::Debug for HardwareGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wholes = self.wholes();
        if wholes.len() > LISTED {
            return self.counted(&wholes, f);
        }
        let ids: Vec<DeviceId> = wholes.iter().collect();
        let names = ids.iter().map(|&id| &*self.device(id).name);
        f.write_str("HardwareGraph::of_pairs(")?;
        write!(f, "{:?}", names.collect::<Vec<_>>())?;
        f.write_str(", [")?;
        let mut comma = "";
        for (at, &a) in ids.iter().enumerate() {
            for (other, &b) in ids.iter().enumerate().skip(at + 1) {
                let pair = self.pair(a, b);
                for link in [pair.direct, pair.host]
                    .into_iter()
                    .filter(|link| link.exists())
                {
                    write!(
                        f,
                        "{comma}({at}, {other}, LinkClass::{:?}, {:?})",
                        link.class, link.gbps
                    )?;
                    comma = ", ";
                }
            }
        }
        f.write_str("])")?;
        let mut wires = self.fabric().wires();
        let has_tree = wires.any(|(.., wire)| matches!(wire, FabricWire::Up { .. }));
        let beside = [
            (self.len() > ids.len(), "MIG instances or network cards"),
            (
                ids.iter().any(|&id| self.device(id).switch_port.is_some()),
                "link switches",
            ),
            (has_tree, "the tree of the host"),
        ];
        let beside = beside.into_iter().filter(|(is_there, _)| *is_there);
        let beside: Vec<&str> = beside.map(|(_, what)| what).collect();
        if beside.is_empty() {
            return Ok(());
        }
        write!(f, " /* without {} */", beside.join(", "))
    }
}

impl HardwareGraph {
    /// The names of the devices, and the number of their pairs by class.
    fn counted(&self, wholes: &DeviceSet, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = wholes.iter().map(|id| &*self.device(id).name).collect();
        let mut links: BTreeMap<String, usize> = BTreeMap::new();
        for (.., link) in self.links_within(wholes) {
            *links.entry(link.class.to_string()).or_default() += 1;
        }
        f.debug_struct("HardwareGraph")
            .field("devices", &format_args!("{}", names.join(" ")))
            .field("pairs", &format_args!("{links:?}"))
            .finish_non_exhaustive()
    }
}
