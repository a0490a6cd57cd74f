//! Where the paper's figures contradict each other, what Eq. 2 counts, and what the paper does not
//! state.

use std::collections::BTreeMap;

use mapa_core::PCIE_GEN4_GBPS;

use super::claims::not_slower;
use super::hindsight::slowdown;
use super::jobs::{BLOOM7B1, BLOOM560M};
use super::setting::{FIXED, LARGE, PcieSetting, PortSharing};
use super::trials::PcieResults;
use mapa_front::Error;
use mapa_lab::claim::{Claim, EXACT, Verdict, mean_pm, number};
use mapa_lab::report::Section;

/// Jobs of both PCIe-bound kinds on a GPU.
#[derive(Clone, Copy)]
struct BoundMix {
    light: usize,
    heavy: usize,
}

impl BoundMix {
    /// The mixes that are shown: one job of a kind beside up to six of the other, and two beside
    /// two.
    const SHOWN: [Self; 8] = [
        Self { light: 1, heavy: 1 },
        Self { light: 2, heavy: 1 },
        Self { light: 3, heavy: 1 },
        Self { light: 6, heavy: 1 },
        Self { light: 1, heavy: 2 },
        Self { light: 2, heavy: 2 },
        Self { light: 1, heavy: 3 },
        Self { light: 1, heavy: 6 },
    ];

    fn name(self) -> String {
        format!(
            "{} x {}, {} x {}",
            self.light, BLOOM560M.name, self.heavy, BLOOM7B1.name
        )
    }

    /// The slowdowns of a light and a heavy job.
    fn slowdowns(self, physics: PortSharing) -> [f64; 2] {
        let all = [vec![BLOOM560M; self.light], vec![BLOOM7B1; self.heavy]].concat();
        [BLOOM560M, BLOOM7B1].map(|kind| slowdown(physics, kind, &all))
    }

    /// The bandwidth of all jobs together at these slowdowns, GB/s.
    fn gbps(self, [light, heavy]: [f64; 2]) -> f64 {
        self.light as f64 * BLOOM560M.wants() / light + self.heavy as f64 * BLOOM7B1.wants() / heavy
    }
}

/// The gains under both physics, in words.
fn gains(all: &PcieResults, setting: PcieSetting) -> Result<String, Error> {
    let [eq_2, max_min] = PortSharing::ALL.map(|physics| {
        all.of(PcieSetting { physics, ..setting })
            .map(|trials| mean_pm(trials.gain()))
    });
    Ok(format!(
        "{}: {} % and {} %",
        setting.coming.name(),
        eq_2?,
        max_min?
    ))
}

/// The section that compares Eq. 2 with max-min fairness.
pub(super) fn what_eq_2_counts(all: &PcieResults) -> Result<Section, Error> {
    let mut section =
        Section::new("eq-2", "What Eq. 2 counts, and what that changes").claims(not_slower(all));
    let mut rows = Vec::new();
    let mut unused = Vec::new();
    for mix in BoundMix::SHOWN {
        let [eq_2, max_min] = PortSharing::ALL.map(|physics| mix.slowdowns(physics));
        let all = [mix.gbps(eq_2), mix.gbps(max_min)];
        unused.push(all[1] - all[0]);
        let cells = [eq_2[0], max_min[0], eq_2[1], max_min[1], all[0], all[1]].map(number);
        rows.push([mix.name()].into_iter().chain(cells).collect());
        section.insert(
            mix.name(),
            BTreeMap::from([("eq_2", eq_2), ("max_min", max_min), ("gbps", all)]),
        );
    }
    let most = unused.iter().copied().fold(0.0, f64::max);
    let conserves = Claim::new(
        "Eq. 2 has the port full whenever jobs could fill it",
        "implied (3.1)",
        &[3],
    );
    let told = format!(
        "up to {} GB/s are left over that a job beside would use",
        number(most)
    );
    let changes = [FIXED, LARGE].map(|system| {
        let [load, _, burst, _] = system.variants();
        Ok::<_, Error>(format!(
            "{} GPUs, {}; {}",
            system.gpus,
            gains(all, load)?,
            gains(all, burst)?
        ))
    });
    let [small, large] = changes;
    Ok(section
        .claims([conserves.found(told, None, EXACT, Verdict::of(most < 1e-9))])
        .text(
            "Eq. 2 multiplies a job's own demand by the number of PCIe-bound jobs on the GPU, whatever the others demand. Each gets PCIe_max / n, \
             and what a light job leaves of its part is lost. A Bloom560m beside six Bloom7b1 is slowed down 1.658 times, as beside six of its \
             own kind. Max-min agrees there, because all seven demand more than a seventh of the port. The two differ where a light job leaves \
             bandwidth: by max-min, a Bloom7b1 beside one Bloom560m runs at full speed, where Eq. 2 has 1.256.",
        )
        .table(
            [
                "on a GPU",
                "560m, Eq. 2",
                "560m, max-min",
                "7b1, Eq. 2",
                "7b1, max-min",
                "GB/s in all, Eq. 2",
                "GB/s in all, max-min",
            ],
            rows,
        )
        .text(format!(
            "The scheduler predicts by Eq. 2 in both physics. Reduction of the aggregated JCT at 60 % PCIe-bound jobs, by Eq. 2's physics and by \
             max-min's: {}; {}.",
            small?, large?
        )))
}

