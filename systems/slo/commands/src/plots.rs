//! Pictures of a tenant with a promised latency.

use kuva::plot::annotations::ReferenceLine;
use kuva::plot::{LinePlot, ScatterPlot};
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render_to_svg;
use mapa_system_slo_sim::{Acted, RunTotals, Scenario};

use mapa_cli::COLOURS;

/// The most requests that are drawn.
const DOTS: usize = 6000;

/// Draws, by file name: latencies over time with the controller's actions, and the tails with and
/// without it.
pub(crate) fn tenant(
    name: &str,
    scenario: &Scenario,
    controlled: &RunTotals,
    uncontrolled: &RunTotals,
) -> Vec<(String, String)> {
    vec![
        (
            "over-time.svg".to_owned(),
            over_time(name, scenario, controlled),
        ),
        (
            "tails.svg".to_owned(),
            tails(name, scenario, controlled, uncontrolled),
        ),
    ]
}

fn over_time(name: &str, scenario: &Scenario, totals: &RunTotals) -> String {
    let step = totals.kept.len().div_ceil(DOTS).max(1);
    let points: Vec<(f64, f64)> = totals
        .kept
        .iter()
        .step_by(step)
        .map(|pair| (pair.0 / 1e3, pair.1))
        .collect();
    let dots = ScatterPlot::new()
        .with_data(points)
        .with_color(COLOURS[0])
        .with_size(1.6)
        .with_legend("a request");
    let end = scenario.seconds();
    let promise = LinePlot::new()
        .with_data(vec![(0.0, scenario.promise_ms), (end, scenario.promise_ms)])
        .with_color("#d62728")
        .with_stroke_width(1.0)
        .with_legend("promise");
    let mut plots: Vec<Plot> = vec![dots.into(), promise.into()];
    let colours = ["#e69f00", "#2fae86", "#8d7fd1", "#8c564b", "#444444"];
    for ((what, acted), colour) in Acted::ALL.iter().zip(colours) {
        if totals.actions.iter().any(|action| action.1 == *acted) {
            // A line of no length gives the action its entry in the legend.
            let line = LinePlot::new().with_data(vec![(0.0, 0.0), (0.0, 0.0)]);
            plots.push(line.with_color(colour).with_legend(*what).into());
        }
    }
    let mut layout = Layout::auto_from_plots(&plots)
        .with_title(format!("{name}: latencies and actions"))
        .with_x_label("s")
        .with_y_label("latency, ms")
        .with_y_axis_min(0.0)
        .with_width(980.0)
        .with_height(420.0);
    for (at, what) in &totals.actions {
        let colour = Acted::ALL.iter().zip(colours).find(|row| row.0.1 == *what);
        let line = ReferenceLine::vertical(at / 1e3)
            .with_color(colour.map_or("#444444", |row| row.1))
            .with_dasharray("4 2");
        layout = layout.with_reference_line(line);
    }
    render_to_svg(plots, layout)
}

fn tails(
    name: &str,
    scenario: &Scenario,
    controlled: &RunTotals,
    uncontrolled: &RunTotals,
) -> String {
    let curve = |totals: &RunTotals| {
        let points = (0..=60).map(|step| {
            let share = 10_f64.powf(-f64::from(step) / 20.0);
            (totals.percentile(100.0 * (1.0 - share)), share)
        });
        points
            .filter(|point| point.0.is_finite())
            .collect::<Vec<_>>()
    };
    let mut plots: Vec<Plot> = Vec::new();
    for (what, colour, totals) in [
        ("without a controller", "#a6a6a6", uncontrolled),
        ("with it", "#4a9fe0", controlled),
    ] {
        let line = LinePlot::new().with_data(curve(totals)).with_color(colour);
        plots.push(line.with_stroke_width(1.8).with_legend(what).into());
    }
    let promise = vec![(scenario.promise_ms, 1e-3), (scenario.promise_ms, 1.0)];
    let line = LinePlot::new().with_data(promise).with_color("#d62728");
    plots.push(line.with_stroke_width(1.0).with_legend("promise").into());
    let layout = Layout::auto_from_plots(&plots)
        .with_title(format!("{name}: share of requests that take longer"))
        .with_x_label("latency, ms")
        .with_y_label("share")
        .with_log_y();
    render_to_svg(plots, layout.with_width(760.0).with_height(460.0))
}

#[cfg(test)]
mod tests {
    use mapa_system_slo_sim::{DrawnRun, NoController, RunConditions, run};

    use super::*;

    #[test]
    fn every_picture_is_drawn_of_no_data_of_one_value_of_equal_values_and_of_no_numbers() {
        let scenario = Scenario::table_3();
        let trace = DrawnRun::draw(&scenario, 1).unwrap();
        let run = run(
            &scenario,
            &trace,
            1,
            RunConditions::default(),
            &mut NoController,
        );
        let whole = run.unwrap();
        for values in [
            &[][..],
            &[1.5],
            &[2.0, 2.0],
            &[f64::NAN, 1.0],
            &[f64::INFINITY, 1.0],
        ] {
            let mut totals = whole.clone();
            totals.latencies = values.to_vec();
            totals.kept = values.iter().map(|&value| (value, value)).collect();
            totals.actions = values.iter().map(|&at| (at, Acted::Move)).collect();
            for (name, picture) in tenant("\u{202e}", &scenario, &totals, &totals) {
                assert!(picture.trim_end().ends_with("</svg>"), "{name}: {values:?}");
            }
        }
    }
}
