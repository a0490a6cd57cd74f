//! Memory in use, and how much tasks slow each other down.

use std::collections::BTreeMap;

use mapa_front::Error;
use mapa_sim::{Interval, mean_interval};

use super::machine::PartitionedGpus;
use super::memory::MemorySteps;
use super::setting::{BatchSetting, CaseSystem, JobRatio};
use super::trials::{BatchNumber, BatchRun, BatchTrials, CASE, SLURM, means, outcome};
use mapa_lab::claim::{Claim, Verdict, mean_pm};
use mapa_lab::picture::{NamedCurve, curves};
use mapa_lab::report::Section;

/// Warps of a task as a share of an instance's.
const DEMANDS: [f64; 5] = [0.2, 0.3, THIRD, 0.4, 0.5];
const THIRD: f64 = 0.33;

/// The batches of Table 2.
const DENSE: [JobRatio; 2] = [JobRatio(1, 4), JobRatio(0, 1)];

/// The slowdowns of Table 2, percent, in its order: both batches on A, on B, on C.
pub(super) const PUBLISHED: [f64; 6] = [-1.7, 7.5, 5.7, 0.7, 0.4, 0.7];

fn slowed(system: CaseSystem, ratio: JobRatio, demand: f64) -> BatchSetting {
    BatchSetting {
        demand,
        slows: true,
        ..BatchSetting::s1(system, ratio)
    }
}

pub(super) fn wanted() -> Vec<BatchRun> {
    let mut all = Vec::new();
    for demand in DEMANDS {
        all.extend(dense_settings(demand).map(|setting| BatchRun::new(setting, &[SLURM, CASE])));
    }
    all
}

/// The mean over the batches of Table 2, file by file.
fn dense(
    all: &BatchTrials,
    demand: f64,
    of: impl Fn(&BatchTrials, &BatchSetting) -> Result<Vec<f64>, Error>,
) -> Result<Vec<f64>, Error> {
    means(dense_settings(demand).map(|setting| of(all, &setting)))
}

/// The batches of Table 2 under a demand, in its order.
fn dense_settings(demand: f64) -> impl Iterator<Item = BatchSetting> {
    let systems = CaseSystem::ALIKE.into_iter();
    systems.flat_map(move |system| DENSE.map(|ratio| slowed(system, ratio, demand)))
}

pub(super) fn kernels(all: &BatchTrials) -> Result<Section, Error> {
    let mut section = Section::new("kernels", "Slowdown of kernels (Table 2)");
    let mut rows = Vec::new();
    let mut most = f64::NEG_INFINITY;
    for (published, setting) in PUBLISHED.iter().zip(dense_settings(THIRD)) {
        let batch = format!("{}-{}", setting.ratio.name(), setting.system.name());
        let mut row = vec![batch.clone(), published.to_string()];
        for demand in DEMANDS {
            let setting = BatchSetting { demand, ..setting };
            let value = all.mean(&setting, CASE, |numbers| numbers.kernels)?;
            if demand == THIRD {
                most = most.max(value.mean);
            }
            row.push(mean_pm(value));
            section.insert(
                format!("{batch} at {demand}"),
                BTreeMap::from([("slowdown_percent", value.mean)]),
            );
        }
        rows.push(row);
    }
    let own = dense(all, THIRD, |all, setting| {
        let own = all.of(setting, CASE)?;
        Ok(own.iter().map(|numbers| numbers.kernels).collect())
    })?;
    let own = mean_interval(&own);
    let moved = dense(all, 0.5, |all, setting| {
        all.over(setting, SLURM, CASE, |numbers| numbers.makespan)
    })?;
    let still = dense(all, 0.2, |all, setting| {
        all.over(setting, SLURM, CASE, |numbers| numbers.makespan)
    })?;
    let (moved, still) = (mean_interval(&moved), mean_interval(&still));
    let claims = [
        Claim::new(
            "Kernels are 2.2 % slower on average, if a task wants a third of its instance",
            "2.2 (its six numbers give 2.22)",
            &[2, 4],
        )
        .found(
            mean_pm(own),
            Some(own),
            "from 1.2 to 3.2",
            Verdict::within(own, 1.2, 3.2),
        ),
        Claim::new("No mean is above 10 %", "7.5 at most", &[2, 4]).found(
            format!("{most:.1} at most"),
            None,
            "exact",
            Verdict::of(most < 10.0),
        ),
    ];
    let header = [
        "batch",
        "paper, %",
        "demand 0.2",
        "0.3",
        "0.33",
        "0.4",
        "0.5",
    ];
    Ok(section
        .claims(claims)
        .text(
            "A task's demand is its warps as a share of those that its instance holds. Tasks on an instance run at 1 / max(1, sum of demands). How \
             much the tasks of the paper want is not published; by this model its mean is had between 0.33 and 0.4, from where on three tasks want more than \
             an instance. The spread of its six numbers, from -1.7 to \
             7.5, is noise that no such model has.",
        )
        .table(header, rows)
        .text(format!(
            "Throughput over Slurm in these batches is {} at a demand of 0.2 and {} at 0.5.",
            mean_pm(still),
            mean_pm(moved)
        )))
}

