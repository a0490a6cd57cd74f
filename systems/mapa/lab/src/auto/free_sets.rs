//! Every free set of five machines, under every policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use mapa_core::{
    BuiltIn, Candidate, DeviceId, DeviceSet, HardwareGraph, Objective, Pattern, Policy, Request,
    Sensitivity, ring_packing_gbps,
};
use mapa_front::Error;
use mapa_lab::claim::{Claim, EXACT, Verdict, number};
use mapa_lab::progress::Progress;
use mapa_lab::report::Section;
use mapa_topologies::named;
use rayon::prelude::*;
use serde::Serialize;

/// Machines whose links differ: NVLink of several generations, bridged pairs, islands, and
/// Infinity Fabric.
const MACHINES: [&str; 5] = [
    "dgx-1v",
    "summit",
    "a100-pcie-8-bridged",
    "h200-nvl-8",
    "mi250-x8",
];

/// The sizes of jobs.
const SIZES: [usize; 4] = [2, 3, 4, 5];

/// The policies beside auto, and whether the job says that it is sensitive.
const OTHERS: [(&str, Sensitivity); 7] = [
    ("lowest-id", Sensitivity::Unknown),
    ("topo-aware", Sensitivity::Unknown),
    ("greedy", Sensitivity::Unknown),
    ("preserve", Sensitivity::Insensitive),
    ("preserve", Sensitivity::Sensitive),
    ("foresight", Sensitivity::Sensitive),
    ("max-bandwidth", Sensitivity::Unknown),
];

/// How another policy's devices compare with those of auto.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct ComparedSets {
    /// Pairs of a free set and a size.
    cases: usize,
    /// Those in which auto's devices carry more.
    more: usize,
    /// Those in which auto's devices carry less.
    less: usize,
    /// The sum of the other's bandwidth over auto's.
    #[serde(skip)]
    ratios: f64,
    /// The smallest of these ratios.
    least_ratio: f64,
}

impl ComparedSets {
    fn of(auto: f64, other: f64) -> Self {
        let ratio = other / auto;
        Self {
            cases: 1,
            more: usize::from(auto > other),
            less: usize::from(auto < other),
            ratios: ratio,
            least_ratio: ratio,
        }
    }

    fn and(self, next: Self) -> Self {
        if self.cases == 0 {
            return next;
        }
        Self {
            cases: self.cases + next.cases,
            more: self.more + next.more,
            less: self.less + next.less,
            ratios: self.ratios + next.ratios,
            least_ratio: self.least_ratio.min(next.least_ratio),
        }
    }

    fn mean_ratio(self) -> f64 {
        self.ratios / self.cases as f64
    }
}

fn label((name, sensitivity): (&str, Sensitivity)) -> String {
    match sensitivity {
        Sensitivity::Sensitive => format!("{name}, told that the job is sensitive"),
        _ => name.to_owned(),
    }
}

/// Compares all policies on all free sets of a machine.
fn compare(graph: &Arc<HardwareGraph>) -> Result<[ComparedSets; OTHERS.len()], Error> {
    let auto = BuiltIn::named("auto").map_err(Error::malformed)?;
    let others = OTHERS.map(|(name, _)| BuiltIn::named(name));
    let sets: Vec<u32> = (0..1u32 << graph.len()).collect();
    let none = [ComparedSets::default(); OTHERS.len()];
    // Chunks in order: sums of fractions are the same on any number of threads.
    let chunks: Vec<Result<_, Error>> = sets
        .par_chunks(32)
        .map(|chunk| {
            let mut found = none;
            for &bits in chunk {
                let free: DeviceSet = (0..graph.len())
                    .filter(|at| bits >> at & 1 == 1)
                    .map(|at| DeviceId(at as u32))
                    .collect();
                for size in SIZES.into_iter().filter(|&size| size <= free.len()) {
                    let gbps = |policy: &dyn Policy, sensitivity| {
                        bandwidth(graph, &free, policy, size, sensitivity)
                    };
                    let own = gbps(&*auto, Sensitivity::Unknown)?;
                    for (at, (policy, (_, sensitivity))) in others.iter().zip(OTHERS).enumerate() {
                        let policy = policy.as_ref().map_err(Error::malformed)?;
                        let other = gbps(&**policy, sensitivity)?;
                        found[at] = found[at].and(ComparedSets::of(own, other));
                    }
                }
            }
            Ok(found)
        })
        .collect();
    chunks.into_iter().try_fold(none, |all, chunk| {
        let mut of = chunk?.into_iter();
        Ok(all.map(|compared| of.next().map_or(compared, |next| compared.and(next))))
    })
}

/// The ring packing, in GB/s, of the devices that a policy chooses.
fn bandwidth(
    graph: &HardwareGraph,
    free: &DeviceSet,
    policy: &dyn Policy,
    size: usize,
    sensitivity: Sensitivity,
) -> Result<f64, Error> {
    thread_local! {
        static MODEL: Objective<'static> = ring_packing_gbps();
    }
    let request = Request::new(Pattern::ring(size)).sensitive(sensitivity);
    let view = graph.with_free(free);
    let decision = policy.decide(&request, &view).map_err(Error::malformed)?;
    Ok(MODEL.with(|model| {
        model.score(&Candidate {
            view,
            pattern: &request.pattern,
            placement: decision.placement(),
        })
    }))
}

pub(super) fn section(bar: &dyn Progress) -> Result<Section, Error> {
    let mut section = Section::new("free-sets", "Every free set of five machines");
    let mut shares: Vec<Vec<String>> = OTHERS.iter().map(|&row| vec![label(row)]).collect();
    let mut ratios = shares.clone();
    for machine in MACHINES {
        bar.doing(&format!("free sets of {machine}"));
        let graph = named(machine).and_then(|machine| machine.graph());
        let compared = compare(&Arc::new(graph.map_err(Error::malformed)?))?;
        let mut numbers = BTreeMap::new();
        for (at, (row, found)) in OTHERS.into_iter().zip(compared).enumerate() {
            let share = 100.0 * found.more as f64 / found.cases as f64;
            shares[at].push(number(share));
            ratios[at].push(format!(
                "{} ({})",
                number(found.mean_ratio()),
                number(found.least_ratio)
            ));
            numbers.insert(label(row), (found, found.mean_ratio()));
        }
        section.insert(machine, numbers);
        let less: usize = compared.iter().map(|compared| compared.less).sum();
        section.claims.push(
            Claim::new(
                format!("{machine}: no policy's devices carry more than those of auto"),
                "in no case",
                &[1],
            )
            .found(
                format!("{less} of {} cases", compared[0].cases),
                None,
                EXACT,
                Verdict::of(less == 0).by_construction(),
            ),
        );
    }
    let header = || [""].into_iter().chain(MACHINES);
    Ok(section
        .text(
            "A case is a free set of the machine and a ring of two to five devices, all free sets that are large enough. The job says nothing of \
             itself unless the row says so. The share of cases, in percent, in which the devices of auto carry more:",
        )
        .table(header(), shares)
        .text("The bandwidth of the row's policy as a part of that of auto: the mean, and the smallest in parentheses.")
        .table(header(), ratios))
}
