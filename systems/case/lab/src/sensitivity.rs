//! What the gains depend on, among all that is assumed.

use std::collections::BTreeMap;

use mapa_front::Error;
use mapa_sim::mean_interval;

use super::setting::{Ratio, Setting, System};
use super::trials::{All, CASE, Of, SLURM, Wanted, means};
use mapa_lab::claim::mean_pm;
use mapa_lab::report::Section;

/// An assumption that is changed.
struct Change {
    name: &'static str,
    systems: &'static [System],
    change: fn(Setting) -> Setting,
    manager: &'static str,
}

const ALIKE: &[System] = &[System::A, System::C];
const D: &[System] = &[System::D];
const SAME: fn(Setting) -> Setting = |own| own;

const CHANGES: [Change; 21] = [
    Change {
        name: "A and C: as assumed",
        systems: ALIKE,
        change: SAME,
        manager: CASE,
    },
    Change {
        name: "isolated jobs of 10 s",
        systems: ALIKE,
        change: |own| Setting {
            isolated: (10.0, 0.0),
            ..own
        },
        manager: CASE,
    },
    Change {
        name: "isolated jobs of 38 s",
        systems: ALIKE,
        change: |own| Setting {
            isolated: (38.0, 0.0),
            ..own
        },
        manager: CASE,
    },
    Change {
        name: "20 % of a life on the GPU",
        systems: ALIKE,
        change: |own| Setting { gpu: 0.2, ..own },
        manager: CASE,
    },
    Change {
        name: "60 %",
        systems: ALIKE,
        change: |own| Setting { gpu: 0.6, ..own },
        manager: CASE,
    },
    Change {
        name: "80 %",
        systems: ALIKE,
        change: |own| Setting { gpu: 0.8, ..own },
        manager: CASE,
    },
    Change {
        name: "all lives alike",
        systems: ALIKE,
        change: |own| Setting {
            others: (20.0, 0.0),
            ..own
        },
        manager: CASE,
    },
    Change {
        name: "lives vary by 1",
        systems: ALIKE,
        change: |own| Setting {
            others: (20.0, 1.0),
            ..own
        },
        manager: CASE,
    },
    Change {
        name: "lives do not grow with footprints",
        systems: ALIKE,
        change: |own| Setting {
            exponent: 0.0,
            ..own
        },
        manager: CASE,
    },
    Change {
        name: "lives in proportion to footprints",
        systems: ALIKE,
        change: |own| Setting {
            exponent: 1.0,
            ..own
        },
        manager: CASE,
    },
    Change {
        name: "the same, from 0.3 GB",
        systems: ALIKE,
        change: |own| Setting {
            exponent: 1.0,
            small: true,
            ..own
        },
        manager: CASE,
    },
    Change {
        name: "lives do not grow, from 0.3 GB",
        systems: ALIKE,
        change: |own| Setting {
            exponent: 0.0,
            small: true,
            ..own
        },
        manager: CASE,
    },
    Change {
        name: "six slices of 6 GB, as printed",
        systems: ALIKE,
        change: |own| Setting { six: true, ..own },
        manager: CASE,
    },
    Change {
        name: "other jobs first",
        systems: ALIKE,
        change: SAME,
        manager: "case,classes=others-first",
    },
    Change {
        name: "bytes fit up to all that are free",
        systems: ALIKE,
        change: SAME,
        manager: "case,fit=up-to",
    },
    Change {
        name: "as the paper states it: free choice, no contexts",
        systems: ALIKE,
        change: SAME,
        manager: "case,bind=free,context=0,growers=any",
    },
    Change {
        name: "D: as assumed",
        systems: D,
        change: SAME,
        manager: CASE,
    },
    Change {
        name: "50 % of a large life on the GPU",
        systems: D,
        change: |own| Setting {
            gpu_large: 0.5,
            ..own
        },
        manager: CASE,
    },
    Change {
        name: "100 %",
        systems: D,
        change: |own| Setting {
            gpu_large: 1.0,
            ..own
        },
        manager: CASE,
    },
    Change {
        name: "large jobs as long as others",
        systems: D,
        change: |own| Setting {
            large_times: 1.0,
            ..own
        },
        manager: CASE,
    },
    Change {
        name: "8 times as long",
        systems: D,
        change: |own| Setting {
            large_times: 8.0,
            ..own
        },
        manager: CASE,
    },
];

impl Change {
    fn settings(&self) -> impl Iterator<Item = Setting> + '_ {
        self.systems.iter().flat_map(move |&system| {
            let mixes = Ratio::mixed().iter();
            mixes.map(move |&ratio| (self.change)(Setting::s1(system, ratio)))
        })
    }
}

pub(super) fn wanted() -> Vec<Wanted> {
    let all = CHANGES.iter().flat_map(|own| {
        own.settings().map(|setting| {
            // Ratios by job are against the first.
            Wanted::new(setting, &[SLURM, own.manager])
        })
    });
    all.collect()
}

pub(super) fn section(all: &All) -> Result<Section, Error> {
    let mut section = Section::new("sensitivity", "What the gains depend on");
    let mut rows = Vec::new();
    for own in &CHANGES {
        let over = |of: Of| {
            let lists = own.settings();
            let all =
                means(lists.map(|own_setting| all.over(&own_setting, SLURM, own.manager, of)))?;
            Ok::<_, Error>(mean_interval(&all))
        };
        let by_job = own.settings().map(|setting| {
            let numbers = all.of(&setting, own.manager)?.iter();
            Ok(numbers.map(|own| own.per_job).collect())
        });
        let values = [
            over(|own| own.makespan)?,
            over(|own| own.turnaround)?,
            mean_interval(&means(by_job)?),
        ];
        rows.push(
            std::iter::once(own.name.to_owned())
                .chain(values.map(mean_pm))
                .collect(),
        );
        let keys = [
            "throughput",
            "turnaround_ratio_of_means",
            "turnaround_mean_of_ratios",
        ];
        let means = keys.into_iter().zip(values.map(|own| own.mean));
        section.insert(own.name, means.collect::<BTreeMap<_, _>>());
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
