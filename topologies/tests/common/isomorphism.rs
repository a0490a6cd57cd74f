//! Whether two machines differ only in the numbering of their devices.
//!
//! Dumps of one model number its devices in different ways: sockets swapped, boards in another
//! order. Two machines are isomorphic if a renumbering of the devices keeps the link class of every
//! pair. MAPA's own subgraph matcher decides this.
//!
//! The matcher has labels on vertices, not on edges. One vertex for each pair of devices could
//! carry the class, but 72 devices have 2,556 pairs, more than a pattern may have vertices. Instead
//! the classes are numbered, and each device becomes a path with one vertex for each binary digit
//! of these numbers. Layer `k` consists of the vertices for digit `k`. Two devices have an edge in
//! layer `k` if digit `k` of their class is 1. The commonest class has the number 0, and so no
//! edges. Both graphs have equally many edges in each layer. A match maps edges to edges, so no
//! edge remains without an image, and the match is an isomorphism.
//!
//! Before the search, colour refinement gives each device a colour that depends on the colours and
//! classes around it, and repeats this until nothing changes. If the machines have different
//! numbers of devices of some colour, they are not isomorphic. Otherwise the colours become labels,
//! which keep the search short unless the machine has much symmetry.

use std::collections::{BTreeMap, HashMap};

use mapa_core::{DeviceId, Error, Graph, HardwareGraph, LinkClass, MatchConfig};

/// What must agree for each pair of devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Likeness {
    /// The direct links. Host paths may differ, as they do between a server and a virtual machine
    /// on that server.
    Direct,
    /// The best link of each pair: the direct links, or the host path if there are none.
    #[default]
    Best,
    /// Both the direct links and the host path of each pair.
    DirectAndHost,
}

impl Likeness {
    fn of(self, graph: &HardwareGraph, a: DeviceId, b: DeviceId) -> (LinkClass, LinkClass) {
        let pair = graph.pair(a, b);
        match self {
            Self::Direct => (pair.direct.class, LinkClass::None),
            Self::Best => (pair.best().class, LinkClass::None),
            Self::DirectAndHost => (pair.direct.class, pair.host.class),
        }
    }
}

/// A renumbering that turns machine `a` into machine `b`, if there is one: device `i` of `a`
/// becomes device `v[i]` of `b`. If there are several, every call returns the same one.
///
/// Only whole devices and the classes of links are compared. Bandwidths, names, NUMA numbers and
/// network cards are ignored. Links through a switch count like links between devices.
///
/// # Complexity
/// O(n² log n) time a round for n devices, at most n rounds, before the search; machines of 72
/// devices take milliseconds. The search itself may take exponential time on made-up machines whose
/// devices all look alike.
///
/// # Errors
/// Machines that are too large for the matcher: n devices with c classes need n times log2(c),
/// rounded up, vertices, and a pattern may have 1,024.
pub(crate) fn isomorphism(
    a: &HardwareGraph,
    b: &HardwareGraph,
    by: Likeness,
) -> Result<Option<Vec<DeviceId>>, Error> {
    let mut numbers = HashMap::new();
    let (a, b) = (
        Classes::new(a, by, &mut numbers),
        Classes::new(b, by, &mut numbers),
    );
    if a.n != b.n || a.counts() != b.counts() {
        return Ok(None);
    }
    let Some((colours_a, colours_b)) = colours(&a, &b) else {
        return Ok(None);
    };
    let code = codes(&a.counts());
    let (pattern, target) = (a.graph(&colours_a, &code)?, b.graph(&colours_b, &code)?);
    let matcher = MatchConfig::new().distinct(false).compile_graph(&pattern)?;
    let Some(found) = matcher.on(&target).first() else {
        return Ok(None);
    };
    // The first layer's vertices are the devices.
    Ok(Some(found.into_iter().take(a.n).map(DeviceId).collect()))
}

/// A device's colour, then the class and the other device's colour for each of its pairs.
type View = (u32, Vec<(u32, u32)>);

/// The classes of a machine's pairs, as numbers: the same numbers for both machines.
struct Classes {
    n: usize,
    /// The class of each pair, row by row. The diagonal is 0 and is not used.
    class: Vec<u32>,
}

impl Classes {
    fn new(
        graph: &HardwareGraph,
        by: Likeness,
        numbers: &mut HashMap<(LinkClass, LinkClass), u32>,
    ) -> Self {
        let ids: Vec<DeviceId> = graph.wholes().iter().collect();
        let mut class = Vec::with_capacity(ids.len() * ids.len());
        for &a in &ids {
            for &b in &ids {
                let next = numbers.len() as u32;
                class.push(if a == b {
                    0
                } else {
                    *numbers.entry(by.of(graph, a, b)).or_insert(next)
                });
            }
        }
        Self {
            n: ids.len(),
            class,
        }
    }

