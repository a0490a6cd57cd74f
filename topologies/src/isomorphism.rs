//! Whether two machines are one and the same up to the numbering of their devices.
//!
//! Dumps of one model number its devices in different ways: sockets swapped, boards in another order. Two machines are
//! isomorphic if a renumbering takes every pair's link class to the same class. That is labelled subgraph matching with
//! nothing left over, so MAPA's own matcher decides it.
//!
//! A plain graph has labels on vertices, not on edges. One vertex for each pair of devices would carry them, but 72
//! devices have 2,556 pairs, more than a pattern may have vertices. Instead the classes are numbered and each device
//! becomes a path, one vertex for each binary digit of those numbers: the pairs whose class has digit `k` set are the
//! edges of layer `k`. The commonest class is number 0 and has no edges at all. As both graphs have as many edges in
//! each layer, a match, which maps edges to edges, leaves none over: it is an isomorphism.
//!
//! Before that, devices are coloured by what surrounds them, again and again until nothing changes: different colour
//! counts are a quick no, and the colours, as labels, keep the search short where there is little symmetry.

use std::collections::{BTreeMap, HashMap};

use mapa_core::{DeviceId, Graph, HardwareGraph, LinkClass, MatchConfig};

use crate::error::Error;

/// What of each pair of devices must agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Likeness {
    /// The direct links: host paths may differ, as they do between a server and a virtual machine on it.
    Direct,
    /// The best link: direct links, and where there are none the host path.
    #[default]
    Best,
    /// Direct links and the host path beneath them.
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

/// A renumbering that makes two machines one, if there is any: device `i` of `a` is device `v[i]` of `b`. Which of
/// several is not said, but it is always the same one.
///
/// Only whole devices and the classes of links count; bandwidths, names, NUMA numbers and network cards do not, nor
/// whether links are the devices' own or end at a switch.
///
/// ```
/// use mapa_topologies::{Likeness, isomorphism, named};
///
/// let [server, cloud] = [named("dgx-1v")?.graph()?, named("aws-p3-16xlarge")?.graph()?];
/// assert!(isomorphism(&server, &cloud, Likeness::Direct)?.is_some());
/// assert!(isomorphism(&server, &cloud, Likeness::Best)?.is_none()); // the cloud's host paths are PHB
/// # Ok::<(), mapa_topologies::Error>(())
/// ```
///
/// O(n² log n) time a round for n devices, at most n rounds, before the search; machines of 72 devices take
/// milliseconds. The search itself may take exponential time on made-up machines whose devices all look alike.
///
/// # Errors
/// Machines so large, with so many classes, that the pattern passes the matcher's limit: n devices with c classes
/// need n times log2(c), rounded up, of its 1,024 vertices.
pub fn isomorphism(a: &HardwareGraph, b: &HardwareGraph, by: Likeness) -> Result<Option<Vec<DeviceId>>, Error> {
    let mut numbers = HashMap::new();
    let (a, b) = (Classes::new(a, by, &mut numbers), Classes::new(b, by, &mut numbers));
    if a.n != b.n || a.counts() != b.counts() {
        return Ok(None);
    }
    let Some((colours_a, colours_b)) = colours(&a, &b) else { return Ok(None) };
    let code = codes(&a.counts());
    let (pattern, target) = (a.graph(&colours_a, &code)?, b.graph(&colours_b, &code)?);
    let matcher = MatchConfig::new().distinct(false).compile_graph(&pattern)?;
    let Some(found) = matcher.on(&target).first() else { return Ok(None) };
    // The first layer's vertices are the devices.
    Ok(Some(found.into_iter().take(a.n).map(DeviceId).collect()))
}

/// The classes of a machine's pairs, as numbers: the same numbers for both machines.
struct Classes {
    n: usize,
    /// Row by row; 0 on the diagonal, which nothing looks at.
    class: Vec<u32>,
}

