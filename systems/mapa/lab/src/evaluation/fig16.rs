//! Fig. 16: execution time against effective bandwidth.

use std::collections::BTreeMap;

use kuva::plot::scatter::MarkerShape;
use kuva::plot::{LinePlot, ScatterPlot};
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render_to_svg;
use mapa_regress::published::correlation;
use mapa_sim::ByBandwidth;
use serde::Serialize;

use super::trials::{AllTrials, FinishedJob, MapaTrials, Who};
use mapa_front::Error;
use mapa_lab::claim::{Claim, number};
use mapa_lab::report::Section;

const NETWORKS: [&str; 6] = [
    "VGG-16",
    "AlexNet",
    "Inception-v3",
    "ResNet-50",
    "CaffeNet",
    "GoogleNet",
];

/// The networks that are drawn, with names and colours. Networks with one ratio lie on one curve.
const DRAWN: [(&str, &str, &str); 4] = [
    ("VGG-16", "VGG-16", "#d62728"),
    ("AlexNet", "AlexNet", "#e69f00"),
    ("ResNet-50", "Inception-v3, ResNet-50", "#0072b2"),
    ("GoogleNet", "CaffeNet, GoogleNet", "#7f7f7f"),
];

/// The points of a network: bandwidth, and execution time over the time at full speed. Equal points
/// are merged.
fn points(trials: &MapaTrials, task: &'static str, of: fn(&FinishedJob) -> f64) -> Vec<(f64, f64)> {
    let mut points: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    let jobs = trials
        .of
        .iter()
        .flat_map(|(_, runs)| runs)
        .flat_map(|trial| &trial.samples);
    for job in jobs.filter(|job| job.devices > 1 && Who::Task(task).has(job)) {
        points.insert(
            (of(job) * 1e6).max(0.0) as u64,
            (of(job), job.ran / job.work),
        );
    }
    points.into_values().collect()
}

/// The correlation of bandwidth and execution time over the time at full speed, over all jobs of a
/// network.
fn r(trials: &MapaTrials, task: &'static str, of: fn(&FinishedJob) -> f64) -> f64 {
    let jobs = trials
        .of
        .iter()
        .flat_map(|(_, runs)| runs)
        .flat_map(|trial| &trial.samples);
    let jobs = jobs.filter(|job| job.devices > 1 && Who::Task(task).has(job));
    correlation(
        &jobs
            .map(|job| (of(job), job.ran / job.work))
            .collect::<Vec<_>>(),
    )
    .unwrap_or(f64::NAN)
}

/// The times of a network.
#[derive(Serialize)]
struct NetworkTimes {
    ratio: f64,
    most: f64,
    r_by_eq_2: f64,
    r_by_packing: f64,
    /// Bandwidth, GB/s, and time over time at full speed.
    points: Vec<(f64, f64)>,
}

pub(super) fn section(all: &AllTrials) -> Result<Section, Error> {
    let [main, packing] = [all.of("main")?, all.of("packing")?];
    let model = ByBandwidth::eq_2();
    let mut numbers = BTreeMap::new();
    let mut rows = Vec::new();
    for task in NETWORKS {
        let ratio = model.ratios.get(task).copied().unwrap_or(model.other.1);
        let seen = points(main, task, |job| job.effective);
        let most = seen.iter().map(|point| point.1).fold(1.0, f64::max);
        let rs = [
            r(main, task, |job| job.effective),
            r(packing, task, |job| job.effective),
        ];
        rows.push(vec![
            task.to_owned(),
            number(ratio),
            number(most),
            format!("{:.2}", rs[0]),
            format!("{:.2}", rs[1]),
        ]);
        numbers.insert(
            task.to_owned(),
            NetworkTimes {
                ratio,
                most,
                r_by_eq_2: rs[0],
                r_by_packing: rs[1],
                points: seen,
            },
        );
    }
    let past = main
        .of
        .iter()
        .flat_map(|(_, runs)| runs)
        .flat_map(|trial| &trial.samples);
    let past = past.filter(|job| job.devices > 1 && job.effective >= model.full_gbps);
    let flat = past.map(|job| job.ran / job.work).fold(1.0, f64::max);
    let claim = Claim::new(
        "times of sensitive networks fall with EffBW up to 50 GB/s, of others they do not",
        "scatter without numbers",
        &[4],
    );
    let ours = format!(
        "assumed (A4), not found: past 50 GB/s no job takes more than {} times its work",
        number(flat)
    );
    Ok(Section::new("fig-16", "Fig. 16: execution time against effective bandwidth")
        .claims([claim.not_had(ours)])
        .text(
            "Curves are the model of run times. Points are the jobs of all files and policies. Both are multiples of a job's time at full \
             speed. That points lie on curves tests the simulator and nothing else. r is the correlation of time and Eq. 2. The last column \
             has times by ring packing instead: that much of Eq. 2's correlation remains if links, and not Eq. 2, determine times.",
        )
        .table(["network", "ratio (A4)", "most", "r, times by Eq. 2", "r, times by ring packing"], rows)
        .numbers("networks", numbers)
        .picture(
            "fig-16.svg",
            picture(main, &model),
            "Execution time over effective bandwidth by network, as Fig. 16; assumed curves",
        ))
}

fn picture(trials: &MapaTrials, model: &ByBandwidth) -> String {
    let mut plots: Vec<Plot> = Vec::new();
    for (task, name, colour) in DRAWN {
        let ratio = model.ratios.get(task).copied().unwrap_or(model.other.1);
        let inverse =
            |gbps: f64| 1.0 / gbps.clamp(model.floor_gbps, model.full_gbps) - 1.0 / model.full_gbps;
        let time = |gbps: f64| 1.0 + (ratio - 1.0) * inverse(gbps) / inverse(model.floor_gbps);
        let curve = (0..=160)
            .map(|step| f64::from(step) * 0.5)
            .map(|gbps| (gbps, time(gbps)));
        let curve = LinePlot::new()
            .with_data(curve)
            .with_color(colour)
            .with_stroke_width(1.5)
            .with_legend(name);
        plots.push(curve.into());
        let seen = points(trials, task, |job| job.effective);
        let seen = ScatterPlot::new()
            .with_data(seen)
            .with_color(colour)
            .with_marker(MarkerShape::Circle)
            .with_size(4.5);
        plots.push(seen.into());
    }
    let layout = Layout::auto_from_plots(&plots)
        .with_title("DGX-1V: points lie on the assumed curves (A4), nothing is measured")
        .with_x_label("effective bandwidth (Eq. 2), GB/s")
        .with_y_label("time over time at full speed")
        .with_x_axis_min(0.0)
        .with_x_axis_max(80.0)
        .with_y_axis_min(0.8)
        .with_width(860.0)
        .with_height(460.0);
    render_to_svg(plots, layout)
}
