//! Throughput and turnaround by the share of jobs that need no isolation.

use std::collections::BTreeMap;

use mapa_front::Error;
use mapa_sim::{Interval, mean_interval};

use super::setting::{BatchSetting, CaseSystem, JobRatio};
use super::trials::{BLOCKING, BatchNumber, BatchRun, BatchTrials, CASE, SLURM, means};
use mapa_lab::claim::{Claim, Verdict, bounds, mean_pm};
use mapa_lab::picture::{Heights, NamedCurve, lines};
use mapa_lab::report::Section;

/// The settings of this section, by system and range of footprints.
pub(super) fn wanted() -> Vec<BatchRun> {
    let all = kinds().into_iter().flat_map(|kind| kind.settings());
    let managers: &[&str] = &[SLURM, CASE, BLOCKING];
    all.map(|setting| BatchRun::new(setting, managers))
        .collect()
}

/// A system with one range of footprints.
#[derive(Clone, Copy)]
struct FootprintRange {
    system: CaseSystem,
    small: bool,
}

fn kinds() -> Vec<FootprintRange> {
    let large = CaseSystem::ALL.map(|system| FootprintRange {
        system,
        small: false,
    });
    let small = CaseSystem::ALIKE.map(|system| FootprintRange {
        system,
        small: true,
    });
    large.into_iter().chain(small).collect()
}

impl FootprintRange {
    fn at(self, ratio: JobRatio) -> BatchSetting {
        BatchSetting {
            small: self.small,
            ..BatchSetting::s1(self.system, ratio)
        }
    }

    fn settings(self) -> impl Iterator<Item = BatchSetting> {
        JobRatio::ALL.into_iter().map(move |ratio| self.at(ratio))
    }
}

/// A gain over Slurm, file by file.
type Gain = fn(&BatchTrials, &BatchSetting, &str) -> Result<Vec<f64>, Error>;

fn over(
    all: &BatchTrials,
    setting: &BatchSetting,
    slurm: &str,
    of: BatchNumber,
) -> Result<Vec<f64>, Error> {
    all.over(setting, slurm, CASE, of)
}

fn throughput(all: &BatchTrials, setting: &BatchSetting, slurm: &str) -> Result<Vec<f64>, Error> {
    over(all, setting, slurm, |numbers| numbers.makespan)
}

fn of_means(all: &BatchTrials, setting: &BatchSetting, slurm: &str) -> Result<Vec<f64>, Error> {
    over(all, setting, slurm, |numbers| numbers.turnaround)
}

fn of_ratios(all: &BatchTrials, setting: &BatchSetting, slurm: &str) -> Result<Vec<f64>, Error> {
    // Per job, against the first manager; under a baseline that blocks, job by job is not kept.
    if slurm != SLURM {
        return Err(Error::malformed(
            "ratios by job are against slurm-mig alone",
        ));
    }
    let own = all.of(setting, CASE)?;
    Ok(own.iter().map(|numbers| numbers.per_job).collect())
}

/// The mean over systems and the five mixes, file by file.
fn over_mixes(
    all: &BatchTrials,
    systems: &[CaseSystem],
    small: bool,
    slurm: &str,
    gain: Gain,
) -> Result<Vec<f64>, Error> {
    let kinds = systems
        .iter()
        .map(|&system| FootprintRange { system, small });
    means(kinds.flat_map(|kind| {
        let mixes = JobRatio::mixed().iter();
        mixes.map(move |&ratio| gain(all, &kind.at(ratio), slurm))
    }))
}

/// A published mean over the five mixes, and ours.
struct Headline {
    what: &'static str,
    systems: &'static [CaseSystem],
    small: bool,
    slurm: &'static str,
    gain: Gain,
    paper: f64,
}

const A_TO_C: &[CaseSystem] = &CaseSystem::ALIKE;
const D: &[CaseSystem] = &[CaseSystem::D];

