//! Reader for the output of `nvidia-smi nvlink`, which lists each link: its state (`-s`),
//! capabilities (`-c`), other end (`-R`, `-p`), traffic (`-g`, `-gt`) and errors (`-e`). `icn` of
//! T-Head's `ppu-smi` has the same grammar.
//!
//! The lines of a GPU's links ([`line`]) follow the line that names the GPU. Link numbers increase
//! within a GPU, so a smaller number shows that the line of the next GPU is lost. [`remotes`] finds
//! the devices or switches at the other ends.
//!
//! Some drivers number the links that are up in `-R`, but all links in `-s` (two H100 PCIe with
//! bridges: twelve links up, of 18). So the same number in two outputs may mean two different
//! links.

mod line;
mod remotes;

use mapa_core::{DeviceId, Fabric, FabricNode, LinkClass, NodeId, NodeKind};

use self::line::{LinkFact, LinkLine};
use self::remotes::RemoteEnds;
use super::headings::{self, GpuHeading};
use super::{nvidia_smi_topo, text};
use crate::dump::{Counted, Counter, Dump, Port, Says, Traffic};
use crate::error::Error;
use crate::kind::Kind;
use crate::links::ASSUMED_DIRECT_GBPS;
use crate::machine::{Labels, Machine, Warning};
use crate::vendor::Vendor;

const EXPECTED: &str = "expected a line such as `Link 0: 25.781 GB/s`, `Link 0: <inactive>`, \
    `Link 0: Remote Device 00000000:1B:00.0: Link 5`, `Link 0, P2P is supported: true` or `Link 0: Data Tx: 12 KiB`";

/// Whether a text has a line about a link, or one that states that a GPU has no links. A text with
/// a matrix of `topo -m` is left to that reader, because the matrix has more information.
pub(super) fn is(text: &str) -> bool {
    let (mut known, mut any, mut named) = (false, false, false);
    for (number, clean) in text::lines(text) {
        let line = line::parse(&clean);
        any |= line.is_some();
        known |= line.is_some_and(|line| line.fact.is_some()) || line::is_verdict(&clean);
        // A cut heading counts as a heading.
        named |= headings::parse(&clean, number).map_or(true, |heading| heading.is_some());
    }
    (known || any && named) && !nvidia_smi_topo::is(text)
}

pub(super) fn read(text: &str) -> Result<Dump, Error> {
    let mut links = NvLinkReader::default();
    for (number, clean) in text::lines(text) {
        links.read_line(&clean, number)?;
    }
    links.finish()
}

/// The state of reading.
#[derive(Default)]
struct NvLinkReader {
    headings: Vec<GpuHeading>,
    ports: Vec<Port>,
    /// The number of the previous link, if it belongs to the same device.
    last: Option<u32>,
    /// The line of the first link, if it comes before any heading.
    unnamed: Option<usize>,
    /// Whether lines were left out, and no heading has been read since.
    lost: bool,
    /// Whether lines were left out, or a heading is missing.
    incomplete: bool,
    warnings: Vec<Warning>,
}

impl NvLinkReader {
    fn read_line(&mut self, text: &str, number: usize) -> Result<(), Error> {
        if let Some(heading) = headings::parse(text, number)? {
            if let Some(line) = self.unnamed {
                return Err(unnamed(line));
            }
            self.headings.push(heading);
            (self.last, self.lost) = (None, false);
        } else if let Some(line) = line::parse(text) {
            self.add(line, number, text)?;
        } else if line::has_lost_its_beginning(text) {
            return Err(Error::at(
                number,
                format!("the beginning of the line is lost: {EXPECTED}"),
            ));
        } else if text::is_elision(text) && !self.lost {
            self.warn(
                number,
                "something is left out here: the links up to the next device are left out too",
            );
            (self.lost, self.incomplete) = (true, true);
        }
        Ok(())
    }

