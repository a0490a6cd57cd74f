//! Reader for Slurm's `gres.conf`, and for the form of it that `slurmd -G` and slurmd's log print.
//!
//! Each record is one device or several: `Name=gpu Type=a100 File=/dev/nvidia0 Links=-1,4,4,4`. *Links*
//! has a number for every device of the node: -1 for the device itself, otherwise the number of
//! direct links to that device. Slurm records nothing else about links. *Cores* shows which devices
//! share processors. The output of `slurmd -G` also has `Index`, and a name in front of each
//! record. Terminals break its lines.
//!
//! [`records`] joins broken lines and parses the records. This file compares the devices of one
//! node with each other and builds the fabric.

mod records;

use std::collections::{BTreeMap, HashMap, HashSet};

use mapa_core::{DeviceId, DeviceInfo, Fabric, FabricNode, Link, LinkClass, MAX_DEVICES};

use super::infer::MOST_NVLINKS;
use super::pairs::PairLinks;
use crate::dump::{Dump, HostDetail, MigInstance, Says};
use crate::error::{Error, ErrorKind};
use crate::kind::Kind;
use crate::links::{ASSUMED_DIRECT_GBPS, ASSUMED_HOST_GBPS};
use crate::machine::{Labels, Machine, Warning};
use crate::products;
use crate::readers::amd;
use crate::vendor::Vendor;
use records::{DeviceFields, GresDevice, GresRecords};

/// Whether a text has a line that begins like a record of `gres.conf` or of slurmd's output.
pub(super) fn is(text: &str) -> bool {
    text.lines().any(records::is_record)
}

/// Reads the devices of one node.
///
/// Devices get ids in the order of their own places in *Links*, or in the order of the records if
/// there are no *Links*. The number in `/dev/nvidia3` is the vendor's number. The bandwidth of a
/// link follows from the type, if the type is known. If a device has more links than a device can
/// have, its group is attached to a link switch. Devices with the same *Cores* share a NUMA node.
///
/// # Errors
/// *Links* without a record for every device; *Links* of two devices that contradict each other; a
/// device listed twice; a second node with other devices. The message names the line.
pub(super) fn read(text: &str) -> Result<Dump, Error> {
    let GresRecords {
        listed,
        has_detection,
        mut warnings,
    } = records::read(text)?;
    let listed = one_node(listed)?;
    if listed.is_empty() && has_detection {
        let what = "AutoDetect alone names no devices: expected the output of `slurmd -G` or `nvidia-smi topo -m`";
        return Err(Error::of_kind(ErrorKind::Incomplete, what));
    }
    let devices = GresDevices::new(listed, &mut warnings)?;
    devices.build(warnings)
}

/// The devices of the first node.
///
/// # Errors
/// Another node that has other devices.
fn one_node(listed: Vec<GresDevice>) -> Result<Vec<GresDevice>, Error> {
    let mut order: Vec<&str> = Vec::new();
    let mut nodes: HashMap<&str, Vec<&GresDevice>> = HashMap::new();
    for device in listed.iter().filter(|device| !device.node.is_empty()) {
        let of_node = nodes.entry(&*device.node).or_default();
        if of_node.is_empty() {
            order.push(&device.node);
        }
        of_node.push(device);
    }
    let Some((first, others)) = order.split_first() else {
        return Ok(listed);
    };
    let mine = &nodes[first];
    for other in others {
        let theirs = &nodes[other];
        if mine.len() != theirs.len() || mine.iter().zip(theirs).any(|(a, b)| a.device != b.device)
        {
            let what = format!(
                "node {other} begins here, with other devices than node {first}: expected the records of one node"
            );
            return Err(Error::at(
                theirs.first().map_or(1, |device| device.line),
                what,
            ));
        }
    }
    // A record without a node belongs to every node.
    let first = (*first).to_owned();
    Ok(listed
        .into_iter()
        .filter(|device| device.node.is_empty() || *device.node == *first)
        .collect())
}

/// The whole devices, and the MIG instances on them.
struct GresDevices {
    whole: Vec<WholeGpu>,
    instances: Vec<(usize, String, Option<String>)>,
    has_links: bool,
}

struct WholeGpu {
    line: usize,
    device: DeviceFields,
    /// The number of direct links to each whole device.
    links: Vec<u8>,
}

