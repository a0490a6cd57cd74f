//! What `score` says of a packing: ring by ring, tree by tree, or by what a pair gets.

use mapa_core::{Bandwidth, DeviceId, HardwareGraph, LinkClass, Placement};
use serde_json::{Value, json};

use crate::answer::label;
use crate::failure::Failure;
use crate::model::Packing;
use crate::output::{Output, gbps, table};

/// A spanning tree by its edges, and its GB/s of algorithm bandwidth.
type Tree = (Vec<(DeviceId, DeviceId)>, f64);

/// What a packing makes of two devices or more.
pub(super) struct Packed<'a> {
    pub(super) found: &'a Bandwidth,
    pub(super) packing: &'a Packing,
    pub(super) graph: &'a HardwareGraph,
    /// No packing exceeds it, GB/s.
    pub(super) at_most: f64,
    pub(super) trees: Vec<Tree>,
    pub(super) devices: &'a Placement,
}

impl Packed<'_> {
    /// Channels are what a search finds, which proves nothing of packings.
    fn is_imitated(&self) -> bool {
        matches!(self.packing, Packing::Channels(..))
    }

    /// What each ordered pair sends in an all-to-all, GB/s.
    fn of_pair(&self) -> Option<f64> {
        let others = self.devices.set().len() as f64 - 1.0;
        matches!(self.packing, Packing::AllToAll(_)).then(|| self.found.gbps / others)
    }

    pub(super) fn json(&self) -> Value {
        let ids = |ring: &[DeviceId]| ring.iter().map(|id| id.0).collect::<Vec<_>>();
        let rings = self.found.rings.iter().map(|(ring, gbps)| json!({ "devices": ids(ring), "gbps": gbps }));
        let mut object = json!({
            "gbps": self.found.gbps, "at_most_gbps": self.at_most,
            "exact": !self.is_imitated() && self.found.is_exact(), "imitated": self.is_imitated(),
            "over_host": self.found.over_host, "in_domain": true,
        });
        match self.packing {
            Packing::Rings(_) | Packing::Channels(..) => object["rings"] = rings.collect(),
            Packing::Trees(_) => {
                let edges = |tree: &[(DeviceId, DeviceId)]| tree.iter().map(|(a, b)| [a.0, b.0]).collect::<Vec<_>>();
                let tree = |(tree, gbps): &Tree| json!({ "edges": edges(tree), "gbps": gbps });
                object["trees"] = self.trees.iter().map(tree).collect();
            }
            Packing::AllToAll(_) => object["pair_gbps"] = json!(self.of_pair()),
        }
        object
    }

    pub(super) fn print(&self, output: &mut Output) -> Result<(), Failure> {
        self.print_rings(output)?;
        self.print_trees(output)?;
        if let Some(pair) = self.of_pair() {
            output.line(format_args!("each pair {} GB/s each way, all pairs at once", gbps(pair)))?;
        }
        let bound = match (self.is_imitated(), self.found.is_exact()) {
            (true, _) => format!("found by an imitated search; no packing exceeds {}", gbps(self.at_most)),
            (false, true) => "no packing is better".to_owned(),
            (false, false) => format!("at most {}", gbps(self.at_most)),
        };
        output.line(format_args!("bandwidth {} GB/s: {bound}", gbps(self.found.gbps)))?;
        if self.found.over_host {
            let way = if self.over_network() { "over the network" } else { "through the host" };
            output
                .line(format_args!("note      the slow path, {way}: direct links carry no more among these devices"))?;
        }
        Ok(())
    }

    /// Whether the devices are of more than one server.
    fn over_network(&self) -> bool {
        let class = |a: &DeviceId, b: &DeviceId| self.graph.link(*a, *b).class;
        self.devices.iter().any(|a| self.devices.iter().any(|b| a != b && class(a, b) == LinkClass::Network))
    }

    fn print_rings(&self, output: &mut Output) -> Result<(), Failure> {
        if self.found.rings.is_empty() {
            return Ok(());
        }
        let mut rows = table(["ring", "GB/s"], [1]);
        for (ring, each) in &self.found.rings {
            let ring: Vec<String> = ring.iter().map(|&id| label(id, self.graph)).collect();
            rows.add_row([ring.join(","), gbps(*each)]);
        }
        rows.add_row(["sum".to_owned(), gbps(self.found.gbps)]);
        output.line("")?;
        output.line(rows)?;
        match self.is_imitated() {
            true => output.line("Each goes one way round.")?,
            false if self.devices.len() > 2 => output.line("Half of each goes one way round, half the other.")?,
            false => output.line("There and back.")?,
        }
        output.line("")
    }

    fn print_trees(&self, output: &mut Output) -> Result<(), Failure> {
        if self.trees.is_empty() {
            return Ok(());
        }
        let mut rows = table(["tree", "GB/s"], [1]);
        let end = |id: &DeviceId| label(*id, self.graph);
        for (tree, each) in &self.trees {
            let edges: Vec<String> = tree.iter().map(|(a, b)| format!("{}-{}", end(a), end(b))).collect();
            rows.add_row([edges.join(","), gbps(*each)]);
        }
        let sum: f64 = self.trees.iter().map(|(_, each)| each).sum();
        rows.add_row(["sum".to_owned(), gbps(sum)]);
        output.line("")?;
        output.line(rows)?;
        output.line("Of trees, what is reduced a second; the bus bandwidth is 2(n-1)/n of it for n devices.")?;
        output.line("")
    }
}
