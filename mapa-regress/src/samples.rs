//! From measurements to samples: which devices of the machine took part, on which ring, over which links.

use std::collections::{BTreeMap, BTreeSet};

use mapa_core::{Census, DeviceId, DeviceSet, HardwareGraph, LinkClass, Pattern, Request, Tiers, greedy};

use crate::Sample;
use crate::error::{Error, ErrorKind};
use crate::measurements::{Column, Devices, Measurement, PciPlace, Rank};

/// How measurements become samples.
#[derive(Clone, Debug)]
pub struct SampleConfig {
    /// By which links are counted. Default: the paper's.
    pub tiers: Tiers,
    /// Which figure of a run is taken. Default: out of place.
    pub column: Column,
    /// Only measurements of this collective, and those that do not tell theirs. Default: `all_reduce`. None: all.
    pub op: Option<String>,
    /// On which ring the ranks are counted. Default: the best of the set.
    pub order: RankOrder,
}

impl Default for SampleConfig {
    fn default() -> Self {
        let op = Some("all_reduce".to_owned());
        Self { tiers: Tiers::PAPER, column: Column::default(), op, order: RankOrder::default() }
    }
}

/// On which ring the ranks of a measurement are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RankOrder {
    /// The ring of highest aggregated bandwidth (Eq. 1) through the devices, as [`greedy`] finds it: a communication library
    /// orders its rings by the links, whatever the ranks are.
    #[default]
    Best,
    /// Rank 0 to rank 1, and so on, and back.
    AsGiven,
}

/// Samples, and what became of the other measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// One for each measurement that could be used, in their order.
    pub samples: Vec<Sample>,
    /// The ring of each sample.
    pub rings: Vec<Vec<DeviceId>>,
    /// The classes of link on these rings, best first: for the domain of a model fitted to them.
    pub classes: Vec<LinkClass>,
    /// By label: measurements that were left out, and why.
    pub left_out: Vec<(String, String)>,
    /// Whether devices were found by the number that the benchmark gave them, as the machine's description has no PCI
    /// addresses. Such numbers count within `CUDA_VISIBLE_DEVICES`, which not every source tells.
    pub by_number: bool,
}

/// The samples that measurements on this machine are: the peak bandwidth of each over the links of a ring. What is of
/// another collective, or of a single device, is left out: one device has no links. O(measurements) placements of a ring on a
/// given set.
///
/// # Errors
/// A device that the machine has not, or that is named twice; ranks on several hosts; a measurement that does not tell its
/// devices, or has not the column asked for; devices that nothing joins. The message begins with the measurement's label.
pub fn samples(measurements: &[Measurement], graph: &HardwareGraph, config: &SampleConfig) -> Result<Samples, Error> {
    let mut finder = Finder { graph, by_number: BTreeMap::new() };
    let mut found =
        Samples { samples: Vec::new(), rings: Vec::new(), classes: Vec::new(), left_out: Vec::new(), by_number: false };
    let mut classes = BTreeSet::new();
    for run in measurements {
        let wrong = |what: String| Error::from(ErrorKind::BadSample { label: run.label.clone(), what });
        if let Some(why) = other_collective(run, config) {
            found.left_out.push((run.label.clone(), why));
            continue;
        }
        let devices = finder.find(&run.devices).map_err(wrong)?;
        if devices.len() < 2 {
            found.left_out.push((run.label.clone(), "one device has no collective bandwidth".to_owned()));
            continue;
        }
        let gbps = run.peak_gbps(config.column).ok_or_else(|| wrong("no figure in the column asked for".to_owned()))?;
        let ring = ring(&devices, graph, config.order).map_err(wrong)?;
        let pattern = Pattern::ring(ring.len());
        let ends = pattern.edges().iter().map(|edge| [edge.a, edge.b].map(|rank| ring[usize::from(rank)]));
        classes.extend(ends.map(|[a, b]| graph.link(a, b).class));
        let links = Census::of(&pattern, &ring, graph, &config.tiers);
        found.samples.push(Sample { label: run.label.clone(), links, ranks: ring.len(), gbps });
        found.rings.push(ring);
    }
    found.classes = classes.into_iter().rev().collect();
    found.by_number = !finder.by_number.is_empty();
    Ok(found)
}

fn other_collective(run: &Measurement, config: &SampleConfig) -> Option<String> {
    let (wanted, op) = config.op.as_ref().zip(run.op.as_ref())?;
    // The columns of a log may leave two open.
    op.split(" or ").all(|one| one != wanted).then(|| format!("{op}, not {wanted}"))
}

