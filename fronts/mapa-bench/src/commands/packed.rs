//! The answer of `score` for a packing: ring by ring, tree by tree, or the bandwidth of each pair.

use mapa_core::{Bandwidth, DeviceId, HardwareGraph, LinkClass, Placement};

use mapa_cli::Failure;
use mapa_cli::Output;
use mapa_front::Packing;
use mapa_front::answer::score as answer;
use mapa_front::answer::{ids, label, labels};
use mapa_front::text::{gbps, table};

/// The edges of a spanning tree, and its algorithm bandwidth, GB/s.
type Tree = (Vec<(DeviceId, DeviceId)>, f64);

/// A packing on two devices or more.
pub(super) struct Packed<'a> {
    pub(super) found: &'a Bandwidth,
    pub(super) packing: &'a Packing,
    pub(super) graph: &'a HardwareGraph,
    /// An upper bound on every packing, GB/s.
    pub(super) at_most: f64,
    pub(super) trees: Vec<Tree>,
    pub(super) devices: &'a Placement,
    /// Whether links are at other rates than nominal.
    pub(super) rated: bool,
}

impl Packed<'_> {
    /// Whether the packing comes from an imitation of NCCL's search, which proves no bound.
    fn is_imitated(&self) -> bool {
        matches!(self.packing, Packing::Channels(..))
    }

    /// The bandwidth of each ordered pair in an all-to-all, GB/s.
    fn of_pair(&self) -> Option<f64> {
        let others = self.devices.set().len() as f64 - 1.0;
        matches!(self.packing, Packing::AllToAll(_)).then(|| self.found.gbps / others)
    }

    pub(super) fn answer(&self) -> answer::Packing {
        let rings = || {
            let rings = self.found.rings.iter();
            rings.map(|(ring, gbps)| answer::Ring {
                devices: ids(ring),
                gbps: *gbps,
            })
        };
        let trees = || {
            self.trees.iter().map(|(tree, gbps)| answer::Tree {
                edges: tree.iter().map(|(a, b)| [a.0, b.0]).collect(),
                gbps: *gbps,
            })
        };
        let is_rings = matches!(self.packing, Packing::Rings(_) | Packing::Channels(..));
        answer::Packing {
            gbps: self.found.gbps,
            at_most_gbps: self.at_most,
            exact: !self.is_imitated() && self.found.is_exact(),
            imitated: self.is_imitated(),
            over_host: self.found.over_host,
            in_domain: true,
            rings: is_rings.then(|| rings().collect()),
            trees: matches!(self.packing, Packing::Trees(_)).then(|| trees().collect()),
            pair_gbps: self.of_pair(),
        }
    }

    pub(super) fn print(&self, output: &mut Output) -> Result<(), Failure> {
        self.print_rings(output)?;
        self.print_trees(output)?;
        if let Some(pair) = self.of_pair() {
            output.line(format_args!(
                "each pair {} GB/s in each direction, all pairs at once",
                gbps(pair)
            ))?;
        }
        let bound = match (self.is_imitated(), self.found.is_exact()) {
            (true, _) => format!(
                "found by an imitated search; no packing exceeds {}",
                gbps(self.at_most)
            ),
            (false, true) if self.rated => {
                "exact at these rates; what is measured may lie above".to_owned()
            }
            (false, true) => "no packing is better".to_owned(),
            (false, false) => format!("at most {}", gbps(self.at_most)),
        };
        output.line(format_args!(
            "bandwidth {} GB/s: {bound}",
            gbps(self.found.gbps)
        ))?;
        if self.found.over_host {
            let path = if self.over_network() {
                "over the network"
            } else {
                "through the host"
            };
            output.line(format_args!(
                "note      the traffic goes {path}: direct links between these devices carry no more"
            ))?;
        }
        Ok(())
    }

    /// Whether the devices are on more than one server.
    fn over_network(&self) -> bool {
        self.devices.iter().any(|&a| {
            self.devices
                .iter()
                .any(|&b| a != b && self.graph.link(a, b).class == LinkClass::Network)
        })
    }

    fn print_rings(&self, output: &mut Output) -> Result<(), Failure> {
        if self.found.rings.is_empty() {
            return Ok(());
        }
        let mut rows = table(["ring", "GB/s"], [1]);
        for (ring, each) in &self.found.rings {
            rows.add_row([labels(ring, self.graph), gbps(*each)]);
        }
        rows.add_row(["sum".to_owned(), gbps(self.found.gbps)]);
        output.line("")?;
        output.line(rows)?;
        match self.is_imitated() {
            true => output.line("Each ring carries traffic in one direction.")?,
            false if self.devices.len() > 2 => {
                output.line("Half of each ring's traffic goes in each direction.")?
            }
            false => output.line("The ring's traffic goes in both directions.")?,
        }
        output.line("")
    }

    fn print_trees(&self, output: &mut Output) -> Result<(), Failure> {
        if self.trees.is_empty() {
            return Ok(());
        }
        let mut rows = table(["tree", "GB/s"], [1]);
        for (tree, each) in &self.trees {
            let edges: Vec<String> = tree
                .iter()
                .map(|&(a, b)| format!("{}-{}", label(a, self.graph), label(b, self.graph)))
                .collect();
            rows.add_row([edges.join(","), gbps(*each)]);
        }
        let sum: f64 = self.trees.iter().map(|(_, each)| each).sum();
        rows.add_row(["sum".to_owned(), gbps(sum)]);
        output.line("")?;
        output.line(rows)?;
        output.line("GB/s of a tree: data reduced per second. The bus bandwidth is 2(n-1)/n of the sum for n devices.")?;
        output.line("")
    }
}
