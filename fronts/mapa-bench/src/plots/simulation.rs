//! SVG pictures of simulations.

use std::collections::BTreeMap;

use kuva::backend::svg::SvgBackend;
use kuva::plot::{BoxPlot, LinePlot};
use kuva::render::figure::Figure;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render_to_svg;
use mapa_core::MachineId;
use mapa_sched::{Fleet, Time};
use mapa_sim::{Outcome, OverTime, Point, Workload};

use mapa_cli::COLOURS;
use mapa_front::simulation::PolicyRun;

/// Draws, by file name: effective bandwidths by policy, utilisation and fragmentation over time,
/// and the jobs on each device under each policy.
pub(crate) fn simulation(
    runs: &[PolicyRun],
    workload: &Workload,
    title: &str,
    fleet: &Fleet,
) -> Vec<(String, String)> {
    let mut pictures = vec![
        ("bandwidth.svg".to_owned(), bandwidth(runs, title)),
        ("over-time.svg".to_owned(), over_time(runs, title)),
    ];
    pictures.extend(runs.iter().map(|run| {
        let title = format!("{}: the jobs on each device, {title}", run.policy);
        (
            format!("timeline-{}.svg", run.policy),
            timeline(&run.outcome, workload, &title, fleet),
        )
    }));
    pictures
}

/// Draws one box for each policy, of sensitive jobs on two or more devices.
fn bandwidth(runs: &[PolicyRun], title: &str) -> String {
    let of = |run: &PolicyRun| {
        let rows = run
            .rows
            .iter()
            .filter(|row| row.sensitive && row.devices > 1);
        rows.map(|row| row.scores.effective_gbps)
            .collect::<Vec<f64>>()
    };
    let boxes = BoxPlot::new()
        .with_color("#aec7e8")
        .with_width(0.5)
        .with_strip(0.25);
    let boxes = boxes.with_overlay_color("#1f3f5f").with_overlay_size(1.8);
    let boxes = runs.iter().fold(boxes, |boxes, run| {
        boxes.with_group(run.policy.clone(), of(run))
    });
    let plots: Vec<Plot> = vec![boxes.into()];
    let layout = Layout::auto_from_plots(&plots)
        .with_title(title)
        .with_title_wrap(WRAP);
    let layout = layout
        .with_x_label("policy; boxes are quartiles, dots are jobs")
        .with_title_size(TITLE);
    let all = runs.iter().flat_map(of);
    // The axis ends at a full ten, so that its marks are round numbers.
    let top = (all.fold(10.0, f64::max) / 10.0).ceil() * 10.0;
    let y = "effective bandwidth of sensitive jobs, 2 devices or more, GB/s";
    render_to_svg(
        plots,
        layout
            .with_y_label(y)
            .with_y_axis_min(0.0)
            .with_y_axis_max(top),
    )
}

/// Characters in a line of a title.
const WRAP: usize = 90;
/// Size of a title, pixels.
const TITLE: u32 = 14;

/// Draws one panel for each policy, with both series in percent.
fn over_time(runs: &[PolicyRun], title: &str) -> String {
    // All panels have the same end, so that policies can be compared.
    let end = runs
        .iter()
        .map(|run| run.outcome.end)
        .max()
        .unwrap_or_default();
    let (unit, scale) = unit(end);
    let panels: Vec<Vec<Plot>> = runs
        .iter()
        .map(|run| series(&run.over_time, scale))
        .collect();
    let layouts = panels.iter().zip(runs).map(|(plots, run)| {
        let layout = Layout::auto_from_plots(plots)
            .with_title(run.policy.clone())
            .with_x_label(format!("time, {unit}"));
        let layout = layout
            .with_y_label("percent")
            .with_y_axis_min(0.0)
            .with_y_axis_max(100.0)
            .with_x_axis_min(0.0);
        layout.with_x_axis_max(hours(end) * scale)
    });
    let layouts = layouts.collect();
    let figure = Figure::new(runs.len(), 1)
        .with_plots(panels)
        .with_layouts(layouts)
        .with_cell_size(1000.0, 260.0);
    SvgBackend.render_scene(
        &figure
            .with_title(title)
            .with_title_size(TITLE)
            .with_shared_legend_bottom()
            .render(),
    )
}

fn series(over_time: &OverTime, scale: f64) -> Vec<Plot> {
    let lines = |name: &str,
                 (colour, width): (&str, f64),
                 of: &dyn Fn(&Point) -> Option<f64>|
     -> Vec<Plot> {
        let line = |points| {
            LinePlot::new()
                .with_data(points)
                .with_step()
                .with_color(colour)
                .with_stroke_width(width)
        };
        let parts = parts(over_time.points(), scale, of)
            .into_iter()
            .map(line)
            .enumerate();
        parts
            .map(|(at, line)| {
                // One entry of the legend stands for all parts.
                if at == 0 {
                    line.with_legend(name).into()
                } else {
                    line.into()
                }
            })
            .collect()
    };
    let mut plots = lines("utilisation", (COLOURS[0], 1.2), &|point| {
        Some(point.utilisation)
    });
    plots.extend(lines("fragmentation", (COLOURS[1], 3.0), &|point| {
        point.fragmentation
    }));
    plots
}

