//! Fig. 1, 2 and 4: the bandwidth of copies that share a port, and the slowdown of jobs. Nothing is
//! scheduled here: jobs of one kind start together on one GPU, in the simulator of all other
//! figures.

use std::time::Duration;

use mapa_core::PCIE_GEN4_GBPS;
use mapa_core::mig::Size;
use mapa_core::sharing::{Flow, max_min};
use mapa_regress::{AlphaConfig, fit_alpha};
use mapa_sched::Time;
use mapa_sim::Workload;
use serde::Serialize;

use super::colours::colour;
use super::jobs::{BLOOM7B1, BLOOM560M, Table2Job};
use super::machine::PcieFleet;
use super::setting::{EQ_2, FIXED, PcieChooser, PcieSetting, PortSharing};
use super::trials::simulate;
use mapa_front::Error;
use mapa_lab::claim::{Claim, EXACT, Verdict, number};
use mapa_lab::picture::{Heights, NamedCurve, lines};
use mapa_lab::report::Section;

/// The instances of Fig. 1.
const PROFILES: [&str; 3] = ["1g", "2g", "3g"];

/// The most jobs of one kind side by side.
const COPIES: usize = 7;

/// The bandwidth of each of some instances that copy without end at the same time, GB/s.
fn endless(instances: usize) -> Result<Vec<f64>, Error> {
    let flow = Flow::new([0], f64::INFINITY);
    Ok(max_min(&[PCIE_GEN4_GBPS], &vec![flow; instances])?)
}

/// Fig. 1: instances that only copy, alone, in pairs and all three.
pub(super) fn fig_1() -> Result<Section, Error> {
    let mut rows = Vec::new();
    let mut numbers = Vec::new();
    let together: [&[&str]; 7] = [
        &["1g"],
        &["2g"],
        &["3g"],
        &["1g", "2g"],
        &["1g", "3g"],
        &["2g", "3g"],
        &PROFILES,
    ];
    let mut equal = true;
    for values in together {
        let gbps = endless(values.len())?;
        equal &= gbps
            .iter()
            .all(|each| (each - PCIE_GEN4_GBPS / values.len() as f64).abs() < 1e-9);
        rows.push(vec![
            values.join(" + "),
            number(PCIE_GEN4_GBPS / values.len() as f64),
            number(gbps[0]),
        ]);
        numbers.push(MeasuredCopies {
            instances: values,
            gbps,
        });
    }
    let split = Claim::new(
        "copies on 1g, 2g and 3g at once get equal bandwidth, whatever their size",
        "equal",
        &[3],
    );
    let split = split.found(
        "equal in both physics, by assumption",
        None,
        EXACT,
        Verdict::of(equal).by_construction(),
    );
    let bars = Claim::new(
        "throughput of CUDA copies on 1g, 2g and 3g of an A100",
        "bars without numbers",
        &[],
    );
    Ok(Section::new("fig-1", "Fig. 1: copies on instances of different sizes")
        .claims([split, bars.not_had("needs an A100; copies of real processes through one bucket are timed below")])
        .text(
            "Instances that copy from the host without end, GB/s each. Eq. 2 divides the port by the number of instances that copy, max-min by \
             weights, which are 1 for every size.",
        )
        .table(["at once", "PCIe_max / n", "max-min"], rows)
        .numbers("copies", numbers))
}

/// Copies on instances of one GPU at once, GB/s each.
#[derive(Serialize)]
struct MeasuredCopies {
    instances: &'static [&'static str],
    gbps: Vec<f64>,
}

/// The slowdown of a job over what the others use.
#[derive(Serialize)]
struct SlowdownSlope {
    slope: f64,
    points: Vec<(f64, f64)>,
}

/// The slowdown of a job when this many jobs of its kind run together, itself included.
fn slowdown(
    machines: &PcieFleet,
    kind: Table2Job,
    together: usize,
    physics: PortSharing,
) -> Result<f64, Error> {
    let work = Duration::from_secs(50);
    let jobs = (0..together as u64).map(|id| kind.job(id, Size::new(1, 1), Time::ZERO, work));
    let jobs = Workload::new("copies", jobs);
    let outcome = simulate(
        &PcieSetting { physics, ..FIXED },
        machines,
        &jobs,
        PcieChooser::First,
    )?;
    let longest = outcome
        .runs
        .iter()
        .map(|run| run.ran().as_secs_f64())
        .fold(0.0, f64::max);
    Ok(longest / work.as_secs_f64())
}

