//! The host as nested boxes, for writers that draw: sockets, bridges and switches around their
//! devices.
//!
//! If a machine has a host tree, each component of the tree that has devices below it is a box.
//! If the machine has link classes only, as from `topo -m`, each region that the classes imply is
//! a box. Components without devices below them are not boxes: [`DrawnHost::empty`] lists the NUMA
//! nodes among them, and [`DrawnHost::cards`] the network cards.

use std::collections::BTreeMap;

use mapa_core::{
    DeviceId, DeviceSet, Fabric, FabricWire, HardwareGraph, LinkClass, NodeId, NodeKind, Region,
};

/// The deepest nesting of boxes. A deeper box is left out and its contents move to the box around
/// it. No real machine nests this deep; the limit bounds the recursion of the drawing.
const DEEPEST: usize = 16;

/// What is in a box.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Box(HostBox),
    Device(DeviceId),
}

/// A component of the host with its contents.
#[derive(Clone, Debug)]
pub(super) struct HostBox {
    pub(super) name: String,
    /// The kind of component, in words; empty if the name says it already.
    pub(super) what: String,
    /// The contents, ordered by their lowest device id.
    pub(super) items: Vec<Item>,
    /// Names of the network cards directly in this box.
    pub(super) cards: Vec<String>,
}

/// The whole host.
#[derive(Clone, Debug, Default)]
pub(super) struct DrawnHost {
    pub(super) items: Vec<Item>,
    /// Names of the network cards that are in no box.
    pub(super) cards: Vec<String>,
    /// NUMA nodes without devices.
    pub(super) empty: Vec<String>,
}

impl HostBox {
    /// The name, followed by the kind of component unless the name says it.
    pub(super) fn label(&self) -> String {
        if self.what.is_empty() || self.what == self.name {
            self.name.clone()
        } else {
            format!("{} · {}", self.name, self.what)
        }
    }
}

impl Item {
    pub(super) fn devices(&self) -> Vec<DeviceId> {
        let mut found = Vec::new();
        let mut open = vec![self];
        while let Some(item) = open.pop() {
            match item {
                Self::Device(id) => found.push(*id),
                Self::Box(inner) => open.extend(&inner.items),
            }
        }
        found.sort_unstable();
        found
    }

    fn first(&self) -> Option<DeviceId> {
        self.devices().first().copied()
    }
}

impl DrawnHost {
    pub(super) fn of(fabric: &Fabric, graph: &HardwareGraph) -> Self {
        let tree = DeviceTree::of(fabric);
        let mut host = if tree.devices.iter().any(Option::is_some) {
            tree.boxes(fabric)
        } else {
            Self {
                items: regions(graph.host_tree(), graph),
                ..Self::default()
            }
        };
        host.place_cards(fabric, &tree);
        host
    }

    /// Places the network cards of which only link classes are known. A card goes into the smallest
    /// box that holds all devices nearest to it.
    fn place_cards(&mut self, fabric: &Fabric, tree: &DeviceTree) {
        let devices: BTreeMap<NodeId, DeviceId> = tree.device_ids();
        let mut near: BTreeMap<NodeId, (LinkClass, DeviceSet)> = BTreeMap::new();
        for (a, b, wire) in fabric.wires() {
            let FabricWire::Link(link) = wire else {
                continue;
            };
            for (card, other) in [(a, b), (b, a)] {
                let Some(&device) = devices.get(&other) else {
                    continue;
                };
                if !matches!(fabric.node(card).kind, NodeKind::Nic) || !link.class.is_host() {
                    continue;
                }
                let best = near
                    .entry(card)
                    .or_insert_with(|| (link.class, DeviceSet::new()));
                if link.class > best.0 {
                    *best = (link.class, DeviceSet::new());
                }
                if link.class == best.0 {
                    best.1.insert(device);
                }
            }
        }
        for card in tree.loose_cards(fabric) {
            let name = fabric.node(card).name.clone();
            let place = near.get(&card).filter(|(class, _)| *class > LinkClass::Sys);
            let Some((class, set)) = place else {
                self.cards.push(name);
                continue;
            };
            if let (Some(only), 1, true) = (set.first(), set.len(), *class >= LinkClass::Phb) {
                enclose(&mut self.items, only, *class);
            }
            match smallest(&mut self.items, set) {
                Some(inner) => inner.cards.push(name),
                None => self.cards.push(name),
            }
        }
    }
}