/// A way to compare memory in use.
struct Definition {
    name: &'static str,
    of: BatchNumber,
    /// Whether the number is a ratio already.
    is_ratio: bool,
}

const DEFINITIONS: [Definition; 5] = [
    Definition {
        name: "mean over each makespan",
        of: |numbers| numbers.memory.mean,
        is_ratio: false,
    },
    Definition {
        name: "peak",
        of: |numbers| numbers.memory.peak,
        is_ratio: false,
    },
    Definition {
        name: "mean over the first 60 %",
        of: |numbers| numbers.memory.first,
        is_ratio: false,
    },
    Definition {
        name: "mean over CASE's makespan, for both",
        of: |numbers| numbers.memory.window,
        is_ratio: true,
    },
    Definition {
        name: "mean, with 0.5 GB for each live worker",
        of: |numbers| numbers.memory.contexts,
        is_ratio: false,
    },
];

pub(super) fn memory(all: &BatchTrials, seed: u64) -> Result<Section, Error> {
    let mut section = Section::new("memory", "Memory in use (Fig. 4)");
    let ratio = |setting: &BatchSetting, definition: &Definition| -> Result<Vec<f64>, Error> {
        if definition.is_ratio {
            Ok(all.of(setting, CASE)?.iter().map(definition.of).collect())
        } else {
            all.over(setting, CASE, SLURM, definition.of)
        }
    };
    let (mut rows, mut most) = (Vec::new(), None::<Interval>);
    for definition in &DEFINITIONS {
        let mut row = vec![definition.name.to_owned()];
        let settings = CaseSystem::ALIKE.into_iter().flat_map(|system| {
            let mixes = JobRatio::mixed().iter();
            mixes.map(move |&mix| BatchSetting::s1(system, mix))
        });
        let mixes = mean_interval(&means(settings.map(|setting| ratio(&setting, definition)))?);
        let shown = mean_interval(&ratio(
            &BatchSetting::s1(CaseSystem::C, JobRatio(1, 4)),
            definition,
        )?);
        let alone = mean_interval(&ratio(
            &BatchSetting::s1(CaseSystem::C, JobRatio(0, 1)),
            definition,
        )?);
        row.extend([mixes, shown, alone].map(mean_pm));
        rows.push(row);
        section.insert(
            definition.name,
            BTreeMap::from([
                ("mixes", mixes.mean),
                ("C 1:4", shown.mean),
                ("C 0:1", alone.mean),
            ]),
        );
        if most.is_none_or(|most| mixes.mean > most.mean) {
            most = Some(mixes);
        }
    }
    let most = most.ok_or_else(|| Error::malformed("no definitions"))?;
    let setting = BatchSetting::s1(CaseSystem::C, JobRatio(1, 4));
    let batch = setting.batch(seed)?;
    let capacity: f64 = PartitionedGpus::of(&setting)?
        .capacities()
        .iter()
        .map(|&capacity| capacity as f64)
        .sum();
    let mut all_curves = Vec::new();
    for (name, manager, colour) in [("Slurm", SLURM, "#e69f00"), ("CASE", CASE, "#2fae86")] {
        let memory = MemorySteps::of(&outcome(&setting, manager, &batch)?, &batch, 0.0);
        all_curves.push(NamedCurve {
            name: name.to_owned(),
            colour,
            dashed: false,
            points: memory.curve(capacity),
        });
    }
    let claim = Claim::new(
        "CASE has 2.93 times the memory of Slurm in use, on average over the mixes, by some definition",
        "2.93",
        &[1, 2, 3],
    )
    .found(
        format!("{} at most", mean_pm(most)),
        Some(most),
        "the largest reaches 2.93",
        Verdict::reaches(most, 2.93),
    );
    let header = [
        "CASE over Slurm",
        "mean of the mixes, A to C",
        "C 1:4 (Fig. 4)",
        "C 0:1",
    ];
    Ok(section
        .claims([claim])
        .text(
            "The paper says \"on a workload-by-workload comparison\", and no more. Without slowdown both managers hold the same bytes for the same \
             seconds, so the ratio of means over the makespans is that of throughputs. No definition tried gives 2.93.",
        )
        .table(header, rows)
        .picture(
            "memory.svg",
            curves(all_curves, "Memory in use, 128 jobs at 1:4 on four A30s", "seconds", "% of the instances' memory"),
            "Memory in use over time under Slurm and under CASE",
        ))
}
