//! Managers of our own beside CASE.

use std::collections::BTreeMap;

use mapa_front::Error;
use mapa_sim::{Interval, mean_interval};

use super::setting::{BatchSetting, CaseSystem, JobRatio};
use super::trials::{BALANCED, BatchNumber, BatchRun, BatchTrials, CASE, SLURM};
use mapa_lab::claim::{Claim, Verdict, mean_pm};
use mapa_lab::report::Section;

/// CASE with parts of our own.
const RULES: [(&str, &str); 15] = [
    ("CASE", CASE),
    ("other jobs first", "case,classes=others-first"),
    ("classes in balance", "case,classes=balance"),
    ("drain", "case,drain=on"),
    ("longest first", "case,isolated=longest,others=longest"),
    ("shortest first", "case,isolated=shortest,others=shortest"),
    ("isolated shortest first, others longest first", SHORTEST),
    ("twice the workers", "case,workers=8"),
    (
        "others first, longest first, drain",
        "case,classes=others-first,isolated=longest,others=longest,drain=on",
    ),
    ("re-provision", REPROVISION),
    (
        "re-provision, longest first",
        "case,reprovision=on,isolated=longest,others=longest",
    ),
    (
        "re-provision, isolated shortest, others longest first",
        "case,reprovision=on,isolated=shortest,others=longest",
    ),
    ("case-balanced: balance, drain, re-provision", BALANCED),
    (
        "case-balanced, longest first",
        "case-balanced,isolated=longest,others=longest",
    ),
    (
        "case-balanced, isolated shortest, others longest first",
        "case-balanced,isolated=shortest,others=longest",
    ),
];

const SHORTEST: &str = "case,isolated=shortest,others=longest";
const REPROVISION: &str = "case,reprovision=on";

/// The mixes that are shown.
const MIXES: [JobRatio; 3] = [JobRatio(4, 1), JobRatio(1, 1), JobRatio(1, 4)];

/// How long a repartition takes, seconds.
const TAKES: [u64; 3] = [3, 10, 30];

fn on_d(takes: u64) -> BatchSetting {
    BatchSetting {
        repartition: takes,
        ..BatchSetting::spread(CaseSystem::D, JobRatio(1, 4))
    }
}

/// C 1:1 with exact estimates.
fn exact() -> BatchSetting {
    BatchSetting {
        wrong: 0.0,
        ..BatchSetting::spread(CaseSystem::C, JobRatio(1, 1))
    }
}