/// Puts `device` into a box of its own if it shares its box with others. A network card that is
/// nearer to this device than to the others is then placed in that box.
fn enclose(items: &mut [Item], device: DeviceId, class: LinkClass) {
    let alone = items.len() == 1;
    for item in items {
        match item {
            Item::Device(id) if *id == device && !alone => {
                let (name, what) = (class_name(class), String::new());
                *item = Item::Box(HostBox {
                    name,
                    what,
                    items: vec![Item::Device(device)],
                    cards: Vec::new(),
                });
                return;
            }
            Item::Box(inner) => enclose(&mut inner.items, device, class),
            Item::Device(_) => {}
        }
    }
}

/// The smallest box that holds all devices of `set`.
fn smallest<'i>(items: &'i mut [Item], set: &DeviceSet) -> Option<&'i mut HostBox> {
    let holds = |item: &Item| {
        let devices: DeviceSet = item.devices().into_iter().collect();
        matches!(item, Item::Box(_)) && set.is_subset(&devices)
    };
    let Some(Item::Box(inner)) = items.iter_mut().find(|item| holds(item)) else {
        return None;
    };
    // Tested before the recursion: the borrow checker would extend a borrow of the inner boxes to
    // the fallback `Some(inner)`.
    if inner.items.iter().any(holds) {
        smallest(&mut inner.items, set)
    } else {
        Some(inner)
    }
}

/// The part of a fabric's host tree that has devices below it. Nodes are indices into `nodes`.
struct DeviceTree {
    parent: Vec<Option<usize>>,
    kept: Vec<bool>,
    /// For each kept node, its children that are devices or kept nodes.
    below: Vec<Vec<usize>>,
    /// For each device, its parent.
    devices: Vec<Option<usize>>,
    nodes: Vec<NodeId>,
    /// For each device, its index in `nodes`.
    at: Vec<usize>,
}

impl DeviceTree {
    /// Builds the tree with O(nodes + wires) look-ups: the walk up from each device stops at the
    /// first node that an earlier walk has visited.
    fn of(fabric: &Fabric) -> Self {
        let nodes: Vec<NodeId> = fabric.nodes().map(|(id, _)| id).collect();
        let position: BTreeMap<NodeId, usize> =
            nodes.iter().enumerate().map(|(i, &id)| (id, i)).collect();
        let mut parent = vec![None; nodes.len()];
        for (child, above, wire) in fabric.wires() {
            if matches!(wire, FabricWire::Up { .. }) {
                parent[position[&child]] = Some(position[&above]);
            }
        }
        let is_device = |i: &usize| matches!(fabric.node(nodes[*i]).kind, NodeKind::Device(_));
        let at: Vec<usize> = (0..nodes.len()).filter(is_device).collect();
        let mut kept = vec![false; nodes.len()];
        let mut below = vec![Vec::new(); nodes.len()];
        for &device in &at {
            let mut here = device;
            while let Some(above) = parent[here] {
                below[above].push(here);
                if std::mem::replace(&mut kept[above], true) {
                    break;
                }
                here = above;
            }
        }
        let devices = at.iter().map(|&i| parent[i]).collect();
        Self {
            parent,
            kept,
            below,
            devices,
            nodes,
            at,
        }
    }

    fn device_ids(&self) -> BTreeMap<NodeId, DeviceId> {
        (0u32..)
            .zip(&self.at)
            .map(|(id, &at)| (self.nodes[at], DeviceId(id)))
            .collect()
    }

    /// The nearest kept ancestor of a node, if any.
    fn holder(&self, node: usize) -> Option<usize> {
        let mut here = node;
        // Bounded by the number of nodes: a host tree has no cycles.
        while let Some(above) = self.parent[here] {
            if self.kept[above] {
                return Some(above);
            }
            here = above;
        }
        None
    }

