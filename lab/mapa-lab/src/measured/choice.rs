//! Which devices are chosen where they do not reach each other's memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use mapa_core::{
    DeviceId, DeviceSet, Expected, HardwareGraph, Objective, Operation, Pattern, PeerAccess,
    PeerSource, Policy, Request, Rules, auto, criteria::max,
};
use mapa_front::Error;
use mapa_topologies::policies::nvidia_points;
use mapa_topologies::{catalogue, named, read};
use serde::Serialize;

use super::order::comparable;
use super::rows::{AskedRow, topology};
use crate::claim::{Claim, EXACT, Verdict};
use crate::plan::Plan;
use crate::report::Section;

/// The sizes of jobs.
const SIZES: [usize; 3] = [2, 3, 4];

/// The most devices for which every free set is tried; of more, every set that lacks up to two.
const ALL_FREE_SETS: usize = 9;

/// PCIe-only topologies, by name, without peer access.
fn machines(asked: &[AskedRow], plan: &Plan) -> Result<Vec<(String, HardwareGraph)>, Error> {
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for row in asked {
        let words = row.row.topology.as_deref().unwrap_or_default();
        let named = words
            .split(|c: char| c.is_whitespace() || "(),;:".contains(c))
            .find(|word| word.ends_with(".txt"));
        if let Some((name, text)) = named.and_then(|name| Some((name, topology(plan, name)?))) {
            files.insert(name.to_owned(), text);
        }
    }
    let mut found = Vec::new();
    let read_files = files.into_iter().map(|(name, text)| {
        let machine = read(&text).and_then(mapa_topologies::Dump::into_machine);
        (name, machine)
    });
    let known = catalogue()
        .iter()
        .map(|entry| (entry.name.to_owned(), named(entry.name)));
    for (name, machine) in read_files.chain(known) {
        let mut machine = machine.map_err(|error| Error::at(&name, error))?;
        machine.fabric.set_peer_access_everywhere(PeerAccess {
            on: false,
            source: PeerSource::Told,
        });
        let graph = machine.graph().map_err(|error| Error::at(&name, error))?;
        let ids = || graph.wholes().iter().collect::<Vec<_>>().into_iter();
        let linked = ids().any(|a| ids().any(|b| graph.pair(a, b).direct.exists()));
        if !linked && graph.len() > 2 {
            found.push((name, graph));
        }
    }
    Ok(found)
}

/// The free sets of a machine that are tried for a job.
fn free_sets(n: usize, k: usize) -> Vec<DeviceSet> {
    let members = |bits: u32| {
        (0..n as u32)
            .filter(|i| bits >> i & 1 == 1)
            .map(DeviceId)
            .collect()
    };
    if n <= ALL_FREE_SETS {
        let room = |bits: &u32| bits.count_ones() as usize > k;
        return (1u32..1 << n).filter(room).map(members).collect();
    }
    let all = (1u32 << n) - 1;
    let lacking = (0..n).flat_map(|a| (0..=a).map(move |b| all & !(1 << a) & !(1 << b)));
    std::iter::once(all).chain(lacking).map(members).collect()
}

/// The usual rule: the set whose pairs have the most points.
fn closeness() -> Rules<'static> {
    let points = Objective::chosen("closeness", |chosen| {
        let ids: Vec<DeviceId> = chosen.devices.iter().collect();
        let pairs = ids.iter().enumerate();
        let pairs = pairs.flat_map(|(at, &b)| ids[..at].iter().map(move |&a| (a, b)));
        pairs.fold(0.0, |sum, (a, b)| {
            sum + f64::from(nvidia_points(chosen.graph, a, b))
        })
    });
    Rules::new("closeness").prefer(max(points))
}

/// How closeness compares with auto on some cases.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct ComparedChoices {
    cases: usize,
    /// Cases in which closeness is slower by more than 5 %.
    slower: usize,
    /// Cases in which auto is slower by more than 5 %.
    faster: usize,
    /// By how much closeness is slower in these, on average: 0.3 for 30 %.
    by: f64,
}

impl ComparedChoices {
    fn add(&mut self, auto: f64, close: f64) {
        self.cases += 1;
        if close < auto / 1.05 {
            self.slower += 1;
            let n = self.slower as f64;
            self.by += ((1.0 - close / auto) - self.by) / n;
        } else if auto < close / 1.05 {
            self.faster += 1;
        }
    }

    fn text(self) -> String {
        format!(
            "slower by more than 5 % in {} of {}, by {:.0} % on average there; faster in {}",
            self.slower,
            self.cases,
            100.0 * self.by,
            self.faster
        )
    }
}