pub(super) fn wanted() -> Vec<BatchRun> {
    let all = RULES.map(|row| row.1);
    let mut wanted = Vec::new();
    for system in CaseSystem::ALL {
        for ratio in JobRatio::ALL {
            let setting = BatchSetting::spread(system, ratio);
            let is_shown =
                MIXES.contains(&ratio) && matches!(system, CaseSystem::C | CaseSystem::D);
            let managers: &[&'static str] = if is_shown { &all } else { &[CASE, BALANCED] };
            wanted.push(BatchRun::new(setting, managers));
            if is_shown {
                wanted.push(BatchRun::new(setting, &[SLURM]));
            }
        }
    }
    wanted.push(BatchRun::new(exact(), &[CASE, SHORTEST]));
    let managers = [CASE, REPROVISION, BALANCED];
    wanted.extend(TAKES.map(|takes| BatchRun::new(on_d(takes), &managers)));
    wanted
}

/// How many times as good a manager is as CASE: CASE's number over its own.
fn gain(
    all: &BatchTrials,
    setting: &BatchSetting,
    manager: &str,
    of: BatchNumber,
) -> Result<Interval, Error> {
    Ok(mean_interval(&all.over(setting, CASE, manager, of)?))
}

const MAKESPAN: BatchNumber = |numbers| numbers.makespan;
const TURNAROUND: BatchNumber = |numbers| numbers.turnaround;
const ISOLATED: BatchNumber = |numbers| numbers.isolated;
const OTHERS: BatchNumber = |numbers| numbers.others;

// Long, because it writes one section of a report in the order of the text: the tables, then the claims that they support.
pub(super) fn section(all: &BatchTrials) -> Result<Section, Error> {
    let mut section = Section::new("balanced", "Managers of our own");
    let mut rows = Vec::new();
    for (name, manager) in RULES {
        let mut row = vec![name.to_owned()];
        for system in [CaseSystem::C, CaseSystem::D] {
            for ratio in MIXES {
                let setting = BatchSetting::spread(system, ratio);
                let values = [MAKESPAN, TURNAROUND].map(|of| gain(all, &setting, manager, of));
                let [rate, turnaround] = values;
                row.push(format!("{:.2} / {:.2}", rate?.mean, turnaround?.mean));
            }
        }
        rows.push(row);
    }
    let mut fairness = Vec::new();
    let mut used = Vec::new();
    for system in [CaseSystem::C, CaseSystem::D] {
        for ratio in MIXES {
            let setting = BatchSetting::spread(system, ratio);
            for (name, manager) in [
                ("Slurm", SLURM),
                ("CASE", CASE),
                ("case-balanced", BALANCED),
                ("shortest first", "case,isolated=shortest,others=shortest"),
                ("isolated shortest first, others longest first", SHORTEST),
            ] {
                let mean = |of: BatchNumber| Ok::<_, Error>(all.mean(&setting, manager, of)?.mean);
                fairness.push(vec![
                    setting.name(),
                    name.to_owned(),
                    format!("{:.0}", mean(ISOLATED)?),
                    format!("{:.0}", mean(OTHERS)?),
                    format!("{:.2}", mean(|numbers| numbers.jain)?),
                    format!("{:.1}", mean(|numbers| numbers.worst_isolated)?),
                    format!("{:.1}", mean(|numbers| numbers.worst_others)?),
                    format!("{:.2}", mean(|numbers| numbers.makespan / numbers.bound)?),
                    format!(
                        "{:.2}",
                        mean(|numbers| numbers.makespan / numbers.any_layout)?
                    ),
                ]);
                used.push((setting, manager));
            }
        }
    }
    let below = used
        .iter()
        .map(|(setting, manager)| all.of(setting, manager));
    let below: Vec<_> = below.collect::<Result<_, _>>()?;
    let is_below = below.iter().zip(&used).any(|(numbers, row)| {
        numbers.iter().any(|one| {
            let fixed = row.1 != BALANCED && one.makespan < one.bound - 1e-6;
            fixed || one.makespan < one.any_layout - 1e-6
        })
    });
    for system in CaseSystem::ALL {
        for ratio in JobRatio::ALL {
            let setting = BatchSetting::spread(system, ratio);
            let values = numbers(all, &setting, BALANCED)?;
            section.insert(setting.name(), values);
            if MIXES.contains(&ratio) && matches!(system, CaseSystem::C | CaseSystem::D) {
                for (_, manager) in RULES {
                    let key = format!("{}, {manager}", setting.name());
                    section.insert(key, numbers(all, &setting, manager)?);
                }
            }
        }
    }
    let mut takes = Vec::new();
    for cost in TAKES {
        let setting = on_d(cost);
        let values = [REPROVISION, BALANCED].map(|text| gain(all, &setting, text, MAKESPAN));
        let [plain, balanced] = values;
        takes.push(vec![cost.to_string(), mean_pm(plain?), mean_pm(balanced?)]);
    }
    let c = BatchSetting::spread(CaseSystem::C, JobRatio(1, 1));
    let d = BatchSetting::spread(CaseSystem::D, JobRatio(1, 1));
    let header = ["rule", "C 4:1", "C 1:1", "C 1:4", "D 4:1", "D 1:1", "D 1:4"];
    let fair = [
        "batch",
        "manager",
        "isolated, s",
        "others, s",
        "Jain's index",
        "worst isolated",
        "worst other",
        "over the bound, fixed instances",
        "over the bound, any layout",
    ];
    Ok(section
        .claims(claims(all, &c, &d, is_below)?)
        .text(
            "Throughput / mean turnaround, each as many times as good as CASE's: CASE's makespan or mean turnaround over the rule's. `longest first` and \
             `shortest first` know estimates that are wrong by up to a half; all others know nothing. A repartition takes 10 s.",
        )
        .table(header, rows)
        .text(
            "Where instances are alike, who goes first is what counts. CASE starts isolated jobs first and leaves what can be packed to the end, so the other \
             jobs wait; a balance serves them sooner and isolated jobs later, in the numbers of the next table. Where instances differ, layouts that follow the \
             queue are the gain.",
        )
        .table(fair, fairness)
        .text(
            "Mean turnaround by class; Jain's index over the slowdowns of all jobs (1: all alike; a slowdown is the turnaround over the time that the job \
             needs alone); the worst slowdown by class; the makespan over the two bounds. The bound on fixed instances does not hold for managers that \
             re-provision.",
        )
        .table(["a repartition takes, s", "re-provision, D 1:4", "case-balanced, D 1:4"], takes))
}

/// The gains of a manager over CASE, and by class.
fn numbers(
    all: &BatchTrials,
    setting: &BatchSetting,
    manager: &str,
) -> Result<BTreeMap<&'static str, f64>, Error> {
    let of = |of: BatchNumber| Ok::<_, Error>(gain(all, setting, manager, of)?.mean);
    let mean = |of: BatchNumber| Ok::<_, Error>(all.mean(setting, manager, of)?.mean);
    Ok(BTreeMap::from([
        ("throughput_over_case", of(MAKESPAN)?),
        ("turnaround_over_case", of(TURNAROUND)?),
        ("isolated_turnaround_over_case", of(ISOLATED)?),
        ("others_turnaround_over_case", of(OTHERS)?),
        ("jain", mean(|numbers| numbers.jain)?),
        (
            "worst_isolated_slowdown",
            mean(|numbers| numbers.worst_isolated)?,
        ),
        (
            "worst_other_slowdown",
            mean(|numbers| numbers.worst_others)?,
        ),
        (
            "makespan_over_bound",
            mean(|numbers| numbers.makespan / numbers.bound)?,
        ),
        (
            "makespan_over_bound_of_any_layout",
            mean(|numbers| numbers.makespan / numbers.any_layout)?,
        ),
    ]))
}

