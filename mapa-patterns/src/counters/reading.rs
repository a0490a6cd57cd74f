//! Readings of link counters, and the bytes between two readings.
//!
//! A counter that runs backwards was reset, or has wrapped. The vendor documents counters of 64
//! bits and no width at which they wrap (NVML: `nvmlDeviceGetNvLinkUtilizationCounter` and the
//! fields `NVML_FI_DEV_NVLINK_THROUGHPUT_*`). So nothing is ever added for a wrap: the reading is
//! an error, or the bytes since the reset count, which are a lower bound.

use std::collections::BTreeMap;

use mapa_core::NodeKind;
use mapa_topologies::{Counter, Dump, Kind};

use crate::application::Note;
use crate::error::Error;

const EXPECTED: &str =
    "expected the output of `nvidia-smi nvlink -gt d` or `-g 0` while bytes are counted";

/// One reading of the link counters of a machine, as `nvidia-smi nvlink` prints it (`-gt d`,
/// `-gt r`, `-g 0`, `-g 1`), for all GPUs, or for several runs with `-i` in one text.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    pub(super) counter: Counter,
    pub(super) devices: Vec<CountedDevice>,
}

/// A device whose links are counted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CountedDevice {
    /// The vendor's number.
    pub(super) number: u32,
    pub(super) name: String,
    pub(super) product: Option<String>,
    pub(super) uuid: Option<String>,
    pub(super) links: BTreeMap<u32, LinkCount>,
}

/// The bytes over one link, and the line that has them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LinkCount {
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) line: usize,
}

impl Reading {
    /// Reads the text. KBytes and KiB are both 1024 bytes.
    ///
    /// # Errors
    /// A text in another form, with its line; links without byte counters; counters of several
    /// kinds.
    pub fn read(text: &str) -> Result<Self, Error> {
        Self::of_dump(&Kind::NvidiaSmiNvlink.read(text)?)
    }

    /// Takes the counters from a dump that was read before.
    ///
    /// # Errors
    /// As for [`Reading::read`].
    pub fn of_dump(dump: &Dump) -> Result<Self, Error> {
        let mut devices = devices(dump);
        let mut counter = None;
        for port in &dump.ports {
            let (Some(traffic), Some(counted)) = (port.traffic, port.counted) else {
                continue;
            };
            let (Some(sent), Some(received)) = (counted.sent_line, counted.received_line) else {
                let line = counted.sent_line.or(counted.received_line).unwrap_or(1);
                let what = format!(
                    "link {} is counted in one direction: expected both Tx and Rx",
                    port.link
                );
                return Err(Error::at(line, what));
            };
            if *counter.get_or_insert(counted.counter) != counted.counter {
                let what = "another counter than those above: expected one of `-gt d`, `-gt r`, `-g 0` and `-g 1`";
                return Err(Error::at(sent, what));
            }
            let count = LinkCount {
                sent: traffic.sent,
                received: traffic.received,
                line: sent.max(received),
            };
            devices
                .get_mut(port.device.index())
                .map(|seen| seen.links.insert(port.link, count));
        }
        let none = || {
            Error::new(format!(
                "no byte counters, but perhaps packets or cycles, or N/A: {EXPECTED}"
            ))
        };
        Ok(Self {
            counter: counter.ok_or_else(none)?,
            devices,
        })
    }

    /// The counter, for people.
    pub(super) fn counts(&self) -> String {
        match self.counter {
            Counter::Set(set) => format!("counter set {set} of nvidia-smi nvlink"),
            Counter::Data => "payload counted by nvidia-smi nvlink".to_owned(),
            Counter::Raw => "payload and protocol overhead counted by nvidia-smi nvlink".to_owned(),
        }
    }
}

fn devices(dump: &Dump) -> Vec<CountedDevice> {
    let nodes = dump
        .machine
        .fabric
        .nodes()
        .filter_map(|(_, node)| match &node.kind {
            NodeKind::Device(info) => Some((&node.name, info)),
            _ => None,
        });
    let seen = |(id, (name, info)): (u32, (&String, &mapa_core::DeviceInfo))| CountedDevice {
        number: info.index.unwrap_or(id),
        name: name.clone(),
        product: info.product.clone(),
        uuid: info.uuid.clone(),
        links: BTreeMap::new(),
    };
    (0..).zip(nodes).map(seen).collect()
}

/// One end of a link, and what went over it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LinkEnd {
    /// By its place in the later reading.
    pub(super) device: usize,
    pub(super) link: u32,
    pub(super) sent: f64,
    pub(super) received: f64,
}

impl LinkEnd {
    /// The bytes of the busier direction.
    pub(super) fn busier(&self) -> f64 {
        self.sent.max(self.received)
    }
}

