//! From counters: bytes that went over links, matched to the peers at their other ends.
//!
//! A counter says how much went over a link of a device, and not to whom. Who is at the other end follows, strongest first,
//! from what the driver says (`nvidia-smi nvlink -R`), from the machine's graph and counters that mirror each other (what one
//! end sent, the other received), or from such counters alone. Behind link switches nothing follows: there, and wherever
//! counters mirror each other in more than one way, only sums are known, and traffic is spread over all pairs that
//! could have talked. Whatever was inferred or assumed is a note of the application.

mod mirrors;
mod outside;
mod pcie;
mod peers;
mod reading;
mod spread;

use std::collections::BTreeSet;

use mapa_core::{DeviceId, HardwareGraph};
use mapa_topologies::Dump;

pub use self::pcie::PcieSamples;
pub use self::reading::Reading;

use self::peers::Peers;
use self::reading::End;
use self::spread::spread;
use crate::application::{Application, Note, Unit};
use crate::error::Error;
use crate::traffic::TrafficMatrix;

/// Readings of counters, and what is known of the machine that they are of.
///
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
    /// The earlier of two readings; with none, all that was counted so far is taken.
    pub before: Option<&'a Reading>,
    /// Whether counters that ran backwards between the readings count from their reset, rather than being refused.
    pub resets: bool,
    /// The machine's graph.
    pub machine: Option<&'a HardwareGraph>,
    /// What the machine is called, such as `NVIDIA DGX-1 with eight Tesla V100`: a reading of another model is noted.
    pub title: Option<&'a str>,
    /// What `nvidia-smi nvlink -R` or `-p` says of the other ends of links.
    pub remotes: Option<&'a Dump>,
    /// What went over PCIe in about the same time.
    pub pcie: Option<&'a PcieSamples>,
    /// The job's devices in the order of its ranks: ids, numbers, names, UUIDs or, with a machine, PCI addresses. Empty for
    /// all devices with traffic, in the order of their numbers.
    pub devices: &'a [String],
    /// Links that carry less than this share of the busiest are left out [default: 0.01].
    pub noise: f64,
    /// How far the two ends of a link may disagree, as a share of what its busier direction carries; they are seldom read at
    /// the same instant [default: 0.01].
    pub tolerance: f64,
}

impl<'a> Counters<'a> {
    /// One reading, of which nothing else is known.
    #[must_use]
    pub fn new(after: &'a Reading) -> Self {
        let (before, machine, title, remotes, pcie) = Default::default();
        Self { after, before, resets: false, machine, title, remotes, pcie, devices: &[], noise: 0.01, tolerance: 0.01 }
    }

    /// The application that these counters show: an edge for each two devices that talked, of the bytes in its busier
    /// direction.
    ///
    /// # Errors
    /// Readings of other counters, devices or links than each other; counters that ran backwards, with their line; devices
    /// that are not in the reading or the machine; no traffic at all.
    pub fn application(&self) -> Result<Application, Error> {
        for (what, share) in [("noise", self.noise), ("tolerance", self.tolerance)] {
            if !(0.0..=0.5).contains(&share) {
                let what = format!("{what} of {} %: expected a share from 0 to 50 %", percent(share));
                return Err(Error::new(what));
            }
        }
        let mut notes = Vec::new();
        let ends = reading::ends(self.before, self.after, self.resets, &mut notes)?;
        let peers = Peers::new(self)?;
        peers.compare(self.title, &mut notes);
        let told = self.devices.iter().map(|word| peers.find(word)).collect::<Result<Vec<usize>, _>>()?;
        let busiest = ends.iter().map(End::busier).fold(0.0, f64::max);
        let ends = self.loud(ends, busiest, &peers, &mut notes);
        let mut traffic = TrafficMatrix::new(self.after.devices.len())?;
        peers.join(&ends, &mut traffic, &mut notes);
        if let Some(pcie) = self.pcie {
            self.over_pcie(pcie, &told, &peers, &mut traffic, &mut notes);
        }
        let ranks = ranks(told, &traffic, self)?;
        let pattern = job(&ranks, &traffic, &mut notes)?;
        let readings = if self.before.is_some() { "two readings" } else { "one reading since the counters began" };
        let mut application = Application::new("counters", format!("{readings}: {}", self.after.counts()), pattern);
        application.unit = Unit::Bytes;
        application.labels = ranks.iter().map(|device| peers.name(*device)).collect();
        application.notes = notes;
        Ok(application)
    }

