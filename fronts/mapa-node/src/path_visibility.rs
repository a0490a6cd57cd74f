//! Whether this machine shows what its devices share.

#[cfg(feature = "slo")]
use mapa_core::DeviceId;
use mapa_core::{HardwareGraph, LinkClass};
use mapa_live::{Discovered, Live, discover};
use mapa_topologies::HostDetail;

/// What is known of the paths between devices.
#[derive(Debug)]
pub(crate) struct PathVisibility {
    /// The devices that the drivers list; `None` if they list none, or not what joins them.
    #[cfg(feature = "slo")]
    pub graph: Option<HardwareGraph>,
    /// Why it is not known what devices share a path; `None` if it is.
    pub hidden: Option<String>,
    /// What a driver failed to say, and may say later: until then nothing is hidden for good. `None` if all
    /// have answered.
    pub unanswered: Option<String>,
}

impl PathVisibility {
    /// That of this machine.
    pub(crate) fn of(live: &Live) -> Self {
        let found = match discover(live) {
            Ok(found) => found,
            Err(error) => {
                // Discovery fails while a driver is updated, so this is taken for an answer that may come
                // later.
                return Self {
                    #[cfg(feature = "slo")]
                    graph: None,
                    hidden: None,
                    unanswered: Some(error.to_string()),
                };
            }
        };
        let graph = graph(&found);
        let hidden = match &graph {
            Ok(graph) => hidden(&found, graph),
            Err(why) => Some(why.clone()),
        };
        Self {
            #[cfg(feature = "slo")]
            graph: graph.ok(),
            hidden,
            unanswered: found.unanswered,
        }
    }
}

/// What latency control asks.
#[cfg(feature = "slo")]
impl PathVisibility {
    /// Whether this machine has a whole device of this UUID; `None` if the drivers list no devices.
    pub(crate) fn has(&self, uuid: &str) -> Option<bool> {
        let graph = self.graph.as_ref()?;
        let wholes = graph.wholes();
        let mut wholes = wholes.iter();
        Some(wholes.any(|id| graph.device(id).uuid.as_deref() == Some(uuid)))
    }

    /// The other devices that share a path with one: those behind its PCIe switches, or, where the topology is
    /// hidden, all of its NUMA node, and all of the machine if that is hidden too.
    pub(crate) fn devices_sharing_path(&self, uuid: &str) -> Option<Vec<String>> {
        let graph = self.graph.as_ref()?;
        let device = graph.find(uuid).ok()?;
        let shares = |other: DeviceId| match &self.hidden {
            // PXB and closer are paths through switches alone. A path of PHB or farther crosses a host bridge,
            // so the two devices are on ports of their own.
            None => graph.pair(device, other).host.class >= LinkClass::Pxb,
            Some(_) => {
                let numa = |id| graph.device(id).numa;
                numa(device)
                    .zip(numa(other))
                    // Where a node is unknown, suspect rather than miss: the device counts as near.
                    .is_none_or(|(candidate, other)| candidate == other)
            }
        };
        let wholes = graph.wholes();
        let others = wholes.iter().filter(|&other| other != device);
        let others = others.filter(|&other| shares(other));
        Some(
            others
                .filter_map(|id| graph.device(id).uuid.clone())
                .collect(),
        )
    }

    /// The NUMA node of a device, if it is known.
    pub(crate) fn numa(&self, uuid: &str) -> Option<u32> {
        let graph = self.graph.as_ref()?;
        graph.device(graph.find(uuid).ok()?).numa
    }
}

fn graph(found: &Discovered) -> Result<HardwareGraph, String> {
    found.machine.graph().map_err(|error| error.to_string())
}

/// Why it is not known which devices share a path; `None` if it is.
pub(crate) fn hidden(found: &Discovered, graph: &HardwareGraph) -> Option<String> {
    if graph.wholes().len() < 2 {
        return None;
    }
    if found.says.host < HostDetail::Classes {
        return Some("the driver does not tell the paths between devices".to_owned());
    }
    let all = graph.wholes();
    let class = |a, b| graph.pair(a, b).host.class;
    let pairs = all
        .iter()
        .flat_map(|a| all.iter().map(move |b| (a, b)))
        .filter(|(a, b)| a < b);
    // Virtual machines often show no switch at all, and the same path between any two devices.
    let mut classes = pairs.map(|(a, b)| class(a, b));
    let first = classes.next()?;
    (first < LinkClass::Pxb && classes.all(|class| class == first)).then(|| {
        "the driver tells the same path between any two devices, as where a hypervisor hides switches"
            .to_owned()
    })
}