    fn add(
        &mut self,
        LinkLine { link, fact }: LinkLine,
        number: usize,
        text: &str,
    ) -> Result<(), Error> {
        let Some(fact) = fact else {
            return Err(Error::at(number, format!("link {link}: {EXPECTED}")));
        };
        if self.lost {
            return Ok(());
        }
        if let Some(last) = self.last.filter(|&last| link < last) {
            let what =
                format!("link {link} after link {last}: the links of an unnamed device begin here");
            return Err(Error::at(
                number,
                what + ": expected a line `GPU 0: NAME` before them",
            ));
        }
        if self.headings.is_empty() && self.unnamed.is_none() {
            self.unnamed = Some(number);
        }
        let device = DeviceId(self.headings.len().saturating_sub(1) as u32);
        if self.last != Some(link) {
            self.ports.push(Port::new(device, link));
        }
        self.last = Some(link);
        let told = match &fact {
            LinkFact::Traffic { sent, received } => {
                line::counter(text).map(|counter| (counter, *sent, *received))
            }
            _ => None,
        };
        let known = self.ports.last_mut().is_some_and(|port| {
            if let Some((counter, sent, received)) = told {
                let (sent, received) = (sent.map(|_| number), received.map(|_| number));
                if !says_where(port, counter, sent, received) {
                    return false;
                }
            }
            set(port, fact)
        });
        if !known {
            return Err(Error::at(
                number,
                format!("link {link}: this fact appears a second time: expected it once"),
            ));
        }
        Ok(())
    }

    fn warn(&mut self, line: usize, what: impl Into<String>) {
        self.warnings.push(Warning {
            line: Some(line),
            what: what.into(),
        });
    }

    fn finish(mut self) -> Result<Dump, Error> {
        if let Some(line) = self.unnamed {
            self.warn(
                line,
                "no device is named: the links are read as those of GPU0",
            );
            self.incomplete = true;
            self.headings.push(GpuHeading::unnamed(line, 0));
        }
        if self.headings.is_empty() {
            return Err(Error::new(format!("no links found: {EXPECTED}")));
        }
        let missing = headings::check(&self.headings)?;
        self.incomplete |= missing.is_some();
        self.warnings.extend(missing);
        let Self {
            headings,
            ports,
            incomplete,
            mut warnings,
            ..
        } = self;
        let (ends, note) = ends(&headings, &ports, incomplete);
        let direct = ends != RemoteEnds::Open;
        let fabric = fabric(headings, ends, &mut warnings)?;
        warnings.sort_by_key(|warning| warning.line);
        let up = || ports.iter().filter(|port| port.active != Some(false));
        let says = Says {
            every_device: !incomplete,
            direct,
            direct_gbps: up().next().is_some() && up().all(|port| port.gbps.is_some()),
            ..Says::default()
        };
        let machine = Machine {
            name: "nvlink".to_owned(),
            title: format!(
                "{} devices, read from nvidia-smi nvlink",
                fabric.device_count()
            ),
            source: "nvidia-smi nvlink".to_owned(),
            notes: note.into_iter().map(str::to_owned).collect(),
            vendor: Some(Vendor::Nvidia),
            labels: Labels::default(),
            fabric,
            warnings,
        };
        let mut dump = Dump::new(Kind::NvidiaSmiNvlink, machine, says);
        dump.ports = ports;
        Ok(dump)
    }
}

fn unnamed(line: usize) -> Error {
    Error::at(
        line,
        "links of a device that is not named: expected a line `GPU 0: NAME` before them",
    )
}

/// Stores a fact. Returns false if the fact was stored before.
fn set(port: &mut Port, fact: LinkFact) -> bool {
    fn fill<T>(place: &mut Option<T>, value: T) -> bool {
        place.is_none() && place.replace(value).is_none()
    }
    match fact {
        LinkFact::Rate(gbps) => fill(&mut port.active, true) && fill(&mut port.gbps, gbps),
        LinkFact::Active(active) => fill(&mut port.active, active),
        LinkFact::Remote(address, link) => fill(&mut port.remote, (address, link)),
        LinkFact::PeerToPeer(supported) => fill(&mut port.peer_to_peer, supported),
        LinkFact::Traffic { sent, received } => count(&mut port.traffic, sent, received),
        LinkFact::Other => true,
    }
}

/// Stores the lines of a port's counter. Returns false if the port has another counter already.
fn says_where(
    port: &mut Port,
    counter: Counter,
    sent: Option<usize>,
    received: Option<usize>,
) -> bool {
    let told = port.counted.get_or_insert(Counted {
        counter,
        sent_line: None,
        received_line: None,
    });
    told.sent_line = told.sent_line.or(sent);
    told.received_line = told.received_line.or(received);
    told.counter == counter
}

/// Stores the bytes of a line, in one direction or both. Returns false if a direction was stored
/// before.
fn count(traffic: &mut Option<Traffic>, sent: Option<u64>, received: Option<u64>) -> bool {
    // 0 stands for a direction that was not stored yet. A stored 0 looks the same, but repeating
    // it is harmless.
    let so_far = traffic.get_or_insert_default();
    let fits = (sent.is_none() || so_far.sent == 0) && (received.is_none() || so_far.received == 0);
    so_far.sent = sent.unwrap_or(so_far.sent);
    so_far.received = received.unwrap_or(so_far.received);
    fits
}

