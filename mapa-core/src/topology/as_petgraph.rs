//! Fabrics from and to graphs of petgraph.

use petgraph::graph::UnGraph;
use petgraph::visit::EdgeRef;

use super::fabric::{Fabric, FabricNode, FabricWire};
use crate::error::Error;

/// The components and the wires, in the order in which they were added. Of a hop up the host tree the child is the source.
/// What is known beside the wires, such as peer access, is left out.
///
/// ```
/// use mapa_core::{Fabric, FabricNode, FabricWire};
/// use petgraph::graph::UnGraph;
///
/// let mut fabric = Fabric::new();
/// let socket = fabric.add_numa("cpu0", 0)?;
/// let device = fabric.add_device("GPU0")?;
/// fabric.attach(device, socket, 12.0)?;
/// let graph: UnGraph<FabricNode, FabricWire> = (&fabric).into();
/// assert_eq!((graph.node_count(), graph.edge_count()), (2, 1));
/// assert_eq!(Fabric::try_from(&graph)?, fabric);
/// # Ok::<(), mapa_core::Error>(())
/// ```
impl From<&Fabric> for UnGraph<FabricNode, FabricWire> {
    fn from(fabric: &Fabric) -> Self {
        fabric.graph.clone()
    }
}

/// The components in the order of the nodes, so devices have their ids in this order.
///
/// # Errors
/// As [`Fabric::add`], [`Fabric::attach`] and [`Fabric::link`].
impl TryFrom<&UnGraph<FabricNode, FabricWire>> for Fabric {
    type Error = Error;

    fn try_from(graph: &UnGraph<FabricNode, FabricWire>) -> Result<Self, Error> {
        let mut fabric = Self::new();
        let ids = graph
            .node_weights()
            .map(|node| fabric.add(node.clone()))
            .collect::<Result<Vec<_>, _>>()?;
        for edge in graph.edge_references() {
            let [a, b] = [edge.source(), edge.target()].map(|node| ids[node.index()]);
            match *edge.weight() {
                FabricWire::Up { gbps } => fabric.attach(a, b, gbps)?,
                FabricWire::Link(link) => fabric.link(a, b, link.class, link.gbps)?,
            }
        }
        Ok(fabric)
    }
}
