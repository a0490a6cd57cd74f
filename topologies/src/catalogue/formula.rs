//! Machines by formula: shapes of any size, for experiments on machines outside the catalogue.
//!
//! All devices of a shape are below one PCIe host bridge, so a path joins any two of them. Direct
//! links are single ones. A dimension of two has one link between its ends, not two: a ring of two
//! is one link. (The *pattern* of a ring of two ranks has two edges; the machine has one link.)

use mapa_core::{Fabric, FabricNode, LinkClass, MAX_DEVICES, NodeId, NodeKind};

use crate::error::Error;
use crate::links::{ASSUMED_DIRECT_GBPS, ASSUMED_HOST_GBPS};
use crate::machine::{Labels, Machine};

/// A family of machines by formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formula {
    /// The form of its names: `torus:A[xB[xC]][@GB/s]`.
    pub form: &'static str,
    /// The shape, in words.
    pub what: &'static str,
    /// The name of one such machine.
    pub example: &'static str,
}

/// The families of machines by formula. [`named`](crate::named) takes such names beside those of
/// the catalogue.
///
/// # Examples
/// ```
/// for formula in mapa_topologies::formulas() {
///     assert!(mapa_topologies::named(formula.example).is_ok());
/// }
/// ```
#[must_use]
pub fn formulas() -> &'static [Formula] {
    &[
        Formula {
            form: COMPLETE,
            what: "N devices below one PCIe host bridge",
            example: "complete:16",
        },
        Formula {
            form: RING,
            what: "N devices in a ring of direct links",
            example: "ring:8",
        },
        Formula {
            form: TORUS,
            what: "a torus of one to three dimensions",
            example: "torus:4x4x4",
        },
        Formula {
            form: MESH,
            what: "a torus without the links that wrap around",
            example: "mesh:8x8@50",
        },
        Formula {
            form: HYPERCUBE,
            what: "2^D devices, one link along each of D dimensions",
            example: "hypercube:4",
        },
        Formula {
            form: FLEET,
            what: "K machines, named or by formula, joined by a network",
            example: "fleet:4xdgx-1v",
        },
    ]
}

const COMPLETE: &str = "complete:N";
const RING: &str = "ring:N[@GB/s]";
const TORUS: &str = "torus:A[xB[xC]][@GB/s]";
const MESH: &str = "mesh:A[xB[xC]][@GB/s]";
const HYPERCUBE: &str = "hypercube:D[@GB/s]";
pub(super) const FLEET: &str = "fleet:K[@GB/s]xMACHINE";

/// The machine of this name, if the name is a formula of a single machine.
pub(super) fn machine(name: &str) -> Option<Result<Machine, Error>> {
    let (kind, size) = name.split_once(':')?;
    Some(match kind.to_ascii_lowercase().as_str() {
        "complete" => complete(name, size),
        "ring" => ring(name, size),
        "torus" => grid(name, size, true),
        "mesh" => grid(name, size, false),
        "hypercube" => hypercube(name, size),
        _ => return None,
    })
}

/// A number between two bounds, in plain digits.
pub(super) fn number(digits: &str, bounds: std::ops::RangeInclusive<usize>) -> Option<usize> {
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    digits.parse().ok().filter(|n| plain && bounds.contains(n))
}

/// GB/s as people write it: digits, perhaps with a point.
pub(super) fn speed(digits: &str) -> Option<f64> {
    let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    digits
        .parse()
        .ok()
        .filter(|gbps: &f64| plain && gbps.is_finite() && *gbps > 0.0)
}

/// The size, and the GB/s behind it.
fn with_speed(size: &str) -> Option<(&str, f64)> {
    match size.split_once('@') {
        Some((size, gbps)) => Some((size, speed(gbps)?)),
        None => Some((size, ASSUMED_DIRECT_GBPS)),
    }
}

fn complete(name: &str, size: &str) -> Result<Machine, Error> {
    let n = number(size, 1..=MAX_DEVICES).ok_or_else(|| {
        Error::new(format!(
            "`{name}`: expected {COMPLETE}, N from 1 to {MAX_DEVICES}"
        ))
    })?;
    shape(
        name,
        &format!("{n} devices below one PCIe host bridge"),
        n,
        ASSUMED_DIRECT_GBPS,
        [],
    )
}