fn ring(devices: &[DeviceId], graph: &HardwareGraph, order: RankOrder) -> Result<Vec<DeviceId>, String> {
    let pattern = Pattern::ring(devices.len());
    match order {
        RankOrder::AsGiven => {
            let apart = pattern.edges().iter().map(|edge| [edge.a, edge.b].map(|rank| devices[usize::from(rank)]));
            let apart = apart.into_iter().find(|[a, b]| !graph.link(*a, *b).exists());
            match apart.map(|pair| pair.map(|id| &graph.device(id).name)) {
                Some([a, b]) => Err(format!("nothing joins {a} and {b}")),
                None => Ok(devices.to_vec()),
            }
        }
        RankOrder::Best => {
            let set: DeviceSet = devices.iter().copied().collect();
            let best = graph.with_free(&set).decide(greedy(), &Request::new(pattern));
            best.map(|best| best.placement().to_vec()).map_err(|refusal| refusal.to_string())
        }
    }
}

struct Finder<'g> {
    graph: &'g HardwareGraph,
    /// Devices found by number although their place on PCI was told: which number this place had.
    by_number: BTreeMap<(Option<String>, PciPlace), DeviceId>,
}

impl Finder<'_> {
    fn find(&mut self, devices: &Devices) -> Result<Vec<DeviceId>, String> {
        let found = match devices {
            Devices::First(count) => {
                let most = self.graph.wholes().iter().count();
                if *count > most {
                    return Err(format!("the first {count} devices: the machine has {most}"));
                }
                Ok(self.graph.wholes().iter().take(*count).collect())
            }
            Devices::Named(names) => names.iter().map(|name| self.named(name)).collect(),
            Devices::Ranks { ranks, visible } => {
                if let Some(other) = ranks.iter().find(|rank| rank.host != ranks[0].host) {
                    let [a, b] = [&ranks[0].host, &other.host].map(|host| host.as_deref().unwrap_or("?"));
                    return Err(format!("ranks on {a} and {b}: expected one machine"));
                }
                ranks.iter().map(|rank| self.rank(rank, visible.as_deref())).collect()
            }
            Devices::Unknown => Err("the run does not tell its devices: expected lines such as `# Rank 0 .. device 0 [0000:07:00] ..`, or a CSV with a column `devices`".to_owned()),
        };
        let found: Vec<DeviceId> = found?;
        match found.iter().enumerate().find(|(i, id)| found[..*i].contains(id)) {
            Some((_, twice)) => Err(format!("{} is named twice", self.graph.device(*twice).name)),
            None => Ok(found),
        }
    }

    fn named(&self, name: &str) -> Result<DeviceId, String> {
        self.graph.find(name).map_err(|error| error.to_string())
    }

    /// By its place on PCI, if the machine's description has such; else by its number among the visible.
    fn rank(&mut self, rank: &Rank, visible: Option<&[String]>) -> Result<DeviceId, String> {
        let place = |id: DeviceId| self.graph.device(id).pci.as_deref().and_then(PciPlace::of_device);
        let wholes = self.graph.wholes();
        if let Some(pci) = rank.pci
            && wholes.iter().any(|id| place(id).is_some())
        {
            let hits: Vec<DeviceId> =
                wholes.iter().filter(|id| place(*id).is_some_and(|address| pci.is(&address))).collect();
            return match hits[..] {
                [id] => Ok(id),
                [] => Err(format!("no device of the machine is at {pci} on PCI")),
                _ => Err(format!("{} devices of the machine are at {pci} on PCI", hits.len())),
            };
        }
        let number = rank.number.to_string();
        let name = match visible {
            None => &number,
            Some(names) => {
                let seen = names.get(usize::try_from(rank.number).unwrap_or(usize::MAX));
                seen.ok_or_else(|| format!("device {number} of {} visible ones", names.len()))?
            }
        };
        let id = self.named(name)?;
        if let Some(pci) = rank.pci {
            let known = *self.by_number.entry((rank.host.clone(), pci)).or_insert(id);
            if known != id {
                let [a, b] = [known, id].map(|id| &self.graph.device(id).name);
                return Err(format!(
                    "the device at {pci} on PCI would be {b}, and in another run {a}: its number depends on CUDA_VISIBLE_DEVICES; describe the machine with PCI addresses, as --live, `NCCL_TOPO_DUMP_FILE` and hwloc do"
                ));
            }
        }
        Ok(id)
    }
}