const HEADLINES: [Headline; 12] = [
    Headline {
        what: "A to C, 1 to 6 GB: throughput",
        systems: A_TO_C,
        small: false,
        slurm: SLURM,
        gain: throughput,
        paper: 1.45,
    },
    Headline {
        what: "A to C, 1 to 6 GB: turnaround, ratio of means",
        systems: A_TO_C,
        small: false,
        slurm: SLURM,
        gain: of_means,
        paper: 1.39,
    },
    Headline {
        what: "A to C, 1 to 6 GB: turnaround, mean of ratios",
        systems: A_TO_C,
        small: false,
        slurm: SLURM,
        gain: of_ratios,
        paper: 1.39,
    },
    Headline {
        what: "A to C, 0.3 to 6 GB: throughput",
        systems: A_TO_C,
        small: true,
        slurm: SLURM,
        gain: throughput,
        paper: 1.53,
    },
    Headline {
        what: "A to C, 0.3 to 6 GB: turnaround, ratio of means",
        systems: A_TO_C,
        small: true,
        slurm: SLURM,
        gain: of_means,
        paper: 1.48,
    },
    Headline {
        what: "A to C, 0.3 to 6 GB: turnaround, mean of ratios",
        systems: A_TO_C,
        small: true,
        slurm: SLURM,
        gain: of_ratios,
        paper: 1.48,
    },
    Headline {
        what: "D: throughput",
        systems: D,
        small: false,
        slurm: SLURM,
        gain: throughput,
        paper: 1.15,
    },
    Headline {
        what: "D: turnaround, ratio of means",
        systems: D,
        small: false,
        slurm: SLURM,
        gain: of_means,
        paper: 2.31,
    },
    Headline {
        what: "D: turnaround, mean of ratios",
        systems: D,
        small: false,
        slurm: SLURM,
        gain: of_ratios,
        paper: 2.31,
    },
    Headline {
        what: "D, Slurm blocks at its head: throughput",
        systems: D,
        small: false,
        slurm: BLOCKING,
        gain: throughput,
        paper: 1.15,
    },
    Headline {
        what: "D, Slurm blocks at its head: turnaround, ratio of means",
        systems: D,
        small: false,
        slurm: BLOCKING,
        gain: of_means,
        paper: 2.31,
    },
    Headline {
        what: "A to C, 1 to 6 GB, Slurm blocks at its head: throughput",
        systems: A_TO_C,
        small: false,
        slurm: BLOCKING,
        gain: throughput,
        paper: 1.45,
    },
];

impl Headline {
    fn claim(&self, all: &BatchTrials) -> Result<Claim, Error> {
        let values = over_mixes(all, self.systems, self.small, self.slurm, self.gain)?;
        let value = mean_interval(&values);
        let claim = Claim::new(self.what, format!("{}", self.paper), &[1, 2, 3]);
        // Run times were fitted to these six numbers, so a match is no evidence; a miss is.
        let near = Verdict::within(value, self.paper - 0.15, self.paper + 0.15);
        Ok(claim.found(
            mean_pm(value),
            Some(value),
            "within 0.15 of the figure",
            near,
        ))
    }
}

/// Whether a gain rises from each ratio to the next on a system: the least rise.
fn rises(
    all: &BatchTrials,
    kind: FootprintRange,
    gain: Gain,
) -> Result<(Interval, Verdict), Error> {
    let mut least: Option<Interval> = None;
    let mut verdicts = Vec::new();
    for pair in JobRatio::ALL.windows(2) {
        let [before, after] = [pair[0], pair[1]].map(|ratio| gain(all, &kind.at(ratio), SLURM));
        let (before, after) = (before?, after?);
        let rise: Vec<f64> = after.iter().zip(before).map(|(a, b)| a - b).collect();
        let rise = mean_interval(&rise);
        verdicts.push(Verdict::above(rise, 0.0));
        if least.is_none_or(|least| rise.mean < least.mean) {
            least = Some(rise);
        }
    }
    let least = least.ok_or_else(|| Error::malformed("no ratios"))?;
    Ok((least, Verdict::all(verdicts)))
}