    /// The ends of links that carry enough. An end that is quiet by a hair stays if the other end is not.
    fn loud(&self, ends: Vec<End>, busiest: f64, peers: &Peers<'_>, notes: &mut Vec<Note>) -> Vec<End> {
        let least = self.noise * busiest;
        let (loud, quiet): (Vec<End>, Vec<End>) =
            ends.into_iter().filter(|end| end.busier() > 0.0).partition(|end| end.busier() >= least);
        let is_other = |own: &End, other: &End| {
            own.device != other.device
                && (peers.are_one(own, other)
                    || own.busier() >= least * 0.5 && mirrors::mirror(own, other, self.tolerance))
        };
        let (kept, out): (Vec<End>, Vec<End>) =
            quiet.into_iter().partition(|own| loud.iter().any(|other| is_other(own, other)));
        if !out.is_empty() {
            let sum: f64 = out.iter().map(End::busier).sum();
            let most = out.iter().map(End::busier).fold(0.0, f64::max);
            notes.push(Note::left_out(format!(
                "{} of {} link ends with traffic carry less than {} % of the busiest ({}): at most {}, {} in all",
                out.len(),
                out.len() + loud.len() + kept.len(),
                percent(self.noise),
                bytes(busiest),
                bytes(most),
                bytes(sum),
            )));
        }
        let mut ends = loud;
        ends.extend(kept);
        ends.sort_by_key(|end| (end.device, end.link));
        ends
    }

    /// Traffic over PCIe of the job's devices that talk over no direct link: with whom is not known.
    fn over_pcie(
        &self,
        pcie: &PcieSamples,
        told: &[usize],
        peers: &Peers<'_>,
        traffic: &mut TrafficMatrix,
        notes: &mut Vec<Note>,
    ) {
        let n = self.after.devices.len();
        let own = |device: usize| {
            let number = self.after.devices.get(device).map(|seen| seen.number);
            number.and_then(|number| pcie.devices.get(&number)).copied().unwrap_or_default()
        };
        let (sent, received): (Vec<f64>, Vec<f64>) = (0..n).map(own).unzip();
        let least = self.noise * sent.iter().chain(&received).copied().fold(traffic.busiest(), f64::max);
        let both = |device: usize| {
            let (sent, received) = own(device);
            sent.min(received) > 0.0 && sent.max(received) >= least && (told.is_empty() || told.contains(&device))
        };
        let talks = |device: usize| (0..n).any(|other| traffic.sent(device, other) + traffic.sent(other, device) > 0.0);
        let silent: BTreeSet<usize> = (0..n).filter(|device| both(*device) && !talks(*device)).collect();
        let may_talk = |a: usize, b: usize| {
            let direct = peers
                .links(a.min(b), a.max(b))
                .map_or_else(|| traffic.sent(a, b) + traffic.sent(b, a) > 0.0, |n| n > 0);
            both(a) && both(b) && (silent.contains(&a) || silent.contains(&b)) && !direct
        };
        let matrix = spread(&sent, &received, may_talk);
        let flat =
            matrix.iter().enumerate().flat_map(|(a, row)| row.iter().enumerate().map(move |(b, sum)| (a, b, *sum)));
        let spread_out: Vec<(usize, usize, f64)> = flat.filter(|(.., sum)| *sum > 0.0).collect();
        let partners: BTreeSet<usize> = spread_out.iter().flat_map(|(a, b, _)| [*a, *b]).collect();
        let names = |set: &BTreeSet<usize>| set.iter().map(|device| peers.name(*device)).collect::<Vec<_>>().join(", ");
        if !partners.is_empty() {
            notes.push(Note::assumed(format!(
                "{} talk over no direct link, but over PCIe both ways: who with is not counted, so their traffic is spread \
                 over all pairs of {} that no direct link joins (greatest entropy); it may be traffic with the host",
                names(&silent),
                names(&partners)
            )));
        }
        let rest: BTreeSet<usize> =
            (0..n).filter(|device| own(*device) != (0.0, 0.0) && !partners.contains(device)).collect();
        if !rest.is_empty() {
            notes.push(Note::left_out(format!("traffic over PCIe of {}, taken to be with the host", names(&rest))));
        }
        spread_out.into_iter().for_each(|(a, b, sum)| traffic.add(a, b, sum));
    }
}