    fn is_card(&self, fabric: &Fabric, i: usize) -> bool {
        matches!(fabric.node(self.nodes[i]).kind, NodeKind::Nic)
    }

    fn loose_cards(&self, fabric: &Fabric) -> Vec<NodeId> {
        let loose = |i: &usize| self.is_card(fabric, *i) && self.holder(*i).is_none();
        (0..self.nodes.len())
            .filter(loose)
            .map(|i| self.nodes[i])
            .collect()
    }

    fn boxes(&self, fabric: &Fabric) -> DrawnHost {
        let roots: Vec<usize> = (0..self.nodes.len())
            .filter(|&i| self.kept[i] && self.parent[i].is_none())
            .collect();
        let mut cards: Vec<Vec<String>> = vec![Vec::new(); self.nodes.len()];
        for i in (0..self.nodes.len()).filter(|&i| self.is_card(fabric, i)) {
            if let Some(holder) = self.holder(i) {
                cards[holder].push(fabric.node(self.nodes[i]).name.clone());
            }
        }
        let order = self.top_down(&roots);
        let ids: BTreeMap<usize, DeviceId> = (0u32..)
            .zip(&self.at)
            .map(|(id, &at)| (at, DeviceId(id)))
            .collect();
        let mut items: Vec<Vec<Item>> = vec![Vec::new(); self.nodes.len()];
        let only_root = roots.len() == 1 && self.devices.iter().all(Option::is_some);
        let mut host = DrawnHost::default();
        for &(i, depth) in order.iter().rev() {
            let mut inner: Vec<Item> = Vec::new();
            for below in &self.below[i] {
                match ids.get(below) {
                    Some(&id) => inner.push(Item::Device(id)),
                    None => inner.append(&mut items[*below]),
                }
            }
            inner.sort_by_key(Item::first);
            let node = fabric.node(self.nodes[i]);
            let own_cards = std::mem::take(&mut cards[i]);
            if only_root && self.parent[i].is_none() && node.kind == NodeKind::Machine {
                host.cards.extend(own_cards);
                items[i] = inner;
            } else if let Some(above) = self.parent[i].filter(|_| depth > DEEPEST) {
                cards[above].extend(own_cards);
                items[i] = inner;
            } else {
                let what = what(&node.kind);
                items[i] = vec![Item::Box(HostBox {
                    name: node.name.clone(),
                    what,
                    items: inner,
                    cards: own_cards,
                })];
            }
        }
        host.items = roots
            .iter()
            .flat_map(|&root| std::mem::take(&mut items[root]))
            .collect();
        host.items.extend(self.loose_devices().map(Item::Device));
        host.items.sort_by_key(Item::first);
        let empty = (0..self.nodes.len())
            .filter(|&i| !self.kept[i])
            .map(|i| fabric.node(self.nodes[i]));
        host.empty = empty
            .filter(|node| matches!(node.kind, NodeKind::Numa(_)))
            .map(|node| node.name.clone())
            .collect();
        host
    }

    fn loose_devices(&self) -> impl Iterator<Item = DeviceId> {
        (0u32..)
            .zip(&self.devices)
            .filter(|(_, parent)| parent.is_none())
            .map(|(id, _)| DeviceId(id))
    }

    /// The kept nodes below `roots` with their depths, parents before children.
    fn top_down(&self, roots: &[usize]) -> Vec<(usize, usize)> {
        let mut order: Vec<(usize, usize)> = roots.iter().map(|&root| (root, 0)).collect();
        let mut next = 0;
        while let Some(&(here, depth)) = order.get(next) {
            next += 1;
            order.extend(
                self.below[here]
                    .iter()
                    .filter(|&&i| self.kept[i])
                    .map(|&i| (i, depth + 1)),
            );
        }
        order
    }
}

fn what(kind: &NodeKind) -> String {
    match kind {
        NodeKind::Numa(number) => format!("NUMA {number}"),
        NodeKind::HostBridge => "host bridge".to_owned(),
        NodeKind::PcieSwitch => "PCIe switch".to_owned(),
        _ => "machine".to_owned(),
    }
}