/// The stretches in which a series has a number, in percent. Each ends where the next point begins.
fn parts(points: &[Point], scale: f64, of: &dyn Fn(&Point) -> Option<f64>) -> Vec<Vec<(f64, f64)>> {
    let mut parts: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut open = false;
    for point in points {
        let at = hours(point.at) * scale;
        if let Some(part) = parts.last_mut().filter(|_| open)
            && let Some(&(_, last)) = part.last()
        {
            // Lines go in steps: the last value holds until this moment.
            part.push((at, last));
        }
        let value = of(point).map(|share| (at, 100.0 * share));
        match parts.last_mut().filter(|_| open) {
            Some(part) => part.extend(value),
            None => parts.extend(value.map(|value| vec![value])),
        }
        open = value.is_some();
    }
    parts
}

/// The unit for a time axis up to `end`, and how many of it are an hour.
fn unit(end: Time) -> (&'static str, f64) {
    if hours(end) > 2.0 {
        ("h", 1.0)
    } else {
        ("s", 3600.0)
    }
}

fn hours(at: Time) -> f64 {
    (at - Time::ZERO).as_secs_f64() / 3600.0
}

/// Draws one line for each device, and one bar for each job in the colour of its size: dark if it
/// is sensitive, else pale.
fn timeline(outcome: &Outcome, workload: &Workload, title: &str, fleet: &Fleet) -> String {
    let (unit, scale) = unit(outcome.end);
    // About a pixel, so that jobs which follow one another are not one bar.
    let gap = hours(outcome.end) * scale / 1500.0;
    let mut bars: BTreeMap<(usize, bool), Vec<LinePlot>> = BTreeMap::new();
    for run in &outcome.runs {
        let Some(job) = workload.jobs.get(run.index) else {
            continue;
        };
        let (size, sensitive) = (job.devices(), job.job.request.is_sensitive());
        // All larger jobs have the last colour.
        let [dark, pale] = SIZES[size.saturating_sub(1).min(SIZES.len() - 1)];
        for stay in &run.stays {
            let [from, until] = [stay.from, stay.until].map(|at| hours(at) * scale);
            for (_, machine, placement) in stay.at.parts() {
                let before = devices_before(fleet, machine);
                // Sensitive jobs are sorted first, so that the legend names them first.
                let bars = bars.entry((size, !sensitive)).or_default();
                for id in placement.set().iter() {
                    let y = (before + id.index()) as f64;
                    // A stay that is shorter than the gap remains as a dot.
                    let ends = vec![(from, y), ((until - gap).max(from), y)];
                    bars.push(
                        LinePlot::new()
                            .with_data(ends)
                            .with_color(if sensitive { dark } else { pale })
                            .with_stroke_width(BAR),
                    );
                }
            }
        }
    }
    let mut plots: Vec<Plot> = Vec::new();
    for ((size, insensitive), bars) in bars {
        let name = format!(
            "{size}, {}",
            if insensitive {
                "not sensitive"
            } else {
                "sensitive"
            }
        );
        // One legend entry for each colour.
        for (at, bar) in bars.into_iter().enumerate() {
            plots.push(if at == 0 {
                bar.with_legend(&*name).into()
            } else {
                bar.into()
            });
        }
    }
    // Instances have lines of their own.
    let devices: usize = fleet
        .machines()
        .iter()
        .map(|machine| machine.graph().devices().len())
        .sum();
    let layout = Layout::auto_from_plots(&plots)
        .with_title(title)
        .with_title_wrap(WRAP);
    let layout = layout
        .with_x_label(format!("time, {unit}"))
        .with_y_label("device")
        .with_y_tick_step(1.0);
    let layout = layout
        .with_y_axis_min(-0.6)
        .with_y_axis_max(devices as f64 - 0.4)
        .with_x_axis_min(0.0);
    let layout = layout
        .with_x_axis_max(hours(outcome.end) * scale)
        .with_title_size(TITLE);
    let layout = layout.with_legend_title("devices").with_width(1100.0);
    render_to_svg(
        plots,
        layout.with_height(120.0 + (BAR + 4.0) * devices.max(4) as f64),
    )
}

/// Height of a bar, pixels.
const BAR: f64 = 16.0;

/// The dark and the pale colour of jobs on one device, on two, and so on.
const SIZES: [[&str; 2]; 6] = [
    ["#555555", "#c8c8c8"],
    ["#1f77b4", "#aec7e8"],
    ["#2ca02c", "#a9dfa0"],
    ["#ff7f0e", "#ffcf9e"],
    ["#d62728", "#f5a9a8"],
    ["#9467bd", "#d0c1e0"],
];

/// The number of devices of all machines before this one.
fn devices_before(fleet: &Fleet, machine: MachineId) -> usize {
    fleet
        .machines()
        .iter()
        .take(machine.0 as usize)
        .map(|machine| machine.graph().devices().len())
        .sum()
}