/// The job's devices: those that were told, else those with traffic.
fn ranks(told: Vec<usize>, traffic: &TrafficMatrix, counters: &Counters<'_>) -> Result<Vec<usize>, Error> {
    if let Some(twice) = (1..told.len()).find(|at| told.iter().take(*at).any(|own| told.get(*at) == Some(own))) {
        let word = counters.devices.get(twice).cloned().unwrap_or_default();
        return Err(Error::new(format!("device `{word}` is named twice: expected each device once")));
    }
    if !told.is_empty() {
        return Ok(told);
    }
    let n = traffic.len();
    let talks = |a: &usize| (0..n).any(|b| traffic.sent(*a, b) + traffic.sent(b, *a) > 0.0);
    let mut active: Vec<usize> = (0..n).filter(talks).collect();
    active.sort_by_key(|device| counters.after.devices.get(*device).map(|seen| seen.number));
    let hint = "no two devices talked: expected readings taken while the job runs, or the job's devices (--devices)";
    if active.is_empty() { Err(Error::new(hint)) } else { Ok(active) }
}

/// The pattern of the job's devices; what they exchanged with others is noted.
fn job(ranks: &[usize], traffic: &TrafficMatrix, notes: &mut Vec<Note>) -> Result<mapa_core::Pattern, Error> {
    let mut own = TrafficMatrix::new(ranks.len())?;
    let mut outside = 0.0;
    for (a, &from) in ranks.iter().enumerate() {
        for to in 0..traffic.len() {
            match ranks.iter().position(|rank| *rank == to) {
                Some(b) => own.add(a, b, traffic.sent(from, to)),
                None => outside += traffic.sent(from, to) + traffic.sent(to, from),
            }
        }
    }
    if outside > 0.0 {
        notes.push(Note::left_out(format!("{} between the job's devices and others", bytes(outside))));
    }
    own.pattern()
}

/// Bytes, for people.
fn bytes(amount: f64) -> String {
    Unit::Bytes.print(amount).unwrap_or_default()
}

/// A share in percent, without what binary fractions add.
fn percent(share: f64) -> f64 {
    (share * 1e10).round() / 1e8
}

/// The device of the graph that a number, or better a UUID, means.
fn of_graph(graph: &HardwareGraph, number: u32, uuid: Option<&str>) -> Option<DeviceId> {
    let wholes = || {
        (0u32..)
            .zip(graph.devices())
            .filter(|(id, device)| device.parent == DeviceId(*id) && device.unit.instance().is_none())
    };
    let by_uuid = uuid.and_then(|uuid| wholes().find(|(_, device)| device.uuid.as_deref() == Some(uuid)));
    let by_number = || wholes().find(|(id, device)| device.index.unwrap_or(*id) == number);
    let known = uuid.is_some() && wholes().all(|(_, device)| device.uuid.is_some());
    by_uuid.or_else(|| if known { None } else { by_number() }).map(|(id, _)| DeviceId(id))
}
