//! Reads direct links from matrices of the bandwidth between devices, switches and processors.

use std::collections::BTreeMap;

use roxmltree::Node;

use super::objects::{HwlocEnd, HwlocFile};
use crate::error::Error;
use crate::machine::Warning;
use crate::products;
use crate::readers::xml::{self, XmlLines, elements};

/// The most Infinity Fabric links that a device has: MI250X, four to the other die and four to
/// others.
const MOST_XGMI: u64 = 8;

/// A number of parallel links.
#[derive(Clone, Copy, Default)]
pub(super) struct HwlocBond {
    pub(super) links: u8,
    pub(super) gbps: f64,
}

/// The direct links of a machine.
#[derive(Default)]
pub(super) struct HwlocLinks {
    /// The links between devices a < b.
    pub(super) pairs: BTreeMap<(usize, usize), HwlocBond>,
    /// For each device, its links to switches.
    pub(super) ports: Vec<Option<HwlocBond>>,
    /// For each device, the bandwidth of its links to its CPU, GB/s.
    pub(super) to_host: Vec<f64>,
    pub(super) told: bool,
    /// Whether the direct links are AMD's.
    pub(super) xgmi: bool,
    pub(super) notes: Vec<String>,
}

/// A matrix: the objects of its rows, and its values row by row.
struct DistanceMatrix<'a, 'input> {
    node: Node<'a, 'input>,
    ends: Vec<Option<HwlocEnd>>,
    values: Vec<u64>,
}

impl HwlocLinks {
    pub(super) fn read(
        root: Node<'_, '_>,
        topology: &HwlocFile<'_, '_>,
        lines: &XmlLines,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self, Error> {
        let n = topology.gpus.len();
        let mut links = Self {
            ports: vec![None; n],
            to_host: vec![0.0; n],
            ..Self::default()
        };
        let matrix = |name: &str| {
            let is = |node: &Node<'_, '_>| {
                (node.has_tag_name("distances2") || node.has_tag_name("distances2hetero"))
                    && node.attribute("name") == Some(name)
            };
            elements(root)
                .find(is)
                .map(|node| DistanceMatrix::read(node, topology))
                .transpose()
        };
        if let Some(matrix) = matrix("NVLinkBandwidth")? {
            if matrix.ends.iter().any(Option::is_none) {
                warnings.push(lines.warning(
                    matrix.node,
                    "rows of objects that are not in the file: left out",
                ));
            }
            links.nvlink(&matrix, topology, lines, warnings)?;
        }
        if let Some(bandwidth) = matrix("XGMIBandwidth")? {
            links.xgmi(&bandwidth, matrix("XGMIHops")?.as_ref(), topology)?;
        }
        Ok(links)
    }

    fn nvlink(
        &mut self,
        matrix: &DistanceMatrix<'_, '_>,
        topology: &HwlocFile<'_, '_>,
        lines: &XmlLines,
        warnings: &mut Vec<Warning>,
    ) -> Result<(), Error> {
        self.told = true;
        let own = rates("NVLink", topology);
        let mut odd = false;
        for (a, b, megabytes) in matrix.pairs()? {
            let (device, other) = match (a, b) {
                (HwlocEnd::Device(device), other) | (other, HwlocEnd::Device(device)) => {
                    (device, other)
                }
                _ => continue,
            };
            let gbps = megabytes as f64 / 1000.0;
            if other == HwlocEnd::Host {
                self.to_host[device] += gbps;
                continue;
            }
            let rates = own[device].into_iter().chain([25.0, 20.0, 50.0]);
            let exact = { rates }.find_map(|rate| whole(megabytes, rate));
            odd |= exact.is_none();
            let bond = bond(
                matrix.node,
                exact.unwrap_or((megabytes / 25_000).max(1)),
                gbps,
            )?;
            match other {
                HwlocEnd::Device(other) if other == device => {}
                HwlocEnd::Device(other) => add(
                    matrix.node,
                    self.pairs
                        .entry((device.min(other), device.max(other)))
                        .or_default(),
                    bond,
                )?,
                _ => add(
                    matrix.node,
                    self.ports[device].get_or_insert_default(),
                    bond,
                )?,
            }
        }
        for (&(a, b), direct) in &self.pairs {
            // Through a switch, the pair also has the links of the smaller port.
            let [a, b] = [a, b].map(|id| self.ports[id].map_or(0, |port| u64::from(port.links)));
            bond(matrix.node, u64::from(direct.links) + a.min(b), 0.0)?;
        }
        if odd {
            let what =
                "bandwidths that are not a multiple of a known link's: each link counts 25 GB/s";
            warnings.push(lines.warning(matrix.node, what));
        }
        Ok(())
    }

    /// Reads XGMI links. Some drivers give every pair of a hive the same bandwidth and one hop. So
    /// the matrix counts only if every pair has a whole number of links of the devices' generation,
    /// and no device has more links than it can have.
    fn xgmi(
        &mut self,
        bandwidth: &DistanceMatrix<'_, '_>,
        hops: Option<&DistanceMatrix<'_, '_>>,
        topology: &HwlocFile<'_, '_>,
    ) -> Result<(), Error> {
        let mut near = BTreeMap::new();
        for (a, b, hops) in hops
            .map(DistanceMatrix::pairs)
            .transpose()?
            .unwrap_or_default()
        {
            if let (HwlocEnd::Device(a), HwlocEnd::Device(b), 1) = (a, b, hops) {
                near.insert((a.min(b), a.max(b)), ());
            }
        }
        let mut pairs = BTreeMap::new();
        let mut sums = vec![0u64; topology.gpus.len()];
        let own = rates("Infinity Fabric", topology);
        let mut possible = hops.is_some();
        for (a, b, megabytes) in bandwidth.pairs()? {
            let (HwlocEnd::Device(a), HwlocEnd::Device(b)) = (a, b) else {
                continue;
            };
            let pair = (a.min(b), a.max(b));
            if a == b || !near.contains_key(&pair) {
                continue;
            }
            let Some(links) = own[a].and_then(|rate| whole(megabytes, rate)) else {
                possible = false;
                break;
            };
            sums[a] = sums[a].saturating_add(links);
            sums[b] = sums[b].saturating_add(links);
            pairs.insert(
                pair,
                bond(bandwidth.node, links, megabytes as f64 / 1000.0)?,
            );
        }
        if possible && sums.iter().all(|&sum| sum <= MOST_XGMI) {
            self.told = true;
            self.xgmi = true;
            self.pairs.extend(pairs);
        } else {
            let what = "XGMIBandwidth exceeds or does not fit what the devices' links can carry: it is not read as links.";
            self.notes.push(what.to_owned());
        }
        Ok(())
    }
}

impl<'a, 'input> DistanceMatrix<'a, 'input> {
    fn read(node: Node<'a, 'input>, topology: &HwlocFile<'_, '_>) -> Result<Self, Error> {
        let n: usize = xml::required(node, "nbobjs")?;
        if node
            .attribute("indexing")
            .is_some_and(|indexing| indexing != "gp")
        {
            return Err(xml::error(
                node,
                "indexes of the operating system: expected indexing=\"gp\"",
            ));
        }
        let words = |tag: &'static str| {
            elements(node)
                .filter(move |child| child.has_tag_name(tag))
                .flat_map(|child| {
                    child
                        .text()
                        .unwrap_or_default()
                        .split_whitespace()
                        .map(move |word| (child, word))
                })
        };
        let number = |(child, word): (Node<'_, '_>, &str)| {
            // In a matrix of several types each number follows its type: `OSDev:802`.
            let digits = word.rsplit_once(':').map_or(word, |(_, digits)| digits);
            digits
                .parse::<u64>()
                .map_err(|_| xml::error(child, format!("`{word}`: expected a number")))
        };
        let indexes = words("indexes")
            .map(number)
            .collect::<Result<Vec<u64>, Error>>()?;
        let values = words("u64values")
            .map(number)
            .collect::<Result<Vec<u64>, Error>>()?;
        if indexes.len() != n || n.checked_mul(n) != Some(values.len()) {
            let what = format!(
                "{} indexes and {} values: expected {n} and {n} x {n}",
                indexes.len(),
                values.len()
            );
            return Err(xml::error(node, what));
        }
        let ends = indexes
            .iter()
            .map(|index| topology.ends.get(index).copied())
            .collect();
        Ok(Self { node, ends, values })
    }

