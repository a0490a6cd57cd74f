//! Fig. 11 and 12: whether aggregated bandwidth predicts time, and the regression.

use std::collections::BTreeMap;

use mapa_core::RingPacking;
use mapa_regress::published::{Allocation, allocations, correlation};

use super::setting::NamedMachine;
use mapa_front::Error;
use mapa_lab::claim::{Claim, EXACT, Verdict};
use mapa_lab::report::Section;

type EstimateOf = fn(&Allocation) -> f64;

const AGGREGATE: EstimateOf = |set| set.aggregate;
const EQ_2: EstimateOf = |set| set.eq_2;
const PACKING: EstimateOf = |set| set.packing;

/// Counts pairs of sets of one size whose order by aggregated bandwidth is reversed by another
/// measure, and all pairs that differ in both.
///
/// # Complexity
/// O(n²) for n sets.
fn reversed(sets: &[&Allocation], of: EstimateOf) -> (usize, usize) {
    let mut count = (0, 0);
    for (at, a) in sets.iter().enumerate() {
        for b in sets[..at]
            .iter()
            .filter(|b| b.devices.len() == a.devices.len())
        {
            let [more, better] = [a.aggregate - b.aggregate, of(a) - of(b)];
            if more.abs() > 1e-9 && better.abs() > 1e-9 {
                count.1 += 1;
                count.0 += usize::from(more * better < 0.0);
            }
        }
    }
    count
}

pub(super) fn section() -> Result<Section, Error> {
    let graph = NamedMachine::DGX.graph()?;
    let sets = allocations(&graph, &RingPacking::default());
    let r = [(AGGREGATE, EQ_2), (AGGREGATE, PACKING), (EQ_2, PACKING)].map(|(a, b)| {
        let pairs: Vec<(f64, f64)> = sets.iter().map(|set| (a(set), b(set))).collect();
        correlation(&pairs).unwrap_or(f64::NAN)
    });
    let large: Vec<&Allocation> = sets.iter().filter(|set| set.devices.len() > 3).collect();
    let counts = [EQ_2, PACKING].map(|of| reversed(&large, of));
    let names = [
        "AggBW and Eq. 2",
        "AggBW and ring packing",
        "Eq. 2 and ring packing",
    ];
    let rows = names
        .iter()
        .zip(r)
        .map(|(name, r)| vec![(*name).to_owned(), format!("{r:.2}")])
        .collect();
    Ok(Section::new("fig-11", "Fig. 11 and 12: bandwidth and time, the regression")
        .claims(claims(r, counts))
        .text(
            "Pearson's correlations over all 210 sets of two to five GPUs of a DGX-1V, each with its ring of the highest AggBW. Pictures, and \
             what can be said about the fit without its samples, are in [the published regression](../../../docs/reproduction/eq2-regression.md).",
        )
        .table(["of", "r"], rows)
        .numbers("correlations", BTreeMap::from([("aggregate_eq_2", r[0]), ("aggregate_packing", r[1]), ("eq_2_packing", r[2])]))
        .numbers("reversed_pairs", BTreeMap::from([("eq_2", counts[0]), ("packing", counts[1])])))
}

/// The claims, judged by the correlations and by the pairs that Eq. 2 and ring packing reverse.
fn claims(r: [f64; 3], counts: [(usize, usize); 2]) -> [Claim; 4] {
    let weak = "AggBW does not correlate well with bandwidth that is reached (Fig. 11b)";
    let weak = Claim::new(weak, "scatter without a number", &[]).not_had(format!(
        "r = {:.2} with Eq. 2, {:.2} with ring packing; what is not well the paper does not say",
        r[0], r[1]
    ));
    let wrong =
        "among 4- and 5-GPU sets, some with more AggBW are slower (Fig. 11a: 170 slower than 150)";
    let [eq_2, packing] = counts.map(|(wrong, all)| format!("{wrong} of {all}"));
    let ours = format!("{eq_2} pairs of sets of one size by Eq. 2, {packing} by ring packing");
    let is_so = counts.iter().all(|count| count.0 > 0);
    let wrong = Claim::new(wrong, "one pair", &[]).found(ours, None, EXACT, Verdict::of(is_so));
    let times = Claim::new(
        "EffBW correlates with the time of VGG-16 (Fig. 11c)",
        "scatter without a number",
        &[],
    );
    let errors = "Eq. 2: relative error 0.0709, RMSE 1.5153, MAE 7.0539 on 31 samples (Fig. 12)";
    let errors = Claim::new(errors, "as said", &[]);
    [
        weak,
        wrong,
        times.not_had("needs their measurements of VGG-16; our times are made from EffBW (A4)"),
        errors.not_had("needs their 31 samples; no natural set of 31 link counts agrees with the printed errors"),
    ]
}
