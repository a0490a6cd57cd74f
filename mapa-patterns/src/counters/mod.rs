//! From link counters to an application graph: the bytes of each link are matched to its two ends.
//!
//! A counter gives the bytes of a link of a device. It does not name the device at the other end.
//! That device follows, in order of strength, from the driver (`nvidia-smi nvlink -R`), from the
//! machine's graph with counters that mirror each other (one end sent what the other received), or
//! from such counters alone. Behind link switches, and where counters mirror each other in more
//! than one way, only sums are known: the traffic is spread over all pairs that may have
//! communicated. Each inference and each assumption is a note of the application.

mod input;
mod mirrors;
mod outside;
mod pcie;
mod peers;
mod reading;
mod spread;

use std::collections::BTreeSet;

pub use self::input::Counters;
pub use self::pcie::PcieSamples;
pub use self::reading::Reading;

use self::input::{bytes, percent};
use self::peers::LinkPeers;
use self::reading::LinkEnd;
use self::spread::spread;
use crate::application::{Application, Note};
use crate::error::Error;
use crate::traffic::TrafficMatrix;
use crate::unit::Unit;

impl Counters<'_> {
    /// The application graph that follows from the counters: an edge for each pair of devices that
    /// communicated, with the bytes of its busier direction.
    ///
    /// # Errors
    /// Two readings with different counters, devices or links; counters that ran backwards, with
    /// their line; devices that are not in the reading or the machine; no traffic at all.
    ///
    /// # Complexity
    /// O(n^2 + d^2 r) for n link ends, d devices, and r rounds of fitting, at most 200; plus a
    /// search for assignments of links that visits at most 20,000 nodes in each of its steps. If the
    /// reading lacks devices of the machine, up to n rounds of matching replace that search.
    pub fn application(&self) -> Result<Application, Error> {
        for (what, share) in [("noise", self.noise), ("tolerance", self.tolerance)] {
            if !(0.0..=0.5).contains(&share) {
                let what = format!(
                    "{what} of {} %: expected a share from 0 to 50 %",
                    percent(share)
                );
                return Err(Error::new(what));
            }
        }
        let mut notes = Vec::new();
        let ends = reading::ends(self.before, self.after, self.resets, &mut notes)?;
        let peers = LinkPeers::new(self)?;
        peers.compare(self.title, &mut notes);
        let requested = self
            .devices
            .iter()
            .map(|word| peers.find(word))
            .collect::<Result<Vec<usize>, _>>()?;
        let busiest = ends.iter().map(LinkEnd::busier).fold(0.0, f64::max);
        let ends = self.loud(ends, busiest, &peers, &mut notes);
        let mut traffic = TrafficMatrix::new(self.after.devices.len())?;
        peers.join(&ends, &mut traffic, &mut notes);
        if let Some(pcie) = self.pcie {
            self.over_pcie(pcie, &requested, &peers, &mut traffic, &mut notes);
        }
        let ranks = ranks(requested, &traffic, self)?;
        let pattern = job(&ranks, &traffic, &mut notes)?;
        let readings = if self.before.is_some() {
            "two readings"
        } else {
            "one reading since the counters began"
        };
        let mut application = Application::new(
            "counters",
            format!("{readings}: {}", self.after.counts()),
            pattern,
        );
        application.unit = Unit::Bytes;
        application.labels = ranks.iter().map(|device| peers.name(*device)).collect();
        application.notes = notes;
        Ok(application)
    }

    /// The ends of links that carry more than noise. An end just below the threshold stays if the
    /// other end of its link is above it.
    fn loud(
        &self,
        ends: Vec<LinkEnd>,
        busiest: f64,
        peers: &LinkPeers<'_>,
        notes: &mut Vec<Note>,
    ) -> Vec<LinkEnd> {
        let least = self.noise * busiest;
        let (loud, quiet): (Vec<LinkEnd>, Vec<LinkEnd>) = ends
            .into_iter()
            .filter(|end| end.busier() > 0.0)
            .partition(|end| end.busier() >= least);
        let (kept, out): (Vec<LinkEnd>, Vec<LinkEnd>) = quiet.into_iter().partition(|end| {
            loud.iter().any(|other| {
                let mirrors =
                    || end.busier() >= least * 0.5 && mirrors::mirror(end, other, self.tolerance);
                end.device != other.device && (peers.are_one(end, other) || mirrors())
            })
        });
        if !out.is_empty() {
            let sum: f64 = out.iter().map(LinkEnd::busier).sum();
            let most = out.iter().map(LinkEnd::busier).fold(0.0, f64::max);
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

    /// Adds the PCIe traffic of the job's devices that use no direct link. Its peers are not known,
    /// so it is spread over the pairs of devices without a direct link.
    fn over_pcie(
        &self,
        pcie: &PcieSamples,
        requested: &[usize],
        peers: &LinkPeers<'_>,
        traffic: &mut TrafficMatrix,
        notes: &mut Vec<Note>,
    ) {
        let (sent, received): (Vec<f64>, Vec<f64>) = (self.after.devices.iter())
            .map(|seen| pcie.devices.get(&seen.number).copied().unwrap_or_default())
            .unzip();
        let least = self.noise
            * sent
                .iter()
                .chain(&received)
                .copied()
                .fold(traffic.busiest(), f64::max);
        // Devices of the job that send and receive over PCIe, and those of them without a direct
        // link that carries anything: only these need PCIe to communicate with each other.
        let mut active: BTreeSet<usize> = BTreeSet::new();
        let mut silent: BTreeSet<usize> = BTreeSet::new();
        for (device, (sent, received)) in sent.iter().zip(&received).enumerate() {
            if sent.min(*received) > 0.0
                && sent.max(*received) >= least
                && (requested.is_empty() || requested.contains(&device))
            {
                active.insert(device);
                if !talks(traffic, device) {
                    silent.insert(device);
                }
            }
        }
        let matrix = spread(&sent, &received, |a, b| {
            let is_direct = peers
                .links(a.min(b), a.max(b))
                .map_or_else(|| traffic.sent(a, b) + traffic.sent(b, a) > 0.0, |n| n > 0);
            active.contains(&a)
                && active.contains(&b)
                && (silent.contains(&a) || silent.contains(&b))
                && !is_direct
        });
        let mut partners: BTreeSet<usize> = BTreeSet::new();
        for (a, row) in matrix.iter().enumerate() {
            for (b, sum) in row.iter().enumerate().filter(|(_, sum)| **sum > 0.0) {
                traffic.add(a, b, *sum);
                partners.extend([a, b]);
            }
        }
        if !partners.is_empty() {
            notes.push(Note::assumed(format!(
                "{} use no direct link, but send and receive over PCIe: counters do not show their peers, so their traffic is \
                 spread over all pairs of {} without a direct link (maximum entropy); it may be traffic with the host",
                peers.names(silent),
                peers.names(partners.iter().copied())
            )));
        }
        let mut rest: Vec<usize> = Vec::new();
        for (device, sent_received) in sent.iter().zip(&received).enumerate() {
            if sent_received != (&0.0, &0.0) && !partners.contains(&device) {
                rest.push(device);
            }
        }
        if !rest.is_empty() {
            notes.push(Note::left_out(format!(
                "PCIe traffic of {}, assumed to be with the host",
                peers.names(rest)
            )));
        }
    }
}

/// Whether a device sent or received anything.
fn talks(traffic: &TrafficMatrix, device: usize) -> bool {
    (0..traffic.len()).any(|other| traffic.sent(device, other) + traffic.sent(other, device) > 0.0)
}

/// The job's devices: the requested ones, else those with traffic.
///
/// # Errors
/// A device that is requested twice; no device with traffic.
fn ranks(
    requested: Vec<usize>,
    traffic: &TrafficMatrix,
    counters: &Counters<'_>,
) -> Result<Vec<usize>, Error> {
    let mut seen = BTreeSet::new();
    for (device, word) in requested.iter().zip(counters.devices) {
        if !seen.insert(device) {
            return Err(Error::new(format!(
                "device `{word}` is named twice: expected each device once"
            )));
        }
    }
    if !requested.is_empty() {
        return Ok(requested);
    }
    let mut active: Vec<usize> = (0..traffic.len())
        .filter(|device| talks(traffic, *device))
        .collect();
    active.sort_by_key(|device| counters.after.devices.get(*device).map(|seen| seen.number));
    let hint = "no traffic between any two devices: expected readings taken while the job runs, or the job's devices (--devices)";
    if active.is_empty() {
        Err(Error::new(hint))
    } else {
        Ok(active)
    }
}

/// The pattern of the job's devices. Their traffic with other devices is left out, and noted.
fn job(
    ranks: &[usize],
    traffic: &TrafficMatrix,
    notes: &mut Vec<Note>,
) -> Result<mapa_core::Pattern, Error> {
    let mut matrix = TrafficMatrix::new(ranks.len())?;
    let mut outside = 0.0;
    for (a, &from) in ranks.iter().enumerate() {
        for to in 0..traffic.len() {
            match ranks.iter().position(|rank| *rank == to) {
                Some(b) => matrix.add(a, b, traffic.sent(from, to)),
                None => outside += traffic.sent(from, to) + traffic.sent(to, from),
            }
        }
    }
    if outside > 0.0 {
        notes.push(Note::left_out(format!(
            "{} between the job's devices and others",
            bytes(outside)
        )));
    }
    matrix.pattern()
}