/// The section of the paper's contradictions and omissions.
pub(super) fn section() -> Section {
    let shares = [9.024, BLOOM560M.gbps, BLOOM560M.wants()];
    let knees = shares.map(|gbps| (PCIE_GEN4_GBPS / gbps).floor());
    let list = [
        format!(
            "**Section 3.2 against Table 2.** One Bloom560m takes \"approximately 30%\" of the port, 9.0 GB/s, in the text, {} GB/s (19 %) in \
             the table. By the first the port is full with {} jobs, by the second with {}; throughput declines beyond four. Only with alpha x \
             demand, {:.3} GB/s (23.7 %), is it full between four and five.",
            BLOOM560M.gbps,
            knees[0] + 1.0,
            knees[1] + 1.0,
            shares[2]
        ),
        "**Eq. 1 against Eq. 2.** By Eq. 1 a job alone would take 0.24 (Bloom560m) or 0.63 (Bloom7b1) times as long as it does alone. The line \
         through the origin describes saturated ports, as the maximum in Eq. 2 says. A fit over all points has another slope."
            .to_owned(),
        "**The thresholds look at the job that starts.** Its own predicted slowdown is compared with `delay_threshold`. The slowdown that it \
         causes to running jobs is not, neither here nor in the sort by slowdown (Fig. 5, last column)."
            .to_owned(),
        "**Relaxation.** Principle (4) relaxes exact slices to larger ones after too long a wait. The four stages exempt such a job from \
         `delay_threshold`, and do not mention slices."
            .to_owned(),
        "**18 %** is \"approximately\" in the abstract and the conclusion, \"up to\" in section 5.3; 17 % and 20 % are \"up to\" too."
            .to_owned(),
        "**Tokens.** Eq. 3 measures the remaining work in tokens and the throughput in tokens per second, for all jobs. ResNet50 has none: it \
         classifies images, and the paper does not say what counts for it."
            .to_owned(),
        "**Fig. 1** has 1g, 2g and 3g; the text says \"both jobs\".".to_owned(),
        "**Not stated**: arrivals, the number of jobs on the testbed, run times except that 50 s is a low one, how often each Bloom model occurs, \
         which slices jobs request, both thresholds, the time of a repartition, the maximum of instances in Fig. 9, whether the baseline \
         repartitions. All are assumed above; most are varied."
            .to_owned(),
    ];
    let text = list
        .iter()
        .map(|item| format!("- {item}"))
        .collect::<Vec<_>>()
        .join("\n");
    Section::new(
        "contradictions",
        "Where the paper contradicts itself, and what it does not say",
    )
    .text(text)
    .numbers("jobs that fit at 9.024, 5.7 and 7.125 GB/s", knees)
}