/// The slowdowns of one job of a kind, of two together, and so on; by Eq. 2 and by max-min.
fn slowdowns(kind: Table2Job) -> Result<[Vec<f64>; 2], Error> {
    let machines = PcieFleet::of(&FIXED)?;
    let [eq_2, max_min] = PortSharing::ALL.map(|physics| {
        (1..=COPIES)
            .map(|together| slowdown(&machines, kind, together, physics))
            .collect::<Result<Vec<f64>, Error>>()
    });
    Ok([eq_2?, max_min?])
}

/// Fig. 2: Bloom560m on one to seven 1g instances.
// Long, because it writes one section of a report in the order of the text: the tables, then the claims that they support.
pub(super) fn fig_2() -> Result<Section, Error> {
    let [eq_2, max_min] = slowdowns(BLOOM560M)?;
    // The largest number of jobs at which no job is slowed down.
    let knee = eq_2.iter().take_while(|&&value| value <= 1.0).count();
    let mut rows = Vec::new();
    let mut curves = [Vec::new(), Vec::new(), Vec::new()];
    for (at, (amount, other)) in eq_2.iter().zip(&max_min).enumerate() {
        let jobs = (at + 1) as f64;
        let [by_table, by_slope] =
            [1.0, BLOOM560M.alpha].map(|alpha| jobs * alpha * BLOOM560M.gbps / amount);
        let cells = [1.0 / amount, 1.0 / other, jobs / amount, by_table, by_slope].map(number);
        rows.push([(at + 1).to_string()].into_iter().chain(cells).collect());
        curves
            .iter_mut()
            .zip([100.0 / amount, by_table, by_slope])
            .for_each(|(curve, value)| curve.push((jobs, value)));
    }
    let same = eq_2.iter().zip(&max_min).all(|(a, b)| (a - b).abs() < 1e-9);
    let drops = Claim::new(
        "a job's throughput declines once more than four Bloom560m run on a GPU",
        "more than 4",
        &[3],
    );
    let told = format!(
        "first declines with {}, in both physics: 4 x 7.125 = 28.5, 5 x 7.125 = 35.6 GB/s",
        knee + 1
    );
    let verdict = Verdict::of(knee == 4 && same).by_construction();
    let drops = drops.found(told, None, EXACT, verdict);
    let last = curves[2].last().map_or(0.0, |&(_, gbps)| gbps);
    let full = Claim::new(
        "beyond four jobs the port is saturated",
        "completely saturated",
        &[3],
    );
    let told = format!(
        "{} of {PCIE_GEN4_GBPS} GB/s, if a job copies alpha x demand",
        number(last)
    );
    let full = full.found(
        told,
        None,
        EXACT,
        Verdict::of((last - PCIE_GEN4_GBPS).abs() < 1e-6).by_construction(),
    );
    let each = Claim::new(
        "tokens per second, their 2.5 and 97.5 % quantiles",
        "curves without numbers",
        &[],
    );
    let [each_job, by_table, by_slope] = curves;
    let throughput = lines(
        vec![NamedCurve {
            name: "a job".to_owned(),
            colour: colour(EQ_2),
            dashed: false,
            points: each_job,
        }],
        Heights::Linear,
        "Bloom560m on 1g instances of one GPU: throughput of each",
        "jobs",
        "% of a job's alone",
    );
    let bandwidth = lines(
        vec![
            NamedCurve {
                name: "7.125 GB/s each (alpha x demand)".to_owned(),
                colour: colour(EQ_2),
                dashed: false,
                points: by_slope,
            },
            NamedCurve {
                name: "5.7 GB/s each (Table 2)".to_owned(),
                colour: "#4a9fe0",
                dashed: false,
                points: by_table,
            },
            NamedCurve {
                name: "PCIe_max".to_owned(),
                colour: "#d62728",
                dashed: true,
                points: vec![(1.0, PCIE_GEN4_GBPS), (COPIES as f64, PCIE_GEN4_GBPS)],
            },
        ],
        Heights::Linear,
        "Bloom560m on 1g instances of one GPU: bandwidth in all",
        "jobs",
        "GB/s",
    );
    Ok(Section::new("fig-2", "Fig. 2: Bloom560m beside its like")
        .claims([drops, full, each.not_had("needs ZeRO-Inference on an A100")])
        .text(
            "Throughput over that of a job alone, and the bandwidth of all jobs together, GB/s. Jobs of one kind that share a GPU have the same \
             speed in both physics. With Table 2's demand of 5.7 GB/s a full port would carry only 24.06 GB/s (30.08 / 1.25): alpha accounts \
             for the rest.",
        )
        .table(["jobs", "each, Eq. 2", "each, max-min", "all, Eq. 2", "GB/s at 5.7 each", "GB/s at 7.125 each"], rows)
        .numbers("slowdown, Eq. 2", eq_2)
        .numbers("slowdown, max-min", max_min)
        .picture("fig-2a.svg", throughput, "Throughput of a Bloom560m job by how many run on its GPU, as Fig. 2a")
        .picture("fig-2b.svg", bandwidth, "Bandwidth of all Bloom560m jobs on a GPU by their number, as Fig. 2b"))
}

