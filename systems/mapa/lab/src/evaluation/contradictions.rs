//! Where the paper's figures contradict each other.

use mapa_core::{Census, Coefficients};

use super::claims::best_of_three;
use mapa_lab::report::Section;

pub(super) fn section() -> Section {
    let eq_2 = |x, y, z| Coefficients::FULL.predict(&Census::from_xyz(x, y, z));
    let triple = [(0, 3, 2), (4, 0, 1), (3, 2, 0)].map(|(x, y, z)| eq_2(x, y, z));
    let list = [
        format!(
            "**Table 3 against section 4.1.** 540 s to 505 s is 540 / 505 = {:.3}, Table 3 has 1.014 for topo-aware at \
             75 %; 540 s to 498 s is {:.3}, Table 3 has 1.124 for preserve. The table is about another population, which \
             the paper does not name.",
            540.0 / 505.0,
            540.0 / 498.0
        ),
        "**Table 3, medians.** Topo-aware 1.385 and greedy 1.519 against preserve's 1.119, though the text has \
         preserve's median bandwidth equal to greedy's and topo-aware's \"nearly identical\" to lowest-id's."
            .to_owned(),
        "**Throughput.** Table 3 has 1.12 for preserve, the text 11.7 %, the conclusion \"up to 12%\".".to_owned(),
        format!(
            "**\"Worst case execution time reduced by up to 35%\"** (abstract, conclusion). Table 3's 1.352 is a speedup: the time falls \
             by 1 - 1 / 1.352 = {:.0} %. The 12.4 % of the 75th percentile are {:.0} % less time, likewise.",
            100.0 * (1.0 - 1.0 / 1.352),
            100.0 * (1.0 - 1.0 / 1.124)
        ),
        "**Fig. 11a's AggBW of 170** exists only where PCIe counts 10 GB/s, as in the released code: five GPUs, three double NVLinks and \
         two PCIe paths. At Table 1's 12 GB/s that ring has 174, and no ring of four or five GPUs has 170. The 150 beside it is a ring of \
         four NVLinks under both."
            .to_owned(),
        "**Fig. 4's caption** blames the fragmentation of allocations. The policy alone does as much: on an idle DGX-1V the lowest ids 0, 1 \
         have 50 of 100 GB/s, and 0, 1, 2 have 100 of 125, which is already the \"20% less\"."
            .to_owned(),
        format!(
            "**57.85 and 12.33 are cut off, not rounded.** Eq. 2 of (2, 1, 0) is {:.4}, of no links {:.4}.",
            best_of_three(),
            eq_2(0, 0, 0)
        ),
        "**PCIe is 12 GB/s in Table 1 and in the text (87 = 50 + 25 + 12), 10 in the released code.** Eq. 2 counts \
            links, so it does not depend on this."
            .to_owned(),
        "**RMSE 1.5153 beside MAE 7.0539.** A root mean square is never below the mean of the absolute values: these \
         are |r| / N and the mean ([the published regression](../../../docs/reproduction/eq2-regression.md))."
            .to_owned(),
        "**31 samples.** Rings of two to five on a DGX-1V have 39 different link counts, the best rings of each set \
         26; the printed errors fit 39."
            .to_owned(),
        format!(
            "**Eq. 2 rates PCIe above NVLink.** Of rings of five, (0, 3, 2) has {:.2} GB/s, (4, 0, 1) {:.2}, (3, 2, 0) \
             without PCIe {:.2}: preserve takes the first where it can. Eq. 2 also leaves a ring of two over PCIe \
             ({:.2}) below no links at all ({:.2}).",
            triple[0],
            triple[1],
            triple[2],
            eq_2(0, 0, 2),
            eq_2(0, 0, 0)
        ),
        "**\"Communication calls per iter.\"** of Fig. 5b are calls of a run of 10,000 iterations \
            ([sensitivity](../../../docs/sensitivity.md))."
            .to_owned(),
        "**Topo-aware** is recursive bi-partitioning in the text; the released code takes the first free set within a \
         socket for jobs smaller than a socket, and the lowest ids otherwise."
            .to_owned(),
        "**Preserved bandwidth** (Eq. 3) sums all remaining links in the text, NVLinks alone in the released code."
            .to_owned(),
        "**Jobs** have one to five GPUs in the text; the released generator draws two to five, from six networks, \
         while section 4 names nine workloads and \"a uniform mix of training jobs [...] as shown in Figure 5\", which \
         are six."
            .to_owned(),
        "**The torus** of the released code lacks the link 1-5, which the regular grid of Fig. 17a has; its cube mesh has a \
         pair with two bandwidths and double links at 25 GB/s. Both are simulated."
            .to_owned(),
        "**The simulator cannot show throughput**: its run times are fixed, so first in, first out has the same \
         makespan under every policy that never waits. The 11.7 % come from the real run alone."
            .to_owned(),
    ];
    let text = list
        .iter()
        .map(|item| format!("- {item}"))
        .collect::<Vec<_>>()
        .join("\n");
    Section::new("contradictions", "Where the paper contradicts itself")
        .text(text)
        .numbers("eq_2 of 2,1,0", best_of_three())
        .numbers("eq_2 of 0,0,0", eq_2(0, 0, 0))
        .numbers("eq_2 of 0,3,2; 4,0,1; 3,2,0", triple)
}
