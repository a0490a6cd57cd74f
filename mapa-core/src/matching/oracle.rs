//! The slow and obvious way: every injective map, tried one by one. Tests check the engine against
//! it.

use std::collections::BTreeSet;

use crate::matching::verify;
use crate::pattern::Pattern;
use crate::topology::{DeviceId, DeviceSet, HardwareGraph};
use crate::view::View;

/// Every injective map of `0..k` into `devices`, in lexicographic order. There are n! / (n - k)! of
/// them for n devices.
#[must_use]
pub fn injections(k: usize, devices: &[DeviceId]) -> Vec<Vec<DeviceId>> {
    let mut maps = vec![Vec::new()];
    for _ in 0..k {
        maps = maps
            .into_iter()
            .flat_map(|map: Vec<DeviceId>| {
                let free: Vec<DeviceId> = devices
                    .iter()
                    .copied()
                    .filter(|d| !map.contains(d))
                    .collect();
                free.into_iter()
                    .map(move |d| map.iter().copied().chain([d]).collect())
            })
            .collect();
    }
    maps
}

/// Every raw match, in lexicographic order; with `induced`, only the induced ones.
#[must_use]
pub fn raw_matches(
    pattern: &Pattern,
    graph: &HardwareGraph,
    within: &DeviceSet,
    induced: bool,
) -> Vec<Vec<DeviceId>> {
    let devices: Vec<DeviceId> = within.iter().filter(|d| d.index() < graph.len()).collect();
    let joined = |a: usize, b: usize| {
        pattern
            .edges()
            .iter()
            .any(|e| (e.a as usize, e.b as usize) == (a, b))
    };
    let apart_stays_apart = |map: &[DeviceId]| {
        (0..map.len()).all(|b| (0..b).all(|a| joined(a, b) || !graph.link(map[a], map[b]).exists()))
    };
    let mut maps = injections(pattern.len(), &devices);
    let view = graph.with_free(within);
    maps.retain(|map| {
        verify(pattern, &view, within, map).is_ok() && (!induced || apart_stays_apart(map))
    });
    maps
}

/// Every placement that the view has room for, in lexicographic order, with ranks that share put
/// together in every way.
#[must_use]
pub fn raw_placements(
    pattern: &Pattern,
    view: &View<'_>,
    within: &DeviceSet,
) -> Vec<Vec<DeviceId>> {
    let devices: Vec<DeviceId> = within
        .iter()
        .filter(|d| d.index() < view.graph().len())
        .collect();
    let mut maps = vec![Vec::new()];
    for _ in 0..pattern.len() {
        let longer = |map: Vec<DeviceId>| {
            let longer =
                move |&device: &DeviceId| map.iter().copied().chain([device]).collect::<Vec<_>>();
            devices.iter().map(longer).collect::<Vec<_>>()
        };
        maps = maps.into_iter().flat_map(longer).collect();
    }
    maps.retain(|map| verify(pattern, view, within, map).is_ok());
    maps
}

/// Every automorphism: the permutations that keep the edges with their traffic, and the demands.
#[must_use]
pub fn automorphisms(pattern: &Pattern) -> Vec<Vec<usize>> {
    let edges = |image: &dyn Fn(u16) -> u32| {
        let ends = |a: u32, b: u32| (a.min(b), a.max(b));
        let mut list: Vec<_> = pattern
            .edges()
            .iter()
            .map(|e| (ends(image(e.a), image(e.b)), e.traffic.to_bits()))
            .collect();
        list.sort_unstable();
        list
    };
    let own = edges(&u32::from);
    let vertices: Vec<DeviceId> = (0..pattern.len() as u32).map(DeviceId).collect();
    let mut maps = injections(pattern.len(), &vertices);
    let keeps_demands = |map: &[DeviceId]| {
        map.iter()
            .map(|v| pattern.demands()[v.index()])
            .eq(pattern.demands().iter().copied())
    };
    maps.retain(|map| edges(&|v| map[usize::from(v)].0) == own && keeps_demands(map));
    maps.into_iter()
        .map(|map| map.into_iter().map(DeviceId::index).collect())
        .collect()
}

/// Of each class of matches that are equal up to an automorphism, the lexicographically smallest.
#[must_use]
pub fn distinct(pattern: &Pattern, raw: &[Vec<DeviceId>]) -> BTreeSet<Vec<DeviceId>> {
    let group = automorphisms(pattern);
    let smallest = |map: &Vec<DeviceId>| {
        group
            .iter()
            .map(|g| g.iter().map(|&v| map[v]).collect::<Vec<_>>())
            .min()
    };
    raw.iter().filter_map(smallest).collect()
}
