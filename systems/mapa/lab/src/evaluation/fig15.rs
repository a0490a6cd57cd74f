//! Fig. 15: whether simulated effective bandwidth is that of real runs. There are no real runs
//! here, so two simulated schedules are compared instead.

use std::collections::BTreeMap;

use kuva::plot::scatter::MarkerShape;
use kuva::plot::{LinePlot, ScatterPlot};
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render_to_svg;
use mapa_regress::published::correlation;
use mapa_sim::{mean_interval, quantile};

use super::setting::PAPER;
use super::trials::{AllTrials, MapaTrial, MapaTrials, Who};
use crate::colours::colour;
use mapa_front::Error;
use mapa_lab::claim::{Claim, bounds, mean_pm, number, range};
use mapa_lab::report::Section;

/// The correlation job by job, over jobs of two GPUs and more.
fn by_job(a: &MapaTrial, b: &MapaTrial) -> f64 {
    let pairs: Vec<(f64, f64)> = a
        .samples
        .iter()
        .zip(&b.samples)
        .filter(|(job, _)| job.devices > 1)
        .map(|(a, b)| (a.effective, b.effective))
        .collect();
    correlation(&pairs).unwrap_or(f64::NAN)
}

/// The correlation quantile by quantile, as one compares two box plots.
fn by_quantile(a: &MapaTrial, b: &MapaTrial) -> f64 {
    let [a, b] = [a, b].map(|trial| trial.sorted(Who::All, |job| job.effective));
    let pairs: Vec<(f64, f64)> = (0..=20)
        .map(|p| f64::from(p) / 20.0)
        .map(|p| (quantile(&a, p), quantile(&b, p)))
        .collect();
    correlation(&pairs).unwrap_or(f64::NAN)
}

pub(super) fn section(all: &AllTrials) -> Result<Section, Error> {
    let [fixed, eq_2] = [all.of("fixed")?, all.of("main")?];
    let mut rows = Vec::new();
    let mut section = Section::new("fig-15", "Fig. 15: effective bandwidth, real and simulated");
    let mut told = Vec::new();
    let mut by_job_of = BTreeMap::new();
    for name in PAPER {
        let (mut jobs, mut quantiles) = (Vec::new(), Vec::new());
        for (a, b) in fixed.policy(name).iter().zip(eq_2.policy(name)) {
            jobs.push(by_job(a, b));
            quantiles.push(by_quantile(a, b));
        }
        let [jobs, quantiles] = [jobs, quantiles].map(|values| mean_interval(&values));
        rows.push(vec![name.to_owned(), mean_pm(jobs), mean_pm(quantiles)]);
        told.push(format!("{name} {}", number(quantiles.mean)));
        let numbers =
            BTreeMap::from([("by_job", bounds(jobs)), ("by_quantile", bounds(quantiles))]);
        section = section.numbers(name, numbers);
        by_job_of.insert(name, jobs);
    }
    if let Some(jobs) = by_job_of.get("preserve") {
        section.insert("preserve, 95 %", range(jobs.low, jobs.high));
    }
    let claim = Claim::new(
        "simulated and real effective bandwidth correlate well",
        "scatter without a number",
        &[1, 2, 3, 4, 5],
    );
    let ours = format!(
        "the real run cannot be had; fixed against Eq. 2 run times, quantile by quantile: r = {}",
        told.join(", ")
    );
    Ok(section
        .claims([claim.not_had(ours)])
        .text(
            "The same job files run once with fixed run times, as in the released simulator, and once with run times by Eq. 2. These two \
             schedules differ as a simulation and a real run might. Pearson's correlations of effective bandwidth, means over files. What \
             a job gets depends on the jobs that run when it starts, so single jobs agree less than distributions do. The policies' \
             released variants reach all 360 recorded decisions of the released simulator, score for score \
             (`topologies/tests/released.rs`).",
        )
        .table(["policy", "job by job", "quantile by quantile"], rows)
        .picture(
            "fig-15.svg",
            picture(fixed, eq_2),
            "Quantiles of effective bandwidth under two schedules, as Fig. \
            15",
        ))
}

/// The effective bandwidths of all files' jobs, sorted.
fn pooled(trials: &MapaTrials, name: &str) -> Vec<f64> {
    let mut all: Vec<f64> = trials
        .policy(name)
        .iter()
        .flat_map(|trial| trial.sorted(Who::All, |job| job.effective))
        .collect();
    all.sort_by(f64::total_cmp);
    all
}

/// Draws quantiles of all files' jobs together, one schedule against the other.
fn picture(fixed: &MapaTrials, eq_2: &MapaTrials) -> String {
    let mut plots: Vec<Plot> = vec![
        LinePlot::new()
            .with_data(vec![(0.0, 0.0), (72.0, 72.0)])
            .with_color("#999999")
            .with_dashed()
            .into(),
    ];
    for (name, shape) in PAPER.into_iter().zip(SHAPES) {
        let [a, b] = [pooled(fixed, name), pooled(eq_2, name)];
        let pairs: Vec<(f64, f64)> = (0..=40)
            .map(|p| f64::from(p) / 40.0)
            .map(|p| (quantile(&a, p), quantile(&b, p)))
            .collect();
        let points = ScatterPlot::new().with_data(pairs).with_color(colour(name));
        plots.push(
            points
                .with_marker(shape)
                .with_size(5.0)
                .with_legend(name)
                .into(),
        );
    }
    let layout = Layout::auto_from_plots(&plots)
        .with_title("Effective bandwidth on a DGX-1V: 41 quantiles under two schedules")
        .with_x_label("fixed run times, GB/s")
        .with_y_label("run times by Eq. 2, GB/s")
        .with_width(700.0)
        .with_height(500.0);
    render_to_svg(plots, layout)
}

/// One shape for each policy, since points overlap.
const SHAPES: [MarkerShape; 4] = [
    MarkerShape::Square,
    MarkerShape::Triangle,
    MarkerShape::Diamond,
    MarkerShape::Circle,
];