impl GresDevices {
    fn new(listed: Vec<GresDevice>, warnings: &mut Vec<Warning>) -> Result<Self, Error> {
        let all = listed.len();
        let (cut, whole): (Vec<GresDevice>, Vec<GresDevice>) = listed
            .into_iter()
            .partition(|listed| listed.device.instance.is_some());
        let has_links = whole.iter().any(|listed| listed.device.links.is_some());
        let mut whole = if has_links {
            linked(whole, all)?
        } else {
            whole.into_iter().map(WholeGpu::unlinked).collect()
        };
        let mut instances = Vec::new();
        for GresDevice { line, device, .. } in cut {
            let instance = device.instance.clone().unwrap_or_default();
            let uuid = device.uuid.clone();
            let Some(number) = device.number else {
                let what = format!(
                    "instance {instance}: its file does not name the device, so it is left out"
                );
                warnings.push(Warning {
                    line: Some(line),
                    what,
                });
                continue;
            };
            let parent = whole
                .iter()
                .position(|whole| whole.device.number == Some(number));
            let parent = match parent {
                Some(parent) => parent,
                None if has_links => {
                    return Err(Error::at(
                        line,
                        format!(
                            "instance {instance} is on device {number}, which has no record: expected one"
                        ),
                    ));
                }
                None => {
                    let device = DeviceFields {
                        instance: None,
                        uuid: None,
                        links: None,
                        ..device
                    };
                    whole.push(WholeGpu {
                        line,
                        device,
                        links: Vec::new(),
                    });
                    whole.len() - 1
                }
            };
            if instance.is_empty() {
                let what = format!(
                    "an instance of device {number}: its profile is unknown, so it is left out"
                );
                warnings.push(Warning {
                    line: Some(line),
                    what,
                });
            } else {
                instances.push((parent, instance, uuid));
            }
        }
        if whole.len() > MAX_DEVICES {
            return Err(Error::new(format!(
                "{} devices: expected at most {MAX_DEVICES}",
                whole.len()
            )));
        }
        let mut seen = HashSet::new();
        for (id, whole) in whole.iter().enumerate() {
            if !seen.insert(whole.number(id)) {
                let what = format!(
                    "device {} appears a second time: expected each once",
                    whole.number(id)
                );
                return Err(Error::at(whole.line, what));
            }
        }
        Ok(Self {
            whole,
            instances,
            has_links,
        })
    }

    fn build(self, warnings: Vec<Warning>) -> Result<Dump, Error> {
        let n = self.whole.len();
        let has_cores = n > 0 && self.whole.iter().all(|whole| whole.device.cores.is_some());
        let joins = self.has_links || has_cores && n <= MOST_WITHOUT_LINKS;
        let is_amd = self.whole.iter().any(|whole| whole.device.is_amd);
        let is_nvidia = self.whole.iter().any(|whole| whole.device.is_nvidia);
        let vendor = match (is_amd, is_nvidia) {
            (true, _) => Some(Vendor::Amd),
            (false, true) => Some(Vendor::Nvidia),
            (false, false) => None,
        };
        let (fabric, direct_gbps) = self.fabric(joins, is_amd)?;
        let says = Says {
            every_device: true,
            direct: self.has_links,
            direct_gbps,
            host: if joins && has_cores {
                HostDetail::Classes
            } else {
                HostDetail::Nothing
            },
            host_gbps: false,
        };
        let machine = Machine {
            name: "slurm-gres".to_owned(),
            title: format!("{n} devices, read from Slurm's gres.conf"),
            source: "gres.conf".to_owned(),
            notes: notes(says, joins),
            vendor,
            labels: Labels::of(vendor),
            fabric,
            warnings,
        };
        let mut dump = Dump::new(Kind::SlurmGres, machine, says);
        for (parent, profile, uuid) in self.instances {
            let device = DeviceId(u32::try_from(parent).unwrap_or(u32::MAX));
            dump.mig_instances.push(MigInstance {
                uuid,
                ..MigInstance::new(device, profile)
            });
        }
        Ok(dump)
    }

    /// Builds the fabric. Also returns whether the types determine the bandwidth of every link.
    fn fabric(&self, joins: bool, is_amd: bool) -> Result<(Fabric, bool), Error> {
        let whole = &self.whole;
        let rates: Vec<Option<f64>> = whole
            .iter()
            .map(|whole| Some(products::links(whole.device.product.as_deref()?)?.gbps_per_link))
            .collect();
        let links = |a: usize, b: usize| whole[a].links.get(b).copied().filter(|&links| links > 0);
        let rate = |a: usize, b: usize| rates[a].zip(rates[b]).map(|(x, y)| x.min(y));
        let ends =
            || (0..if joins { whole.len() } else { 0 }).flat_map(|b| (0..b).map(move |a| (a, b)));
        let mut joined = ends().filter(|&(a, b)| links(a, b).is_some()).peekable();
        let told = joined.peek().is_some() && joined.all(|(a, b)| rate(a, b).is_some());
        let cores = |i: usize| whole[i].device.cores.as_ref();
        let host = |a: usize, b: usize| {
            let same = cores(a).is_some() && cores(a) == cores(b);
            let class = if same {
                LinkClass::Node
            } else {
                LinkClass::Sys
            };
            joins.then_some(Link {
                class,
                gbps: ASSUMED_HOST_GBPS,
            })
        };
        let pairs = PairLinks {
            ends: whole
                .iter()
                .enumerate()
                .map(|(id, whole)| whole.node(id))
                .collect(),
            devices: if joins { whole.len() } else { 0 },
            direct: |a, b| {
                links(a, b).map(|links| (links, rate(a, b).unwrap_or(ASSUMED_DIRECT_GBPS)))
            },
            host,
            most_links: (!is_amd).then_some(MOST_NVLINKS),
        };
        Ok((pairs.fabric()?, told))
    }
}

