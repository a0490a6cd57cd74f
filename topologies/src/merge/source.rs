//! One dump among those that are merged.

use mapa_core::{
    DeviceId, DeviceInfo, Fabric, FabricNode, HardwareGraph, LinkClass, NodeId, NodeKind, Pair,
};

use super::contradiction::DumpStatement;
use crate::dump::{Dump, Says};
use crate::error::Error;

/// A dump, and the graph of its machine.
pub(super) struct DumpSource<'d> {
    pub(super) dump: &'d Dump,
    /// `None` if the dump names no devices.
    pub(super) graph: Option<HardwareGraph>,
}

impl<'d> DumpSource<'d> {
    pub(super) fn new(dump: &'d Dump) -> Result<Self, Error> {
        let mut fabric = dump.machine.fabric.clone();
        // Merging concerns whole devices: without MIG models, each is one vertex.
        fabric.set_mig(None);
        let graph = if fabric.device_count() == 0 {
            None
        } else {
            Some(fabric.lower_with_host()?)
        };
        Ok(Self { dump, graph })
    }

    pub(super) fn name(&self) -> &str {
        &self.dump.machine.name
    }

    pub(super) fn says(&self) -> Says {
        self.dump.says
    }

    pub(super) fn says_of(&self, what: impl Into<String>) -> DumpStatement {
        DumpStatement {
            by: self.name().to_owned(),
            what: what.into(),
        }
    }

    /// The class in the words of this dump.
    pub(super) fn print(&self, class: LinkClass) -> String {
        self.dump.machine.labels.print(class)
    }

    /// Whether the dump names a component of this kind.
    pub(super) fn has(&self, kind: &NodeKind) -> bool {
        let mut nodes = self.dump.machine.fabric.nodes();
        nodes.any(|(_, node)| node.kind == *kind)
    }

    /// The links and the path between two of the dump's devices.
    pub(super) fn pair(&self, a: usize, b: usize) -> Option<Pair> {
        let graph = self.graph.as_ref()?;
        Some(graph.pair(DeviceId(a as u32), DeviceId(b as u32)))
    }

    /// The number of the dump's devices.
    pub(super) fn devices(&self) -> usize {
        self.dump.machine.fabric.device_count()
    }
}

/// The devices of a dump, with the facts about each.
pub(super) fn infos<'s>(
    source: &'s DumpSource<'_>,
) -> impl Iterator<Item = (&'s FabricNode, &'s DeviceInfo)> {
    source
        .dump
        .machine
        .fabric
        .nodes()
        .filter_map(|(_, node)| match &node.kind {
            NodeKind::Device(info) => Some((node, info)),
            _ => None,
        })
}

/// The devices of a fabric.
pub(super) fn device_nodes(fabric: &Fabric) -> impl Iterator<Item = NodeId> {
    fabric
        .nodes()
        .filter(|(_, node)| matches!(node.kind, NodeKind::Device(_)))
        .map(|(id, _)| id)
}

/// A name that is free in the fabric: the wanted one, or the wanted one with a number.
pub(super) fn free_name(fabric: &Fabric, wanted: &str) -> String {
    let taken = |name: &str| fabric.nodes().any(|(_, node)| node.name == name);
    let mut name = wanted.to_owned();
    let mut number = 2;
    while taken(&name) {
        name = format!("{wanted}-{number}");
        number += 1;
    }
    name
}

/// A component of one dump under a name that is free in the merged fabric.
pub(super) fn renamed(fabric: &Fabric, node: &FabricNode) -> FabricNode {
    FabricNode {
        name: free_name(fabric, &node.name),
        kind: node.kind.clone(),
    }
}
