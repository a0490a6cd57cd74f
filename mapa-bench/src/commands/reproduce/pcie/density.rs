//! Fig. 5: how long PCIe-bound jobs run when they are 60 % of all.

use mapa_sim::mean_interval;
use serde_json::json;

use super::super::claim::{interval_json, mean_pm};
use super::super::picture::{Curve, colour, densities};
use super::super::report::Section;
use super::claims;
use super::setting::{Chooser, Physics};
use super::trials::{All, Of, Trials, shown};
use crate::failure::Failure;

/// How wide kernels are, s: a fifth of the peak's place, the same for both schedulers.
pub(super) const KERNEL_S: f64 = 10.0;

/// What the table tells of each scheduler.
const COLUMNS: [(&str, Of); 3] = [
    ("at full speed throughout, %", |own| own.unslowed),
    ("mean slowdown", |own| own.slowdown),
    ("Bloom7b1 above 1.3, %", |own| own.beyond),
];

pub(super) fn section(all: &All) -> Result<Section, Failure> {
    let mut section = Section::new("fig-5", "Fig. 5: execution times of PCIe-bound jobs, 60 % of all").text(
        "Four GPUs, load 0.6. A density depends on how long jobs are, of which the paper tells no more than a peak at some 50 s: the share \
         of PCIe-bound jobs that ran at full speed from beginning to end does not. Where all jobs take 50 s, the peak is those jobs. Kernels are 10 s \
         wide under both schedulers.",
    );
    let mut rows = Vec::new();
    let mut curves = Vec::new();
    for physics in Physics::ALL {
        for setting in shown(physics) {
            let trials = all.of(setting)?;
            section = section.claims(claims::of_density(trials));
            for chooser in Chooser::ALL {
                let values = COLUMNS.map(|(_, of)| mean_interval(&trials.per_file(chooser, of)));
                let words = [physics.name(), setting.lengths.name(), chooser.name()].map(str::to_owned);
                let numbers: Vec<_> = values.iter().map(|value| interval_json(*value)).collect();
                section.numbers.insert(words.join(", "), json!(numbers));
                rows.push(words.into_iter().chain(values.map(mean_pm)).collect());
            }
            let is_uniform = setting == shown(physics)[0];
            if physics == Physics::EqualShare {
                curves.extend(Chooser::ALL.map(|chooser| curve(trials, chooser, is_uniform)));
            }
        }
    }
    let header = ["physics", "run times", "scheduler"].into_iter().chain(COLUMNS.map(|(name, _)| name));
    Ok(section
        .table(header, rows)
        .text(
            "The last column is what the threshold does not see: it is held against the slowdown of the job that is to start. A Bloom560m \
             has none of its own beside up to three other PCIe-bound jobs, so it is put beside a Bloom7b1, which then runs by Eq. 2 at 1.256 \
             times its length, with a second one at 1.884 times.",
        )
        .picture(
            "fig-5.svg",
            densities(curves, KERNEL_S, "PCIe-bound jobs, 60 % of all: execution times by Eq. 2", "execution time, s"),
            "Density of PCIe-bound jobs' execution times under both schedulers, all files' jobs together, kernels of 10 s, as Fig. 5",
        ))
}

fn curve(trials: &Trials, chooser: Chooser, is_uniform: bool) -> Curve {
    let name = format!("{}, {}", chooser.name(), trials.setting.lengths.name());
    let values = trials.of(chooser).iter().flat_map(|own| own.ran.iter().copied()).collect();
    (name, colour(chooser.name()), is_uniform, values)
}