pub(super) fn section(asked: &[AskedRow], plan: &Plan) -> Result<Section, Error> {
    let (policy, close) = (auto(), closeness());
    let model = Expected::shipped(Operation::AllReduce);
    let mut total = ComparedChoices::default();
    let mut idle = ComparedChoices::default();
    let mut table = Vec::new();
    for (name, graph) in machines(asked, plan)? {
        let mut own = ComparedChoices::default();
        for k in SIZES.into_iter().filter(|k| *k < graph.len()) {
            let request = Request::new(Pattern::ring(k));
            for free in free_sets(graph.len(), k) {
                let view = graph.with_free(&free);
                let gbps = |policy: &dyn Policy| {
                    let decision = policy.decide(&request, &view).ok()?;
                    Some(model.of(&graph, &decision.placement().set())?.gbps)
                };
                let (Some(auto), Some(close)) = (gbps(&policy), gbps(&close)) else {
                    continue;
                };
                own.add(auto, close);
                total.add(auto, close);
                if free == graph.all() {
                    idle.add(auto, close);
                }
            }
        }
        table.push(vec![
            name,
            own.cases.to_string(),
            own.slower.to_string(),
            format!("{:.0} %", 100.0 * own.by),
            own.faster.to_string(),
        ]);
    }
    let (sound, all) = (by_rows(asked, true), by_rows(asked, false));
    let claim = Claim::new(
        "without P2P, auto's devices are never slower than the closest, by the model",
        "-",
        &[2],
    );
    let rows = Claim::new(
        "without P2P, auto's devices are never slower than the closest, by rows without a problem",
        "-",
        &[1, 2, 4],
    );
    Ok(Section::new("choice", "Which devices, where P2P is off")
        .text(format!(
            "Rings of two to four devices on every PCIe-only topology, with every free set (of machines of ten devices and more: all sets that \
             lack up to two), chosen by auto and by closeness: the set whose pairs have the most points. By the model, the closest devices are \
             {}. On idle machines alone: {}. By rows: of sets of which both were measured, the closest is {}; with rows that have a \
             problem, {}.",
            total.text(),
            idle.text(),
            sound.text(),
            all.text()
        ))
        .table(["topology", "cases", "closest slower", "by", "closest faster"], table)
        .claims([
            claim.found(total.text(), None, EXACT, Verdict::of(total.faster == 0)),
            rows.found(sound.text(), None, EXACT, Verdict::of(sound.faster == 0)),
        ])
        .numbers("by the model", total)
        .numbers("on idle machines", idle)
        .numbers("by rows", sound)
        .numbers("by rows with problems", all))
}

/// Sets of one machine that were measured without peer access: the one that auto would choose among
/// them, and the closest.
fn by_rows(asked: &[AskedRow], sound: bool) -> ComparedChoices {
    let off = |row: &&AskedRow| {
        let staged = row
            .estimate
            .as_ref()
            .is_some_and(|estimate| estimate.peer_access == Some(false));
        staged && (row.counts() || !sound)
    };
    let rows: Vec<&AskedRow> = asked.iter().filter(off).collect();
    let mut left = rows.clone();
    let mut compared = ComparedChoices::default();
    while let Some(first) = left.first().copied() {
        let (group, rest): (Vec<&AskedRow>, Vec<&AskedRow>) =
            left.into_iter().partition(|row| comparable(first, row));
        left = rest;
        let differing: std::collections::BTreeSet<Option<&str>> =
            group.iter().map(|row| row.row.devices.as_deref()).collect();
        if differing.len() < 2 {
            continue;
        }
        // Of equal sets the first, as both rules take the lowest ids.
        let best = |value: &dyn Fn(&AskedRow) -> f64| {
            let mut best: Option<&AskedRow> = None;
            for &row in &group {
                if best.is_none_or(|best| value(row) > value(best) * (1.0 + 1e-9)) {
                    best = Some(row);
                }
            }
            best.map_or(0.0, |row| row.row.gbps)
        };
        let expected = |row: &AskedRow| {
            // What shares less of the host comes first among equals, as in auto.
            let sharing = row
                .question
                .as_ref()
                .map_or(0.0, |question| sharing(&question.graph, &question.devices));
            row.estimate.as_ref().map_or(0.0, |estimate| estimate.gbps) * (1.0 - 1e-8 * sharing)
        };
        let close = |row: &AskedRow| f64::from(row.points.unwrap_or_default());
        compared.add(best(&expected), best(&close));
    }
    compared
}

/// [`mapa_core::host_sharing`] of some devices.
fn sharing(graph: &Arc<HardwareGraph>, devices: &[DeviceId]) -> f64 {
    let all = graph.all();
    let candidate = mapa_core::Candidate {
        view: graph.with_free(&all),
        pattern: &Pattern::ring(devices.len()),
        placement: devices,
    };
    mapa_core::host_sharing().score(&candidate)
}