/// The boxes that link classes imply: groups of devices closer to each other than to the rest.
fn regions(root: &Region, graph: &HardwareGraph) -> Vec<Item> {
    let between_sockets = root.within() <= LinkClass::Sys;
    if !between_sockets {
        return vec![Item::Box(with_socket(region(root, graph), graph))];
    }
    if root.parts().is_empty() {
        return by_numa(root.devices().iter().map(Item::Device).collect(), graph);
    }
    let part = |part: &Region| match part.devices().first() {
        Some(id) if part.devices().len() == 1 => Item::Device(id),
        // A region whose parts are joined by `Sys` or worse holds whole sockets: it is a server.
        _ if part.within() <= LinkClass::Sys => {
            let name = "server".to_owned();
            Item::Box(HostBox {
                name,
                what: String::new(),
                items: regions(part, graph),
                cards: Vec::new(),
            })
        }
        _ => Item::Box(region(part, graph)),
    };
    by_numa(root.parts().iter().map(part).collect(), graph)
}

/// Puts devices outside any box that share a NUMA node into one box for that node. Tools print
/// `SYS`, "between sockets", for such devices when they do not know the path.
fn by_numa(items: Vec<Item>, graph: &HardwareGraph) -> Vec<Item> {
    let mut nodes: BTreeMap<u32, Vec<Item>> = BTreeMap::new();
    let mut rest = Vec::new();
    for item in items {
        match item {
            Item::Device(id) => match graph.device(id).numa {
                Some(numa) => nodes.entry(numa).or_default().push(item),
                None => rest.push(item),
            },
            Item::Box(inner) => rest.push(Item::Box(with_socket(inner, graph))),
        }
    }
    let node = |(numa, items)| {
        Item::Box(HostBox {
            name: format!("NUMA {numa}"),
            what: String::new(),
            items,
            cards: Vec::new(),
        })
    };
    rest.extend(nodes.into_iter().map(node));
    rest.sort_by_key(Item::first);
    rest
}

/// Names a box directly below the machine after its NUMA node. Such a box is a whole socket even
/// if its class names a smaller component.
fn with_socket(inner: HostBox, graph: &HardwareGraph) -> HostBox {
    let devices = Item::Box(inner.clone()).devices();
    let mut numbers: Vec<u32> = devices
        .iter()
        .filter_map(|&id| graph.device(id).numa)
        .collect();
    numbers.dedup();
    match numbers.as_slice() {
        [number] if inner.what.is_empty() && !inner.name.starts_with("NUMA") => HostBox {
            name: format!("NUMA {number}"),
            what: inner.name,
            ..inner
        },
        _ => inner,
    }
}

fn region(of: &Region, graph: &HardwareGraph) -> HostBox {
    let part = |part: &Region| match part.devices().first() {
        Some(id) if part.devices().len() == 1 => Item::Device(id),
        _ => Item::Box(region(part, graph)),
    };
    let items = if of.parts().is_empty() {
        of.devices().iter().map(Item::Device).collect()
    } else {
        of.parts().iter().map(part).collect()
    };
    HostBox {
        name: region_name(of, graph),
        what: String::new(),
        items,
        cards: Vec::new(),
    }
}

/// The name of a region: the component that its devices share.
fn region_name(of: &Region, graph: &HardwareGraph) -> String {
    let mut numbers: Vec<u32> = of
        .devices()
        .iter()
        .filter_map(|id| graph.device(id).numa)
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    match of.within() {
        class if class >= LinkClass::Phb => class_name(class),
        _ if numbers.is_empty() => "socket".to_owned(),
        _ => format!(
            "NUMA {}",
            numbers
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        ),
    }
}

/// The component that devices share if this class or a better one joins them.
fn class_name(class: LinkClass) -> String {
    match class {
        LinkClass::Phb => "host bridge",
        LinkClass::Pxb => "PCIe switches",
        LinkClass::Board => "board",
        _ => "PCIe switch",
    }
    .to_owned()
}