/// The bytes over each link: since its counters began, or between two readings. With `resets`,
/// counters that ran backwards count from zero, and a note says so.
///
/// # Errors
/// Two readings with different counters, devices or links; counters that ran backwards, with the
/// line in `after`.
pub(super) fn ends(
    before: Option<&Reading>,
    after: &Reading,
    resets: bool,
    notes: &mut Vec<Note>,
) -> Result<Vec<LinkEnd>, Error> {
    let earlier = before
        .map(|before| same_devices(before, after))
        .transpose()?;
    let mut ends = Vec::new();
    for (device, seen) in after.devices.iter().enumerate() {
        let of_before = earlier.as_ref().and_then(|earlier| earlier.get(device));
        if let Some(of_before) = of_before {
            same_links(of_before, seen)?;
        }
        for (&link, count) in &seen.links {
            let base = of_before.and_then(|seen| seen.links.get(&link));
            let base = base.filter(|base| !ran_backwards(base, count));
            let (sent, received) = base.map_or((0, 0), |base| (base.sent, base.received));
            ends.push(LinkEnd {
                device,
                link,
                sent: count.sent.saturating_sub(sent) as f64,
                received: count.received.saturating_sub(received) as f64,
            });
        }
    }
    backwards(&earlier.unwrap_or_default(), after, resets, notes)?;
    Ok(ends)
}

fn ran_backwards(before: &LinkCount, after: &LinkCount) -> bool {
    after.sent < before.sent || after.received < before.received
}

/// Notes counters that ran backwards, or returns them as an error.
fn backwards(
    earlier: &[&CountedDevice],
    after: &Reading,
    resets: bool,
    notes: &mut Vec<Note>,
) -> Result<(), Error> {
    let (mut forwards, mut first) = (false, None);
    for (seen, of_before) in after.devices.iter().zip(earlier) {
        for (link, count) in &seen.links {
            let Some(base) = of_before.links.get(link) else {
                continue;
            };
            forwards |= count.sent > base.sent || count.received > base.received;
            if !ran_backwards(base, count) {
                continue;
            }
            first.get_or_insert((seen, link, base, count));
            if resets {
                let what = format!(
                    "{} link {link} was reset between the readings: only what came after counts",
                    seen.name
                );
                notes.push(Note::assumed(what).at(format!("line {}", count.line)));
            }
        }
    }
    let Some((seen, link, base, count)) = first.filter(|_| !resets) else {
        return Ok(());
    };
    let pair =
        |count: &LinkCount| format!("sent {} and received {} bytes", count.sent, count.received);
    let what = format!(
        "{} link {link} {}, but {} in the earlier reading",
        seen.name,
        pair(count),
        pair(base)
    );
    let hint = if forwards {
        "its counters were reset between the readings (or have wrapped, at a width that is not documented): expected \
         two readings without a reset between them, or --resets to count from the reset"
    } else {
        "no counter ran forwards: expected the earlier reading first"
    };
    Err(Error::at(count.line, format!("{what}: {hint}")))
}

/// The devices of the earlier reading, in the order of the later.
fn same_devices<'a>(before: &'a Reading, after: &Reading) -> Result<Vec<&'a CountedDevice>, Error> {
    if before.counter != after.counter {
        let what = format!(
            "the readings are of two counters, {} and {}",
            before.counter, after.counter
        );
        return Err(Error::new(what + ": expected the same option for both"));
    }
    let lacks = |seen: &CountedDevice, which: &str| {
        let line = seen
            .links
            .values()
            .next()
            .map(|count| format!(" (line {} of it)", count.line))
            .unwrap_or_default();
        Error::new(format!(
            "{} is in the {which} reading alone{line}: expected the same GPUs in both",
            seen.name
        ))
    };
    let mut earlier = Vec::new();
    for seen in &after.devices {
        let device = before
            .devices
            .iter()
            .find(|device| device.number == seen.number)
            .ok_or_else(|| lacks(seen, "later"))?;
        if let (Some(then), Some(now)) = (&device.uuid, &seen.uuid)
            && then != now
        {
            let what = format!(
                "{} is {now}, but was {then} in the earlier reading: expected the same GPU",
                seen.name
            );
            return Err(seen
                .links
                .values()
                .next()
                .map_or_else(|| Error::new(&what), |at| Error::at(at.line, &what)));
        }
        earlier.push(device);
    }
    let gone = before.devices.iter().find(|device| {
        after
            .devices
            .iter()
            .all(|seen| seen.number != device.number)
    });
    gone.map_or(Ok(earlier), |gone| Err(lacks(gone, "earlier")))
}

fn same_links(before: &CountedDevice, after: &CountedDevice) -> Result<(), Error> {
    if let Some((link, count)) = after
        .links
        .iter()
        .find(|(link, _)| !before.links.contains_key(link))
    {
        let what = format!(
            "{} link {link} is not counted in the earlier reading",
            after.name
        );
        return Err(Error::at(
            count.line,
            what + ": expected the same links in both",
        ));
    }
    let Some((link, count)) = before
        .links
        .iter()
        .find(|(link, _)| !after.links.contains_key(link))
    else {
        return Ok(());
    };
    let what = format!(
        "{} link {link}, line {} of the earlier reading, is not counted in the later",
        after.name, count.line
    );
    let what = what + ": expected the same links in both";
    Err(after
        .links
        .values()
        .next()
        .map_or_else(|| Error::new(&what), |at| Error::at(at.line, &what)))
}