fn ring(name: &str, size: &str) -> Result<Machine, Error> {
    let expected = || {
        Error::new(format!(
            "`{name}`: expected {RING}, N from 1 to {MAX_DEVICES}"
        ))
    };
    let (size, gbps) = with_speed(size).ok_or_else(expected)?;
    let n = number(size, 1..=MAX_DEVICES).ok_or_else(expected)?;
    shape(
        name,
        &format!("{n} devices in a ring"),
        n,
        gbps,
        grid_links(&[n], true),
    )
}

fn grid(name: &str, size: &str, wraps: bool) -> Result<Machine, Error> {
    let form = if wraps { TORUS } else { MESH };
    let expected = || {
        Error::new(format!(
            "`{name}`: expected {form}, at most {MAX_DEVICES} devices in all"
        ))
    };
    let (size, gbps) = with_speed(size).ok_or_else(expected)?;
    let dims: Option<Vec<usize>> = size
        .split('x')
        .map(|dim| number(dim, 1..=MAX_DEVICES))
        .collect();
    let dims = dims.filter(|dims| dims.len() <= 3).ok_or_else(expected)?;
    // Three factors of at most 1,024 each cannot overflow.
    let n: usize = dims.iter().product();
    if n > MAX_DEVICES {
        return Err(expected());
    }
    let title = format!(
        "{n} devices in a {} of {}",
        if wraps { "torus" } else { "mesh" },
        size.replace('x', " by ")
    );
    shape(name, &title, n, gbps, grid_links(&dims, wraps))
}

fn hypercube(name: &str, size: &str) -> Result<Machine, Error> {
    let most = MAX_DEVICES.ilog2() as usize;
    let expected = || {
        Error::new(format!(
            "`{name}`: expected {HYPERCUBE}, D from 0 to {most}"
        ))
    };
    let (size, gbps) = with_speed(size).ok_or_else(expected)?;
    let d = number(size, 0..=most).ok_or_else(expected)?;
    let title = format!("{} devices in a hypercube of {d} dimensions", 1usize << d);
    shape(name, &title, 1 << d, gbps, grid_links(&vec![2; d], false))
}

/// The links of a grid: device ids count along the last dimension first. Along each dimension every
/// device is linked to the next, and the last to the first where it wraps around and that is not
/// the same link.
fn grid_links(dims: &[usize], wraps: bool) -> Vec<(usize, usize)> {
    let n: usize = dims.iter().product();
    let mut links = Vec::new();
    let mut stride = n;
    for &dim in dims {
        stride /= dim;
        for id in 0..n {
            let at = id / stride % dim;
            if at + 1 < dim {
                links.push((id, id + stride));
            } else if wraps && dim > 2 {
                links.push((id - at * stride, id));
            }
        }
    }
    links
}

fn shape(
    name: &str,
    title: &str,
    n: usize,
    gbps: f64,
    links: impl IntoIterator<Item = (usize, usize)>,
) -> Result<Machine, Error> {
    let mut fabric = Fabric::new();
    let bridge = fabric.add(FabricNode {
        name: "bridge0".to_owned(),
        kind: NodeKind::HostBridge,
    })?;
    let mut devices: Vec<NodeId> = Vec::with_capacity(n);
    for i in 0..n {
        let device = fabric.add_device(format!("GPU{i}"))?;
        fabric.attach(device, bridge, ASSUMED_HOST_GBPS)?;
        devices.push(device);
    }
    for (a, b) in links {
        fabric.link(devices[a], devices[b], LinkClass::Direct(1), gbps)?;
    }
    Ok(Machine {
        name: name.to_ascii_lowercase(),
        title: title.to_owned(),
        source: "by formula".to_owned(),
        notes: Vec::new(),
        vendor: None,
        labels: Labels::default(),
        fabric,
        warnings: Vec::new(),
    })
}