// Long, because it writes one section of a report in the order of the text: the tables, then the claims that they support.
pub(super) fn section(all: &BatchTrials) -> Result<Section, Error> {
    let mut section = Section::new(
        "ratios",
        "Throughput and turnaround over Slurm, by the mix of jobs",
    );
    let mut claims = Vec::new();
    for system in CaseSystem::ALL {
        let kind = FootprintRange {
            system,
            small: false,
        };
        let alone = BatchSetting::s1(system, JobRatio(1, 0));
        let both = [throughput, of_means, of_ratios].map(|gain| gain(all, &alone, SLURM));
        let mut same = true;
        for values in both {
            same &= values?.iter().all(|value| (value - 1.0).abs() < 1e-12);
        }
        let what = format!("{}: with isolated jobs alone CASE is Slurm", system.name());
        claims.push(Claim::new(what, "identical", &[1, 2, 3]).found(
            if same { "1 in every batch" } else { "not 1" },
            None,
            "exact",
            Verdict::of(same),
        ));
        if system == CaseSystem::D {
            continue;
        }
        for (name, gain) in [("throughput", throughput as Gain), ("turnaround", of_means)] {
            let (least, verdict) = rises(all, kind, gain)?;
            let what = format!(
                "{}: {name} rises with every step towards other jobs",
                system.name()
            );
            claims.push(Claim::new(what, "rises", &[1, 2, 3]).found(
                format!("least step {}", mean_pm(least)),
                Some(least),
                "every step above 0",
                verdict,
            ));
        }
    }
    for headline in &HEADLINES {
        claims.push(headline.claim(all)?);
    }
    let per_job = over_mixes(all, D, false, SLURM, of_ratios)?;
    let rate = over_mixes(all, D, false, SLURM, throughput)?;
    let gap: Vec<f64> = per_job.iter().zip(rate).map(|(a, b)| a - b).collect();
    let gap = mean_interval(&gap);
    claims.push(
        Claim::new(
            "D: turnaround job by job gains more than throughput",
            "2.31 against 1.15",
            &[1, 2, 3],
        )
        .found(mean_pm(gap), Some(gap), "above 0", Verdict::above(gap, 0.0)),
    );
    let mut rows = Vec::new();
    for kind in kinds() {
        for setting in kind.settings() {
            let gains = [throughput, of_means, of_ratios].map(|gain| gain(all, &setting, SLURM));
            let [rate, means, ratios] = gains;
            let values = [
                mean_interval(&rate?),
                mean_interval(&means?),
                mean_interval(&ratios?),
            ];
            rows.push(
                std::iter::once(setting.name())
                    .chain(values.map(mean_pm))
                    .collect(),
            );
            let keys = [
                "throughput",
                "turnaround_ratio_of_means",
                "turnaround_mean_of_ratios",
            ];
            let means = keys.into_iter().zip(values.map(|interval| interval.mean));
            section.insert(setting.name(), means.collect::<BTreeMap<_, _>>());
            let intervals = keys.into_iter().zip(values.map(bounds));
            section.insert(
                format!("{} intervals", setting.name()),
                intervals.collect::<BTreeMap<_, _>>(),
            );
        }
    }
    let header = [
        "batch",
        "throughput",
        "turnaround, ratio of means",
        "turnaround, mean of ratios",
    ];
    Ok(section
        .claims(claims)
        .text(
            "Every number is CASE's gain over Slurm: Slurm's makespan or turnaround over CASE's. The paper does not say how it takes the mean of \
             turnarounds, so both ways are given. Its figures by batch exist as pictures only; its six means are the claims above.",
        )
        .table(header, rows)
        .picture(
            "throughput.svg",
            picture(all)?,
            "Throughput over Slurm by the share of jobs that need no isolation, on the four systems",
        ))
}

fn picture(all: &BatchTrials) -> Result<String, Error> {
    let colours = ["#e69f00", "#4a9fe0", "#2fae86", "#8d7fd1"];
    let mut curves = Vec::new();
    for (system, colour) in CaseSystem::ALL.into_iter().zip(colours) {
        for small in [false, true] {
            if small && system != CaseSystem::C {
                continue;
            }
            let kind = FootprintRange { system, small };
            let mut points = Vec::new();
            for setting in kind.settings() {
                let gain = mean_interval(&throughput(all, &setting, SLURM)?).mean;
                points.push((100.0 * setting.ratio.others(), gain));
            }
            let gpus = match system {
                CaseSystem::D => "1 x A100".to_owned(),
                own => format!("{} x A30", own.gpus()),
            };
            let from = if small { ", from 0.3 GB" } else { "" };
            curves.push(NamedCurve {
                name: format!("{}: {gpus}{from}", system.name()),
                colour,
                dashed: small,
                points,
            });
        }
    }
    Ok(lines(
        curves,
        Heights::Linear,
        "CASE over Slurm",
        "jobs that need no isolation, %",
        "throughput, times Slurm's",
    ))
}