impl Classes {
    fn new(graph: &HardwareGraph, by: Likeness, numbers: &mut HashMap<(LinkClass, LinkClass), u32>) -> Self {
        let ids: Vec<DeviceId> = graph.wholes().iter().collect();
        let mut class = Vec::with_capacity(ids.len() * ids.len());
        for &a in &ids {
            for &b in &ids {
                let next = numbers.len() as u32;
                class.push(if a == b { 0 } else { *numbers.entry(by.of(graph, a, b)).or_insert(next) });
            }
        }
        Self { n: ids.len(), class }
    }

    fn of(&self, a: usize, b: usize) -> u32 {
        self.class[a * self.n + b]
    }

    /// How many ordered pairs each class has.
    fn counts(&self) -> BTreeMap<u32, usize> {
        let mut counts = BTreeMap::new();
        for a in 0..self.n {
            for b in (0..self.n).filter(|&b| b != a) {
                *counts.entry(self.of(a, b)).or_insert(0) += 1;
            }
        }
        counts
    }

    /// What a device sees: its own colour, then how it is joined to devices of which colours.
    fn view(&self, device: usize, colours: &[u32]) -> (u32, Vec<(u32, u32)>) {
        let others = (0..self.n).filter(|&other| other != device);
        let mut seen: Vec<(u32, u32)> = others.map(|other| (self.of(device, other), colours[other])).collect();
        seen.sort_unstable();
        (colours[device], seen)
    }

    /// The layered graph: vertex `layer * n + device`.
    fn graph(&self, colours: &[u32], code: &BTreeMap<u32, u32>) -> Result<Graph, Error> {
        let (n, layers) = (self.n as u32, layers(code));
        let kinds = colours.iter().max().map_or(1, |most| most + 1);
        let labels = (0..layers).flat_map(|layer| colours.iter().map(move |colour| layer * kinds + colour)).collect();
        let mut edges = Vec::new();
        for layer in 0..layers {
            for a in 0..n {
                if layer > 0 {
                    edges.push(((layer - 1) * n + a, layer * n + a));
                }
                for b in 0..a {
                    let number = code.get(&self.of(a as usize, b as usize)).copied().unwrap_or(0);
                    if number >> layer & 1 == 1 {
                        edges.push((layer * n + a, layer * n + b));
                    }
                }
            }
        }
        Ok(Graph::labelled(labels, edges)?)
    }
}

/// A number for each class, the commonest 0, the next 1, and so on: the fewer edges the better.
fn codes(counts: &BTreeMap<u32, usize>) -> BTreeMap<u32, u32> {
    let mut classes: Vec<(u32, usize)> = counts.iter().map(|(&class, &count)| (class, count)).collect();
    classes.sort_by_key(|&(class, count)| (std::cmp::Reverse(count), class));
    (0..).zip(classes).map(|(code, (class, _))| (class, code)).collect()
}

/// How many binary digits the numbers have; one at least, as each device needs a vertex.
fn layers(code: &BTreeMap<u32, u32>) -> u32 {
    let highest = code.values().max().copied().unwrap_or(0);
    (u32::BITS - highest.leading_zeros()).max(1)
}

/// Colours such that devices of one colour see the same; none if the machines differ in how many devices see what.
fn colours(a: &Classes, b: &Classes) -> Option<(Vec<u32>, Vec<u32>)> {
    let (mut of_a, mut of_b) = (vec![0u32; a.n], vec![0u32; b.n]);
    let mut known = 1;
    loop {
        let views = |classes: &Classes, colours: &[u32]| -> Vec<_> {
            (0..classes.n).map(|device| classes.view(device, colours)).collect()
        };
        let (views_a, views_b) = (views(a, &of_a), views(b, &of_b));
        let mut numbers = BTreeMap::new();
        views_a.iter().chain(&views_b).for_each(|view| *numbers.entry(view).or_insert(0) = 0);
        numbers.values_mut().zip(0u32..).for_each(|(number, next)| *number = next);
        let number =
            |views: &[(u32, Vec<(u32, u32)>)]| -> Vec<u32> { views.iter().map(|view| numbers[view]).collect() };
        let (next_a, next_b, count) = (number(&views_a), number(&views_b), numbers.len());
        if sorted(&next_a) != sorted(&next_b) {
            return None;
        }
        (of_a, of_b) = (next_a, next_b);
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
