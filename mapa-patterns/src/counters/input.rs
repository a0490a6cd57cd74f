//! What the traffic of a job follows from: readings, and what is known of their machine.

use mapa_core::{DeviceId, HardwareGraph};
use mapa_topologies::Dump;

use super::pcie::PcieSamples;
use super::reading::Reading;
use crate::unit::Unit;

/// Readings of counters, and what is known about their machine.
///
/// # Examples
/// ```
/// use mapa_patterns::{Counters, Reading};
///
/// // Two GPUs of a machine, read one after the other.
/// let reading = Reading::read(
///     "GPU 5: Tesla P100-SXM2-16GB\n Link 0: Rx0: 500 KBytes, Tx0: 600 KBytes\n Link 1: Rx0: 0 KBytes, Tx0: 0 KBytes\n\
///      GPU 6: Tesla P100-SXM2-16GB\n Link 0: Rx0: 0 KBytes, Tx0: 0 KBytes\n Link 2: Rx0: 600 KBytes, Tx0: 500 KBytes\n",
/// )?;
/// let job = Counters::new(&reading).application()?;
/// assert_eq!((job.label(0), job.label(1)), ("GPU5".to_owned(), "GPU6".to_owned()));
/// assert_eq!(job.pattern.edges()[0].traffic, 600.0 * 1024.0);
/// # Ok::<(), mapa_patterns::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Counters<'a> {
    /// The reading, or the later of two.
    pub after: &'a Reading,
    /// The earlier of two readings. Without one, all bytes since the counters began count.
    pub before: Option<&'a Reading>,
    /// Whether counters that ran backwards between the readings count from their reset. Otherwise
    /// they are an error.
    pub resets: bool,
    /// The machine's graph.
    pub machine: Option<&'a HardwareGraph>,
    /// The title of the machine, such as `NVIDIA DGX-1 with eight Tesla V100`. A note says so if
    /// the reading is of another model.
    pub title: Option<&'a str>,
    /// The remote ends of links: the output of `nvidia-smi nvlink -R` or `-p`.
    pub remotes: Option<&'a Dump>,
    /// PCIe traffic over about the same time.
    pub pcie: Option<&'a PcieSamples>,
    /// The job's devices in the order of its ranks: ids, numbers, names, UUIDs or, with a machine,
    /// PCI addresses. Empty for all devices with traffic, in the order of their numbers.
    pub devices: &'a [String],
    /// Links that carry less than this share of the busiest link are left out [default: 0.01].
    pub noise: f64,
    /// How far the counters at the two ends of a link may differ, as a share of its busier
    /// direction. The ends are seldom read at the same instant [default: 0.01].
    pub tolerance: f64,
}

impl<'a> Counters<'a> {
    /// One reading, without a machine, remote ends or PCIe samples.
    #[must_use]
    pub fn new(after: &'a Reading) -> Self {
        Self {
            after,
            before: None,
            resets: false,
            machine: None,
            title: None,
            remotes: None,
            pcie: None,
            devices: &[],
            noise: 0.01,
            tolerance: 0.01,
        }
    }
}

/// Bytes, for people.
pub(super) fn bytes(amount: f64) -> String {
    Unit::Bytes.print(amount).unwrap_or_default()
}

/// A share in percent, without what binary fractions add.
pub(super) fn percent(share: f64) -> f64 {
    (share * 1e10).round() / 1e8
}

/// The device of the graph with this UUID, else with this number. If every device of the graph has
/// a UUID, the number alone does not count.
pub(super) fn of_graph(graph: &HardwareGraph, number: u32, uuid: Option<&str>) -> Option<DeviceId> {
    let wholes = (0u32..)
        .zip(graph.devices())
        .filter(|(id, device)| device.parent == DeviceId(*id) && device.unit.instance().is_none());
    let (mut by_number, mut all_have_uuids) = (None, true);
    for (id, device) in wholes {
        if uuid.is_some() && device.uuid.as_deref() == uuid {
            return Some(DeviceId(id));
        }
        all_have_uuids &= device.uuid.is_some();
        if by_number.is_none() && device.index.unwrap_or(id) == number {
            by_number = Some(DeviceId(id));
        }
    }
    by_number.filter(|_| uuid.is_none() || !all_have_uuids)
}