/// The most devices for which *Cores* without *Links* create pairs. Without this limit, a short
/// text could name a thousand devices and so half a million pairs.
const MOST_WITHOUT_LINKS: usize = 64;

fn notes(says: Says, joins: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if says.direct && !says.direct_gbps {
        notes.push(format!(
            "Links have no bandwidth: unless set, each counts {ASSUMED_DIRECT_GBPS} GB/s."
        ));
    }
    if joins && says.host == HostDetail::Classes {
        let what = format!(
            "Devices with the same Cores share a NUMA node. Host paths count {ASSUMED_HOST_GBPS} GB/s."
        );
        notes.push(what);
    } else if joins {
        let what = "Without Cores, host paths count as the worst, between sockets, at";
        notes.push(format!("{what} {ASSUMED_HOST_GBPS} GB/s."));
    }
    notes
}

impl WholeGpu {
    fn unlinked(listed: GresDevice) -> Self {
        Self {
            line: listed.line,
            device: listed.device,
            links: Vec::new(),
        }
    }

    /// The vendor's number, or the id if there is none.
    fn number(&self, id: usize) -> u32 {
        self.device
            .number
            .unwrap_or(u32::try_from(id).unwrap_or(u32::MAX))
    }

    fn node(&self, id: usize) -> FabricNode {
        let info = DeviceInfo {
            product: self.device.product.clone(),
            index: self.device.number,
            uuid: self.device.uuid.clone(),
            ..DeviceInfo::default()
        };
        amd::device(id, info)
    }
}

/// The whole devices in the order of their places in *Links*. `all` is the number of records:
/// instances have places in *Links* too.
///
/// # Errors
/// *Links* that are missing, incomplete, or contradict those of another device.
fn linked(listed: Vec<GresDevice>, all: usize) -> Result<Vec<WholeGpu>, Error> {
    let mut placed: BTreeMap<usize, (GresDevice, Vec<i16>)> = BTreeMap::new();
    for mut listed in listed {
        let wrong = |what: String| Error::at(listed.line, what);
        let Some(links) = listed.device.links.take() else {
            return Err(wrong(
                "no Links, but other devices have them: expected Links for all devices or none"
                    .to_owned(),
            ));
        };
        if links.len() != all {
            let what = format!(
                "Links has {} numbers, but the node has records of {all} devices",
                links.len()
            );
            return Err(wrong(
                what + ": expected a record and a number for every device",
            ));
        }
        let mut own = links
            .iter()
            .enumerate()
            .filter(|(_, links)| **links < 0)
            .map(|(place, _)| place);
        let (Some(place), None) = (own.next(), own.next()) else {
            return Err(wrong(
                "expected one -1 among its links, for the device itself".to_owned(),
            ));
        };
        if let Some((other, _)) = placed.get(&place) {
            let what = format!(
                "-1 is at place {place}, as in line {}: expected a different place for each device",
                other.line
            );
            return Err(wrong(what));
        }
        placed.insert(place, (listed, links));
    }
    let places: Vec<usize> = placed.keys().copied().collect();
    let rows: Vec<(GresDevice, Vec<u8>)> = placed
        .into_values()
        .map(|(listed, row)| {
            let links = places.iter().map(|&place| {
                row.get(place)
                    .and_then(|&n| u8::try_from(n).ok())
                    .unwrap_or(0)
            });
            let links = links.collect();
            (listed, links)
        })
        .collect();
    for (b, (listed, row)) in rows.iter().enumerate() {
        for (a, (other, column)) in rows[..b].iter().enumerate() {
            if row[a] != column[b] {
                let what = format!(
                    "{} links to the device of line {}, which has {} links back",
                    row[a], other.line, column[b]
                );
                return Err(Error::at(listed.line, what + ": expected the same number"));
            }
        }
    }
    Ok(rows
        .into_iter()
        .map(|(listed, links)| WholeGpu {
            line: listed.line,
            device: listed.device,
            links,
        })
        .collect())
}
