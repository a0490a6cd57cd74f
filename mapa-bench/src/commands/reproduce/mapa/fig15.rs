//! Fig. 15: whether the simulated effective bandwidth is that of real runs. There are no real runs, so two schedules stand in.

use kuva::plot::scatter::MarkerShape;
use kuva::plot::{LinePlot, ScatterPlot};
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render_to_svg;
use mapa_regress::published::correlation;
use mapa_sim::{mean_interval, quantile};
use serde_json::json;

use super::super::claim::{Claim, interval_json, mean_pm, number, range};
use super::super::picture::colour;
use super::super::report::Section;
use super::setting::PAPER;
use super::trials::{All, Trial, Trials, Who};
use crate::failure::Failure;

/// Job by job, over jobs of two GPUs and more.
fn by_job(a: &Trial, b: &Trial) -> f64 {
    let pairs: Vec<(f64, f64)> = a
        .samples
        .iter()
        .zip(&b.samples)
        .filter(|(job, _)| job.devices > 1)
        .map(|(a, b)| (a.effective, b.effective))
        .collect();
    correlation(&pairs).unwrap_or(f64::NAN)
}

/// Quantile by quantile, as two box plots are compared.
fn by_quantile(a: &Trial, b: &Trial) -> f64 {
    let [a, b] = [a, b].map(|trial| trial.sorted(Who::All, |job| job.effective));
    let at = |values: &[f64], p: usize| quantile(values, p as f64 / 20.0);
    correlation(&(0..=20).map(|p| (at(&a, p), at(&b, p))).collect::<Vec<_>>()).unwrap_or(f64::NAN)
}

pub(super) fn section(all: &All) -> Result<Section, Failure> {
    let [fixed, eq_2] = [all.of("fixed")?, all.of("main")?];
    let mut rows = Vec::new();
    let mut section = Section::new("fig-15", "Fig. 15: effective bandwidth, real and simulated");
    let mut told = Vec::new();
    for name in PAPER {
        let pairs = || fixed.policy(name).iter().zip(eq_2.policy(name));
        let jobs = mean_interval(&pairs().map(|(a, b)| by_job(a, b)).collect::<Vec<_>>());
        let quantiles = mean_interval(&pairs().map(|(a, b)| by_quantile(a, b)).collect::<Vec<_>>());
        rows.push(vec![name.to_owned(), mean_pm(jobs), mean_pm(quantiles)]);
        told.push(format!("{name} {}", number(quantiles.mean)));
        let numbers = json!({ "by_job": interval_json(jobs), "by_quantile": interval_json(quantiles) });
        section = section.numbers(name, numbers);
        if name == "preserve" {
            section.numbers.insert("preserve, 95 %".to_owned(), json!(range(jobs.low, jobs.high)));
        }
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
            "The same job files once with fixed run times, as the released simulator has them, and once with run times \
             by Eq. 2: two schedules that differ as a simulation and a real run might. Pearson's correlations of \
             effective bandwidth, means over files. What a job gets depends on who is there when it starts, so single \
             jobs agree less than distributions do. The released simulator's own decisions, 360 of them, are reached \
             score for score by the policies' released variants (`topologies/tests/released.rs`).",
        )
        .table(["policy", "job by job", "quantile by quantile"], rows)
        .picture(
            "fig-15.svg",
            picture(fixed, eq_2),
            "Quantiles of effective bandwidth under two schedules, as Fig. \
            15",
        ))
}

/// Quantiles of all files' jobs together, one schedule against the other.
fn picture(fixed: &Trials, eq_2: &Trials) -> String {
    let pooled = |trials: &Trials, name: &str| {
        let mut all: Vec<f64> =
            trials.policy(name).iter().flat_map(|trial| trial.sorted(Who::All, |job| job.effective)).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let mut plots: Vec<Plot> =
        vec![LinePlot::new().with_data(vec![(0.0, 0.0), (72.0, 72.0)]).with_color("#999999").with_dashed().into()];
    for (name, shape) in PAPER.into_iter().zip(SHAPES) {
        let [a, b] = [pooled(fixed, name), pooled(eq_2, name)];
        let at = |p: u32| (quantile(&a, f64::from(p) / 40.0), quantile(&b, f64::from(p) / 40.0));
        let points = ScatterPlot::new().with_data((0..=40).map(at).collect::<Vec<_>>()).with_color(colour(name));
        plots.push(points.with_marker(shape).with_size(5.0).with_legend(name).into());
    }
    let layout = Layout::auto_from_plots(&plots)
        .with_title("Effective bandwidth on a DGX-1V: 41 quantiles under two schedules")
        .with_x_label("fixed run times, GB/s")
        .with_y_label("run times by Eq. 2, GB/s")
        .with_width(700.0)
        .with_height(500.0);
    render_to_svg(plots, layout)
}

/// A shape a policy, as points lie on each other.
const SHAPES: [MarkerShape; 4] =
    [MarkerShape::Square, MarkerShape::Triangle, MarkerShape::Diamond, MarkerShape::Circle];
