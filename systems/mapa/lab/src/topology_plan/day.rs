//! Pictures of one job file: which job is on which device, over time.

use kuva::plot::LinePlot;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render_to_svg;
use mapa_sim::{Outcome, Workload};

/// Height of a bar, pixels.
const BAR: f64 = 15.0;
/// The dark and the pale colour of jobs on one device, on two, and so on.
const SIZES: [[&str; 2]; 5] = [
    ["#555555", "#c8c8c8"],
    ["#1f77b4", "#aec7e8"],
    ["#2ca02c", "#a9dfa0"],
    ["#ff7f0e", "#ffcf9e"],
    ["#d62728", "#f5a9a8"],
];

/// Draws a line for each device and a bar for each job, in the colour of its size: dark if it is
/// sensitive, else pale. The axis of time ends at `until`, seconds, so that pictures compare.
pub(super) fn day(
    outcome: &Outcome,
    jobs: &Workload,
    title: &str,
    devices: usize,
    until: f64,
) -> String {
    let gap = until / 1500.0;
    let mut plots: Vec<Plot> = Vec::new();
    for size in 1..=SIZES.len() {
        for sensitive in [true, false] {
            let [dark, pale] = SIZES[size - 1];
            let (colour, kind) = if sensitive {
                (dark, "sensitive")
            } else {
                (pale, "not sensitive")
            };
            let mut legend = Some(format!("{size}, {kind}"));
            for run in &outcome.runs {
                let job = &jobs.jobs[run.index];
                let is_sensitive = job.job.request.sensitivity.is_sensitive();
                if job.devices() != size || is_sensitive != sensitive {
                    continue;
                }
                for stay in &run.stays {
                    let [from, to] = [stay.from, stay.until].map(|at| at.0 as f64 / 1e9);
                    for (_, _, placement) in stay.at.parts() {
                        for id in placement.set().iter() {
                            let y = id.index() as f64;
                            let bar = LinePlot::new()
                                .with_data(vec![(from, y), ((to - gap).max(from), y)])
                                .with_color(colour)
                                .with_stroke_width(BAR);
                            plots.push(match legend.take() {
                                Some(legend) => bar.with_legend(legend).into(),
                                None => bar.into(),
                            });
                        }
                    }
                }
            }
        }
    }
    let layout = Layout::auto_from_plots(&plots)
        .with_title(title)
        .with_x_label("time, s")
        .with_y_label("device")
        .with_y_tick_step(1.0)
        .with_y_axis_min(-0.6)
        .with_y_axis_max(devices as f64 - 0.4)
        .with_x_axis_min(0.0)
        .with_x_axis_max(until)
        .with_legend_title("devices")
        .with_width(1100.0)
        .with_height(120.0 + (BAR + 4.0) * devices as f64);
    render_to_svg(plots, layout)
}