/// The other ends of the links, and a note for the machine. If devices or links are missing, the
/// other ends cannot be derived.
fn ends(
    headings: &[GpuHeading],
    ports: &[Port],
    incomplete: bool,
) -> (RemoteEnds, Option<&'static str>) {
    let up = || ports.iter().filter(|port| port.active != Some(false));
    let addresses =
        || up().filter_map(|port| Some((port.device, port.remote.as_ref()?.0.as_str())));
    if addresses().next().is_none() {
        return (RemoteEnds::Open, None);
    }
    let open = "The addresses at the other ends of links do not show whether they belong to devices or switches.";
    if incomplete || up().any(|port| port.remote.is_none()) {
        return (RemoteEnds::Open, Some(open));
    }
    // `remotes` needs the devices in the order of the vendor's numbers. The lines may have another.
    let mut order: Vec<usize> = (0..headings.len()).collect();
    order.sort_by_key(|&id| headings[id].number);
    let mut place = vec![0; headings.len()];
    order
        .iter()
        .enumerate()
        .for_each(|(nth, &id)| place[id] = nth);
    let remotes: Vec<(usize, &str)> = addresses()
        .filter_map(|(device, address)| Some((*place.get(device.index())?, address)))
        .collect();
    match remotes::ends(&remotes) {
        RemoteEnds::Devices { addresses, links } => {
            let ends = RemoteEnds::Devices {
                addresses: addresses
                    .into_iter()
                    .map(|(nth, address)| (order[nth], address))
                    .collect(),
                links: links
                    .into_iter()
                    .map(|((a, b), count)| ((order[a], order[b]), count))
                    .collect(),
            };
            (
                ends,
                Some(
                    "There are as many addresses at the other ends of links as devices: they are \
                     read as the devices' own, in order. \
                     No bandwidths are printed with them: unless set, a direct link counts 25 GB/s.",
                ),
            )
        }
        RemoteEnds::Switches(links) => {
            let links = links
                .into_iter()
                .map(|(nth, count)| (order[nth], count))
                .collect();
            (
                RemoteEnds::Switches(links),
                Some(
                    "All devices have links to the same addresses: these are read as switches of \
                     one fabric. \
                     No bandwidths are printed with them: unless set, a direct link counts 25 GB/s.",
                ),
            )
        }
        RemoteEnds::Open => (RemoteEnds::Open, Some(open)),
    }
}

fn fabric(
    headings: Vec<GpuHeading>,
    ends: RemoteEnds,
    warnings: &mut Vec<Warning>,
) -> Result<Fabric, Error> {
    let mut fabric = Fabric::new();
    let mut devices = Vec::new();
    for (id, heading) in headings.into_iter().enumerate() {
        let line = heading.line;
        let pci = match &ends {
            RemoteEnds::Devices { addresses, .. } => addresses.get(&id).cloned(),
            _ => None,
        };
        let node = heading.into_node(id, pci, warnings);
        let node = fabric
            .add(node)
            .map_err(|error| Error::core(Some(line), error))?;
        devices.push((node, line));
    }
    match ends {
        RemoteEnds::Devices { links, .. } => {
            for ((a, b), count) in links {
                join(&mut fabric, devices[a], devices[b].0, count)?;
            }
        }
        RemoteEnds::Switches(links) => {
            let switch = fabric.add(FabricNode {
                name: "link-switch0".to_owned(),
                kind: NodeKind::LinkSwitch,
            })?;
            for (device, count) in links {
                join(&mut fabric, devices[device], switch, count)?;
            }
        }
        RemoteEnds::Open => {}
    }
    Ok(fabric)
}

fn join(
    fabric: &mut Fabric,
    (a, line): (NodeId, usize),
    b: NodeId,
    count: usize,
) -> Result<(), Error> {
    let links = u8::try_from(count);
    let links = links.map_err(|_| {
        Error::at(
            line,
            format!("{count} links to one device: expected at most 255"),
        )
    })?;
    let gbps = f64::from(links) * ASSUMED_DIRECT_GBPS;
    fabric
        .link(a, b, LinkClass::Direct(links), gbps)
        .map_err(|error| Error::core(Some(line), error))
}