    fn of(&self, a: usize, b: usize) -> u32 {
        self.class[a * self.n + b]
    }

    /// The number of ordered pairs of each class.
    fn counts(&self) -> BTreeMap<u32, usize> {
        let mut counts = BTreeMap::new();
        for a in 0..self.n {
            for b in (0..self.n).filter(|&b| b != a) {
                *counts.entry(self.of(a, b)).or_insert(0) += 1;
            }
        }
        counts
    }

    /// A device's colour, and the classes and colours of all its pairs, in order.
    fn view(&self, device: usize, colours: &[u32]) -> View {
        let others = (0..self.n).filter(|&other| other != device);
        let mut seen: Vec<(u32, u32)> = others
            .map(|other| (self.of(device, other), colours[other]))
            .collect();
        seen.sort_unstable();
        (colours[device], seen)
    }

    /// The views of all devices.
    fn views(&self, colours: &[u32]) -> Vec<View> {
        (0..self.n)
            .map(|device| self.view(device, colours))
            .collect()
    }

    /// The layered graph: vertex `layer * n + device`.
    fn graph(&self, colours: &[u32], code: &BTreeMap<u32, u32>) -> Result<Graph, Error> {
        let (n, layers) = (self.n as u32, layers(code));
        let kinds = colours.iter().max().map_or(1, |most| most + 1);
        let labels = (0..layers)
            .flat_map(|layer| colours.iter().map(move |colour| layer * kinds + colour))
            .collect();
        let mut edges = Vec::new();
        for layer in 0..layers {
            for a in 0..n {
                if layer > 0 {
                    edges.push(((layer - 1) * n + a, layer * n + a));
                }
                for b in 0..a {
                    let number = code
                        .get(&self.of(a as usize, b as usize))
                        .copied()
                        .unwrap_or(0);
                    if number >> layer & 1 == 1 {
                        edges.push((layer * n + a, layer * n + b));
                    }
                }
            }
        }
        Graph::labelled(labels, edges)
    }
}

/// A number for each class: the commonest has 0, the next has 1, and so on. Small numbers have few
/// binary digits that are 1, so the graphs get few edges.
fn codes(counts: &BTreeMap<u32, usize>) -> BTreeMap<u32, u32> {
    let mut classes: Vec<(u32, usize)> = counts
        .iter()
        .map(|(&class, &count)| (class, count))
        .collect();
    classes.sort_by_key(|&(class, count)| (std::cmp::Reverse(count), class));
    (0..)
        .zip(classes)
        .map(|(code, (class, _))| (class, code))
        .collect()
}

/// The number of binary digits of these numbers; at least one, because each device needs a vertex.
fn layers(code: &BTreeMap<u32, u32>) -> u32 {
    let highest = code.values().max().copied().unwrap_or(0);
    (u32::BITS - highest.leading_zeros()).max(1)
}

/// Colours under which devices of one colour have the same [view](Classes::view). `None` if the
/// machines have different numbers of devices of some view, so that no renumbering exists.
fn colours(a: &Classes, b: &Classes) -> Option<(Vec<u32>, Vec<u32>)> {
    let (mut of_a, mut of_b) = (vec![0u32; a.n], vec![0u32; b.n]);
    let mut known = 1;
    loop {
        let (views_a, views_b) = (a.views(&of_a), b.views(&of_b));
        // Equal views get equal numbers on both machines, in the order of the views.
        let mut numbers = BTreeMap::new();
        views_a
            .iter()
            .chain(&views_b)
            .for_each(|view| *numbers.entry(view).or_insert(0) = 0);
        numbers
            .values_mut()
            .zip(0u32..)
            .for_each(|(number, next)| *number = next);
        let next_a: Vec<u32> = views_a.iter().map(|view| numbers[view]).collect();
        let next_b: Vec<u32> = views_b.iter().map(|view| numbers[view]).collect();
        let count = numbers.len();
        if sorted(&next_a) != sorted(&next_b) {
            return None;
        }
        (of_a, of_b) = (next_a, next_b);
        // Views include the old colour, so colours only split: as many as before are the same.
        if count == known {
            return Some((of_a, of_b));
        }
        known = count;
    }
}

fn sorted(colours: &[u32]) -> Vec<u32> {
    let mut sorted = colours.to_vec();
    sorted.sort_unstable();
    sorted
}
