//! What the gains depend on, among all that is assumed.

use std::collections::BTreeMap;

use mapa_front::Error;
use mapa_sim::mean_interval;

use super::setting::{BatchSetting, CaseSystem, JobRatio};
use super::trials::{BatchNumber, BatchRun, BatchTrials, CASE, SLURM, means};
use mapa_lab::claim::mean_pm;
use mapa_lab::report::Section;

/// An assumption that is changed.
struct ChangedAssumption {
    name: &'static str,
    systems: &'static [CaseSystem],
    change: fn(BatchSetting) -> BatchSetting,
    manager: &'static str,
}

const ALIKE: &[CaseSystem] = &[CaseSystem::A, CaseSystem::C];
const D: &[CaseSystem] = &[CaseSystem::D];
const SAME: fn(BatchSetting) -> BatchSetting = |setting| setting;

const CHANGES: [ChangedAssumption; 21] = [
    ChangedAssumption {
        name: "A and C: as assumed",
        systems: ALIKE,
        change: SAME,
        manager: CASE,
    },
    ChangedAssumption {
        name: "isolated jobs of 10 s",
        systems: ALIKE,
        change: |setting| BatchSetting {
            isolated: (10.0, 0.0),
            ..setting
        },
        manager: CASE,
    },
    ChangedAssumption {
        name: "isolated jobs of 38 s",
        systems: ALIKE,
        change: |setting| BatchSetting {
            isolated: (38.0, 0.0),
            ..setting
        },
        manager: CASE,
    },
    ChangedAssumption {
        name: "20 % of a life on the GPU",
        systems: ALIKE,
        change: |setting| BatchSetting {
            gpu: 0.2,
            ..setting
        },
        manager: CASE,
    },
    ChangedAssumption {
        name: "60 %",
        systems: ALIKE,
        change: |setting| BatchSetting {
            gpu: 0.6,
            ..setting
        },
        manager: CASE,
    },
    ChangedAssumption {
        name: "80 %",
        systems: ALIKE,
        change: |setting| BatchSetting {
            gpu: 0.8,
            ..setting
        },
        manager: CASE,
    },
    ChangedAssumption {
        name: "all lives alike",
        systems: ALIKE,
        change: |setting| BatchSetting {
            others: (20.0, 0.0),
            ..setting
        },
        manager: CASE,
    },
    ChangedAssumption {
        name: "lives vary by 1",
        systems: ALIKE,
        change: |setting| BatchSetting {
            others: (20.0, 1.0),
            ..setting
        },
        manager: CASE,
    },
    ChangedAssumption {
        name: "lives do not grow with footprints",
        systems: ALIKE,
        change: |setting| BatchSetting {
            exponent: 0.0,
            ..setting
        },
        manager: CASE,
    },
    ChangedAssumption {
        name: "lives in proportion to footprints",
        systems: ALIKE,
        change: |setting| BatchSetting {
            exponent: 1.0,
            ..setting
        },
        manager: CASE,
    },
    ChangedAssumption {
        name: "the same, from 0.3 GB",
        systems: ALIKE,
        change: |setting| BatchSetting {
            exponent: 1.0,
            small: true,
            ..setting
        },
        manager: CASE,
    },
    ChangedAssumption {
        name: "lives do not grow, from 0.3 GB",
        systems: ALIKE,
        change: |setting| BatchSetting {
            exponent: 0.0,
            small: true,
            ..setting
        },
        manager: CASE,
    },
    ChangedAssumption {
        name: "six slices of 6 GB, as printed",
        systems: ALIKE,
        change: |setting| BatchSetting {
            six: true,
            ..setting
        },
        manager: CASE,
    },
    ChangedAssumption {
        name: "other jobs first",
        systems: ALIKE,
        change: SAME,
        manager: "case,classes=others-first",
    },
    ChangedAssumption {
        name: "bytes fit up to all that are free",
        systems: ALIKE,
        change: SAME,
        manager: "case,fit=up-to",
    },
    ChangedAssumption {
        name: "as the paper states it: free choice, no contexts",
        systems: ALIKE,
        change: SAME,
        manager: "case,bind=free,context=0,growers=any",
    },
    ChangedAssumption {
        name: "D: as assumed",
        systems: D,
        change: SAME,
        manager: CASE,
    },
    ChangedAssumption {
        name: "50 % of a large life on the GPU",
        systems: D,
        change: |setting| BatchSetting {
            gpu_large: 0.5,
            ..setting
        },
        manager: CASE,
    },
    ChangedAssumption {
        name: "100 %",
        systems: D,
        change: |setting| BatchSetting {
            gpu_large: 1.0,
            ..setting
        },
        manager: CASE,
    },
    ChangedAssumption {
        name: "large jobs as long as others",
        systems: D,
        change: |setting| BatchSetting {
            large_times: 1.0,
            ..setting
        },
        manager: CASE,
    },
    ChangedAssumption {
        name: "8 times as long",
        systems: D,
        change: |setting| BatchSetting {
            large_times: 8.0,
            ..setting
        },
        manager: CASE,
    },
];

impl ChangedAssumption {
    fn settings(&self) -> impl Iterator<Item = BatchSetting> + '_ {
        self.systems.iter().flat_map(move |&system| {
            let mixes = JobRatio::mixed().iter();
            mixes.map(move |&ratio| (self.change)(BatchSetting::s1(system, ratio)))
        })
    }
}

pub(super) fn wanted() -> Vec<BatchRun> {
    let all = CHANGES.iter().flat_map(|change| {
        change.settings().map(|setting| {
            // Ratios by job are against the first.
            BatchRun::new(setting, &[SLURM, change.manager])
        })
    });
    all.collect()
}

pub(super) fn section(all: &BatchTrials) -> Result<Section, Error> {
    let mut section = Section::new("sensitivity", "What the gains depend on");
    let mut rows = Vec::new();
    for change in &CHANGES {
        let over = |of: BatchNumber| {
            let lists = change.settings();
            let all =
                means(lists.map(|own_setting| all.over(&own_setting, SLURM, change.manager, of)))?;
            Ok::<_, Error>(mean_interval(&all))
        };
        let by_job = change.settings().map(|setting| {
            let numbers = all.of(&setting, change.manager)?.iter();
            Ok(numbers.map(|numbers| numbers.per_job).collect())
        });
        let values = [
            over(|numbers| numbers.makespan)?,
            over(|numbers| numbers.turnaround)?,
            mean_interval(&means(by_job)?),
        ];
        rows.push(
            std::iter::once(change.name.to_owned())
                .chain(values.map(mean_pm))
                .collect(),
        );
        let keys = [
            "throughput",
            "turnaround_ratio_of_means",
            "turnaround_mean_of_ratios",
        ];
        let means = keys.into_iter().zip(values.map(|interval| interval.mean));
        section.insert(change.name, means.collect::<BTreeMap<_, _>>());
    }
    let header = [
        "changed",
        "throughput",
        "turnaround, ratio of means",
        "turnaround, mean of ratios",
    ];
    Ok(section
        .text(
            "One assumption is changed at a time; the rest is as in A1 to A3. Each row is a mean over the five mixes. Run times are not published, so \
             the headlines say less about CASE than about them: the gain in throughput goes from a quarter to two thirds with the run times of \
             isolated jobs and the share of a life that is spent on the GPU.",
        )
        .table(header, rows))
}
