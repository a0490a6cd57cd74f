//! Fig. 5: execution times of PCIe-bound jobs when they are 60 % of all.

use mapa_sim::mean_interval;

use super::claims::{self, KERNEL_S};
use super::colours::colour;
use super::setting::{PcieChooser, PortSharing};
use super::trials::{PcieNumber, PcieResults, PcieTrials, shown};
use mapa_front::Error;
use mapa_lab::claim::{bounds, mean_pm};
use mapa_lab::picture::{StyledCurve, densities};
use mapa_lab::report::Section;

/// The columns of the table.
const COLUMNS: [(&str, PcieNumber); 3] = [
    ("at full speed throughout, %", |trial| trial.unslowed),
    ("mean slowdown", |trial| trial.slowdown),
    ("Bloom7b1 above 1.3, %", |trial| trial.beyond),
];

pub(super) fn section(all: &PcieResults) -> Result<Section, Error> {
    let mut section = Section::new("fig-5", "Fig. 5: execution times of PCIe-bound jobs, 60 % of all").text(
        "Four GPUs, load 0.6. The text has \"50% more jobs with low execution time (50 seconds)\" than the baseline. A density depends on the \
         lengths of jobs, of which the paper says no more. The share of PCIe-bound jobs that ran at full speed from beginning to end does \
         not depend on lengths. Where all jobs take 50 s, the jobs of low execution time are those. Kernels are 10 s wide under both \
         schedulers.",
    );
    let mut rows = Vec::new();
    let mut curves = Vec::new();
    for physics in PortSharing::ALL {
        for setting in shown(physics) {
            let trials = all.of(setting)?;
            section = section.claims(claims::of_density(trials));
            for chooser in PcieChooser::ALL {
                let values = COLUMNS.map(|(_, of)| mean_interval(&trials.per_file(chooser, of)));
                let words =
                    [physics.name(), setting.lengths.name(), chooser.name()].map(str::to_owned);
                let numbers: Vec<_> = values.iter().map(|value| bounds(*value)).collect();
                section.insert(words.join(", "), numbers);
                rows.push(words.into_iter().chain(values.map(mean_pm)).collect());
            }
            let is_uniform = setting == shown(physics)[0];
            if physics == PortSharing::EqualShare {
                curves.extend(PcieChooser::ALL.map(|chooser| curve(trials, chooser, is_uniform)));
            }
        }
    }
    let header = ["physics", "run times", "scheduler"]
        .into_iter()
        .chain(COLUMNS.map(|(name, _)| name));
    Ok(section
        .table(header, rows)
        .text(
            "The last column is what the threshold does not see, because it limits the slowdown of the job that starts. A Bloom560m has no \
             slowdown of its own beside up to three other PCIe-bound jobs. So it is placed beside a Bloom7b1, which then takes 1.256 times \
             its length by Eq. 2, and 1.884 times with a second one.",
        )
        .picture(
            "fig-5.svg",
            densities(curves, KERNEL_S, "PCIe-bound jobs, 60 % of all: execution times by Eq. 2", "execution time, s"),
            "Density of PCIe-bound jobs' execution times under both schedulers, all files' jobs together, kernels of 10 s, as Fig. 5",
        ))
}

/// The execution times of all files' jobs under a scheduler.
fn curve(trials: &PcieTrials, chooser: PcieChooser, is_uniform: bool) -> StyledCurve {
    let name = format!("{}, {}", chooser.name(), trials.setting.lengths.name());
    let values = trials
        .of(chooser)
        .iter()
        .flat_map(|trial| trial.ran.iter().copied())
        .collect();
    (name, colour(chooser.name()), is_uniform, values)
}