/// The points of Eq. 1: contention (demand x jobs over the port's bandwidth) and slowdown.
fn points(kind: Table2Job, slowdowns: &[f64]) -> Vec<(f64, f64)> {
    slowdowns
        .iter()
        .enumerate()
        .map(|(at, &value)| (kind.gbps * (at + 1) as f64 / PCIE_GEN4_GBPS, value))
        .collect()
}

/// Fig. 4: the slope of Eq. 1, fitted to runs that are simulated by Eq. 2.
pub(super) fn fig_4() -> Result<Section, Error> {
    let mut section = Section::new("fig-4", "Fig. 4: slowdown by contention, and its slope").text(
        "One to seven copies of a job on one GPU; the abscissa is demand x copies / PCIe_max. The slope is fitted by least squares through \
         the origin, as in `mapa-bench profile`, to the points at which jobs are slowed down: below the knee Eq. 2 is 1, not the line. These \
         runs are simulated by Eq. 2 with the alpha of Table 2. That the fit finds this alpha shows that the fit is right, and nothing about \
         GPUs.",
    );
    let mut curves = Vec::new();
    let mut rows = Vec::new();
    for (kind, shade) in [(BLOOM560M, "#e69f00"), (BLOOM7B1, "#4a9fe0")] {
        let [eq_2, max_min] = slowdowns(kind)?;
        let points = points(kind, &eq_2);
        let slope = slope(kind, &eq_2)?;
        let what = format!("{}: the slope is Table 2's alpha", kind.name);
        let claim = Claim::new(what, number(kind.alpha), &[3]);
        let found = claim.found(
            number(slope),
            None,
            EXACT,
            Verdict::of((slope - kind.alpha).abs() < 1e-6).by_construction(),
        );
        section = section.claims([found]);
        for (pair, other) in points.iter().zip(&max_min) {
            rows.push(vec![
                kind.name.to_owned(),
                number(pair.0),
                number(pair.1),
                number(*other),
                number(slope * pair.0),
            ]);
        }
        section.insert(
            kind.name.to_owned(),
            SlowdownSlope {
                slope,
                points: points.clone(),
            },
        );
        let last = points.last().map_or(0.0, |point| point.0);
        curves.extend([
            NamedCurve {
                name: kind.name.to_owned(),
                colour: shade,
                dashed: false,
                points,
            },
            NamedCurve {
                name: format!("{} x contention", number(slope)),
                colour: shade,
                dashed: true,
                points: vec![(0.0, 0.0), (last, slope * last)],
            },
        ]);
    }
    let measured = Claim::new(
        "measured slowdowns are linear in contention",
        "a linear trend",
        &[],
    );
    let picture = lines(
        curves,
        Heights::Linear,
        "Slowdown by contention, Eq. 2, and slopes through the origin",
        "PCIe demand x jobs / PCIe_max",
        "slowdown",
    );
    Ok(section
        .claims([measured.not_had("needs ZeRO-Inference on an A100")])
        .table(
            [
                "job",
                "contention",
                "slowdown, Eq. 2",
                "slowdown, max-min",
                "on the line",
            ],
            rows,
        )
        .picture(
            "fig-4.svg",
            picture,
            "Slowdown of copies of a job by contention with its fitted slope, as Fig. 4",
        ))
}

/// The slope fitted to the slowdowns of one copy, of two, and so on.
fn slope(kind: Table2Job, slowdowns: &[f64]) -> Result<f64, Error> {
    let runs: Vec<(u32, f64)> = (1..).zip(slowdowns.iter().copied()).collect();
    let fit =
        fit_alpha(&runs, &AlphaConfig::new(kind.gbps, PCIE_GEN4_GBPS)).map_err(Error::malformed)?;
    Ok(fit.alpha)
}
