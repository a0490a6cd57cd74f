//! The slow and obvious way: every directed ring in one linear program. Tests check the packings
//! against it.

use microlp::{ComparisonOp, LinearExpr, OptimizationDirection, Problem};

use super::Rates;
use super::bandwidth::Bandwidth;
use super::network::CapacityNetwork;
use crate::topology::{DeviceId, DeviceSet, HardwareGraph};

/// The bandwidth of a set under ring all-reduce, GB/s, to the tolerance of the program (some 10⁻⁷):
/// the largest packing of directed Hamiltonian cycles into ordered pairs of devices and in- and
/// out-ports, or the widest ring over any links. (n - 1)! cycles for n devices: meant for up to
/// six. None for fewer than two devices, or if the program fails.
#[must_use]
pub fn ring_packing(graph: &HardwareGraph, set: &DeviceSet, rates: &Rates) -> Option<f64> {
    let network = CapacityNetwork::new(graph, set, rates);
    let n = network.len();
    if n < 2 {
        return None;
    }
    let rings = directed_rings(n);
    let mut widest = 0.0f64;
    for ring in &rings {
        let width = hops(ring).map(|(a, b)| network.best(a, b));
        widest = widest.max(width.fold(f64::INFINITY, f64::min));
    }

    let mut problem = Problem::new(OptimizationDirection::Maximize);
    let any = (0.0, f64::INFINITY);
    let weights: Vec<_> = rings.iter().map(|_| problem.add_var(1.0, any)).collect();
    let switches = network.ports.len();
    let mut out = vec![vec![LinearExpr::empty(); n]; switches];
    let mut into = vec![vec![LinearExpr::empty(); n]; switches];
    for (a, b) in (0..n)
        .flat_map(|a| (0..n).map(move |b| (a, b)))
        .filter(|(a, b)| a != b)
    {
        let mut load = LinearExpr::empty();
        let over = rings
            .iter()
            .zip(&weights)
            .filter(|(ring, _)| hops(ring).any(|hop| hop == (a, b)));
        over.for_each(|(_, &weight)| load.add(weight, 1.0));
        load.add(problem.add_var(0.0, (0.0, network.direct[a * n + b])), -1.0);
        for switch in 0..switches {
            let way = problem.add_var(0.0, any);
            load.add(way, -1.0);
            out[switch][a].add(way, 1.0);
            into[switch][b].add(way, 1.0);
        }
        problem.add_constraint(load, ComparisonOp::Le, 0.0);
    }
    for loads in [out, into] {
        for (ports, loads) in network.ports.iter().zip(loads) {
            ports
                .iter()
                .zip(loads)
                .for_each(|(&port, load)| problem.add_constraint(load, ComparisonOp::Le, port));
        }
    }
    let packed = problem.solve().ok()?.into_solution().ok()?.objective();
    Some(packed.max(widest))
}

/// Checks that the rings of a bandwidth fit into the capacities, and that their sum is the
/// bandwidth. Each ordered pair is checked by itself; switches are checked by a linear program.
///
/// # Errors
/// A description of what does not fit.
pub fn check_rings(
    graph: &HardwareGraph,
    set: &DeviceSet,
    rates: &Rates,
    found: &Bandwidth,
) -> Result<(), String> {
    let network = CapacityNetwork::new(graph, set, rates);
    let n = network.len();
    let all: f64 = found.rings.iter().map(|(_, gbps)| gbps).sum();
    if (all - found.gbps).abs() > 1e-9 * all || found.gbps > found.at_most_gbps {
        return Err(format!(
            "{all} GB/s of rings, {} found, at most {}",
            found.gbps, found.at_most_gbps
        ));
    }
    let at = |id: &DeviceId| {
        network
            .devices
            .binary_search(id)
            .map_err(|_| format!("{id} is not in the set"))
    };
    let mut load = vec![0.0; n * n];
    for (ring, gbps) in &found.rings {
        let ring: Vec<usize> = ring.iter().map(at).collect::<Result<_, _>>()?;
        let mut sorted = ring.clone();
        sorted.sort_unstable();
        if sorted != (0..n).collect::<Vec<_>>() {
            return Err(format!("{ring:?} does not visit every device once"));
        }
        for (a, b) in hops(&ring) {
            let width = network.alone(a, b).max(network.host[a * n + b]);
            if found.over_host && width < *gbps {
                return Err(format!(
                    "{a} and {b} are joined by {width}, the ring has {gbps}"
                ));
            }
            let way = if n == 2 { *gbps } else { gbps / 2.0 };
            load[a * n + b] += way;
            load[b * n + a] += if n == 2 { 0.0 } else { way };
        }
    }
    if found.over_host {
        Ok(())
    } else {
        fits(&network, &load)
    }
}

/// Whether what is sent between ordered pairs can go over their links and the ports of switches.
fn fits(network: &CapacityNetwork, load: &[f64]) -> Result<(), String> {
    let n = network.len();
    let switches = network.ports.len();
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let mut ports = vec![vec![[LinearExpr::empty(), LinearExpr::empty()]; n]; switches];
    for (at, load) in load.iter().enumerate() {
        let over = load - network.direct[at];
        if over <= 1e-9 * load {
            continue;
        }
        if switches == 0 {
            return Err(format!(
                "{} to {} sends {load} over {}",
                at / n,
                at % n,
                network.direct[at]
            ));
        }
        let mut ways = LinearExpr::empty();
        for ports in &mut ports {
            let way = problem.add_var(1.0, (0.0, f64::INFINITY));
            ways.add(way, 1.0);
            ports[at / n][0].add(way, 1.0);
            ports[at % n][1].add(way, 1.0);
        }
        problem.add_constraint(ways, ComparisonOp::Ge, over);
    }
    for (ports, loads) in network.ports.iter().zip(ports) {
        for (&port, loads) in ports.iter().zip(loads) {
            for load in loads {
                problem.add_constraint(load, ComparisonOp::Le, port * (1.0 + 1e-9));
            }
        }
    }
    problem
        .solve()
        .map(|_| ())
        .map_err(|error| format!("ports: {error}"))
}

/// Every order of 0..n that starts with 0.
fn directed_rings(n: usize) -> Vec<Vec<usize>> {
    let mut rings = vec![vec![0]];
    for _ in 1..n {
        let longer = |ring: Vec<usize>| {
            let next: Vec<usize> = (0..n).filter(|v| !ring.contains(v)).collect();
            next.into_iter()
                .map(move |v| ring.iter().copied().chain([v]).collect())
        };
        rings = rings.into_iter().flat_map(longer).collect();
    }
    rings
}

fn hops(ring: &[usize]) -> impl Iterator<Item = (usize, usize)> + '_ {
    (0..ring.len()).map(|at| (ring[at], ring[(at + 1) % ring.len()]))
}