// Long, since it is one list: each claim with its bound and its verdict.
fn claims(
    all: &BatchTrials,
    c: &BatchSetting,
    d: &BatchSetting,
    is_below: bool,
) -> Result<Vec<Claim>, Error> {
    const MINE: &str = "none: MAPA's own";
    let at_d = gain(all, d, BALANCED, MAKESPAN)?;
    let plain = gain(all, d, REPROVISION, MAKESPAN)?;
    let at_c = gain(all, c, BALANCED, MAKESPAN)?;
    let of_all = gain(all, c, BALANCED, TURNAROUND)?;
    let short_rate = gain(all, c, SHORTEST, MAKESPAN)?;
    let ours = all.over(c, SHORTEST, CASE, ISOLATED)?;
    let short = mean_interval(&ours);
    let exactly = mean_interval(&all.over(&exact(), SHORTEST, CASE, ISOLATED)?);
    let balanced = mean_interval(&all.over(c, BALANCED, CASE, ISOLATED)?);
    Ok(vec![
        Claim::new(
            "D 1:1: case-balanced has 1.15 times CASE's throughput, with 10 s for a repartition",
            MINE,
            &[1, 2, 3, 4, 5],
        )
        .found(
            mean_pm(at_d),
            Some(at_d),
            "at least 1.15",
            Verdict::at_least(at_d, 1.15),
        ),
        Claim::new(
            "D 1:1: so has CASE that re-provisions, and nothing else",
            MINE,
            &[1, 2, 3, 4, 5],
        )
        .found(
            mean_pm(plain),
            Some(plain),
            "at least 1.15",
            Verdict::at_least(plain, 1.15),
        ),
        Claim::new(
            "C 1:1: case-balanced loses no throughput",
            MINE,
            &[1, 2, 3, 4],
        )
        .found(
            mean_pm(at_c),
            Some(at_c),
            "at least 0.99",
            Verdict::at_least(at_c, 0.99),
        ),
        Claim::new(
            "C 1:1: under case-balanced the mean job ends sooner",
            MINE,
            &[1, 2, 3, 4],
        )
        .found(
            mean_pm(of_all),
            Some(of_all),
            "above 1",
            Verdict::above(of_all, 1.0),
        ),
        Claim::new(
            "C 1:1: under case-balanced isolated jobs end in 0.9 times CASE's time",
            MINE,
            &[1, 2, 3, 4],
        )
        .found(
            mean_pm(balanced),
            Some(balanced),
            "at most 0.9",
            Verdict::at_most(balanced, 0.9),
        ),
        Claim::new(
            "C 1:1: isolated jobs shortest first by rough estimates end in 0.9 times CASE's time",
            MINE,
            &[1, 2, 3, 4, 6],
        )
        .found(
            mean_pm(short),
            Some(short),
            "at most 0.9",
            Verdict::at_most(short, 0.9),
        ),
        Claim::new("C 1:1: by exact estimates they do", MINE, &[1, 2, 3, 4]).found(
            mean_pm(exactly),
            Some(exactly),
            "at most 0.9",
            Verdict::at_most(exactly, 0.9),
        ),
        Claim::new(
            "C 1:1: with the others longest first, by rough estimates, that loses no throughput",
            MINE,
            &[1, 2, 3, 4, 6],
        )
        .found(
            mean_pm(short_rate),
            Some(short_rate),
            "at least 0.99",
            Verdict::at_least(short_rate, 0.99),
        ),
        Claim::new("No schedule is below its bound", MINE, &[1, 2]).found(
            if is_below {
                "one is"
            } else {
                "none of those above"
            },
            None,
            "exact",
            Verdict::of(!is_below),
        ),
    ])
}