    /// All pairs of rows with a link, each with its value.
    fn pairs(&self) -> Result<Vec<(HwlocEnd, HwlocEnd, u64)>, Error> {
        let n = self.ends.len();
        let mut pairs = Vec::new();
        for b in 0..n {
            for a in 0..b {
                let (there, back) = (self.values[a * n + b], self.values[b * n + a]);
                let value = match (there, back) {
                    // One half alone may be filled.
                    (0, value) | (value, 0) => value,
                    (there, back) if there != back => {
                        let what = format!(
                            "{there} from row {a} to row {b}, but {back} from row {b} to row {a}: expected the same value"
                        );
                        return Err(xml::error(self.node, what));
                    }
                    (value, _) => value,
                };
                if let (Some(x), Some(y), true) = (self.ends[a], self.ends[b], value > 0) {
                    pairs.push((x, y, value));
                }
            }
        }
        Ok(pairs)
    }
}

/// For each device, the GB/s of one link of its product's generation.
fn rates(kind: &str, topology: &HwlocFile<'_, '_>) -> Vec<Option<f64>> {
    let rate = |product: &str| {
        let links = products::links(product).filter(|links| links.generation.starts_with(kind));
        links.map(|links| links.gbps_per_link)
    };
    topology
        .gpus
        .iter()
        .map(|gpu| rate(gpu.product.as_deref()?))
        .collect()
}

/// The number of links of this rate in a bandwidth in MB/s, if that is a whole number.
fn whole(megabytes: u64, rate: f64) -> Option<u64> {
    let each = (rate * 1000.0).round() as u64;
    (each > 0 && megabytes > 0 && megabytes.is_multiple_of(each)).then(|| megabytes / each)
}

fn bond(node: Node<'_, '_>, links: u64, gbps: f64) -> Result<HwlocBond, Error> {
    let Ok(count) = u8::try_from(links) else {
        return Err(xml::error(
            node,
            format!("{links} links between two devices: expected at most 255"),
        ));
    };
    Ok(HwlocBond { links: count, gbps })
}

fn add(node: Node<'_, '_>, to: &mut HwlocBond, more: HwlocBond) -> Result<(), Error> {
    *to = bond(
        node,
        u64::from(to.links) + u64::from(more.links),
        to.gbps + more.gbps,
    )?;
    Ok(())
}
