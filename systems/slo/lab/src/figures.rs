//! Figures 3 and 4 of the paper.

use kuva::plot::annotations::ReferenceLine;
use kuva::plot::{LinePlot, ScatterPlot};
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render_to_svg;
use mapa_front::Error;
use mapa_system_slo::{ControllerAction, EnabledLevers, TenantSetup};
use mapa_system_slo_sim::{
    Acted, Busy, Control, DrawnRun, NeighbourAction, NoController, PaperControl, RunConditions,
    RunTotals, Scenario, TickView, run,
};

use super::policies::{BEYOND, TABLE_3};
use super::setting::{F1, TABLE};
use super::trials::{FAIL, SLICES, SloResults};
use mapa_lab::claim::{Claim, EXACT, Verdict, number};
use mapa_lab::picture::{Heights, NamedCurve, PUBLISHED, lines, plain};
use mapa_lab::plan::Plan;
use mapa_lab::report::Section;

/// A controller that throttles at once and for ever, for conditions that do not change.
struct AlwaysThrottled;

impl Control for AlwaysThrottled {
    fn tick(
        &mut self,
        seen: &TickView<'_>,
        orders: &mut Vec<ControllerAction>,
    ) -> Result<(), mapa_system_slo_sim::Error> {
        if !seen.is_throttled {
            orders.push(ControllerAction::Throttle {
                until: u64::MAX,
                io_mb_s: 500,
                mps_percent: 50,
            });
        }
        Ok(())
    }
}

/// The conditions of Fig. 4, and the prototype's p50 and p99.
const CONDITIONS: [(&str, &str, bool, bool, bool); 5] = [
    ("quiet", "#2fae86", false, false, false),
    ("T2", "#d62728", true, false, false),
    ("T2 throttled", "#4a9fe0", true, false, true),
    ("T3", "#e69f00", false, true, false),
    ("T2 and T3", "#8c564b", true, true, false),
];

/// A run in which the same neighbours are busy all the time.
fn constant(seed: u64, copies: bool, trains: bool, throttled: bool) -> Result<RunTotals, Error> {
    let scenario = Scenario::table_3();
    let mut trace = DrawnRun::draw(&scenario, seed).map_err(Error::malformed)?;
    let busy = |kind| Busy {
        from_ms: 0.0,
        until_ms: f64::MAX,
        kind,
        switch: 0,
        other: 1,
    };
    trace.busy.clear();
    trace
        .busy
        .extend(copies.then(|| busy(NeighbourAction::Copies)));
    trace
        .busy
        .extend(trains.then(|| busy(NeighbourAction::Trains)));
    let mut always = AlwaysThrottled;
    let mut fixed = NoController;
    let control: &mut dyn Control = if throttled { &mut always } else { &mut fixed };
    run(&scenario, &trace, seed, RunConditions::default(), control).map_err(Error::malformed)
}

/// Fig. 4: the tails under conditions that do not change.
pub(super) fn fig_4(plan: &Plan) -> Result<Section, Error> {
    let mut section = Section::new("fig-4", "Fig. 4: tails under contention");
    let mut curves = Vec::new();
    let mut rows = Vec::new();
    let mut p99 = Vec::new();
    for (name, colour, copies, trains, throttled) in CONDITIONS {
        let own = constant(plan.seed, copies, trains, throttled)?;
        let both = [own.percentile(50.0), own.percentile(99.0)];
        section.insert(name, both.map(mapa_lab::report::three_decimals));
        rows.push(vec![name.to_owned(), number(both[0]), number(both[1])]);
        p99.push(both[1]);
        let points = (0..=60).map(|step| {
            let share = 10_f64.powf(-f64::from(step) / 20.0);
            (own.percentile(100.0 * (1.0 - share)), share)
        });
        curves.push(NamedCurve {
            name: name.to_owned(),
            colour,
            dashed: throttled,
            points: points.filter(|point| point.0.is_finite()).collect(),
        });
    }
    let gain = 100.0 * (1.0 - p99[2] / p99[1]);
    Ok(section
        .claims([Claim::new("Under PCIe contention the p99 falls by 15 %", "15 %", &[1, 2, 3, 4]).found(
            format!("a throttle takes {} % off the p99 beside T2 all the time", number(gain)),
            None,
            "at least 15 %",
            Verdict::of(gain >= 15.0),
        )])
        .picture(
            "tails.svg",
            lines(curves, Heights::Log, "Share of requests that take longer, 2g, conditions that do not change", "latency, ms", "share"),
            "Share of requests above a latency, on a logarithmic scale: beside a copying neighbour the whole distribution moves, and a throttle moves it back",
        )
        .table(["neighbours", "p50, ms", "p99, ms"], rows))
}

const SHOWN_S: f64 = 1800.0;

/// Fig. 3: one run over time, and efficiency against compliance.
pub(super) fn fig_3(plan: &Plan, all: &SloResults) -> Result<Section, Error> {
    let scenario = Scenario::table_3();
    let trace = DrawnRun::draw(&scenario, plan.seed).map_err(Error::malformed)?;
    let settings = scenario
        .settings(EnabledLevers::ALL)
        .map_err(Error::malformed)?;
    let conditions = RunConditions {
        keep: true,
        ..RunConditions::default()
    };
    let mut paper = PaperControl::new(settings, TenantSetup::at(0));
    let own =
        run(&scenario, &trace, plan.seed, conditions, &mut paper).map_err(Error::malformed)?;
    let early = own.actions.iter().filter(|action| action.0 < SHOWN_S * 1e3);
    let told: Vec<String> = early
        .map(|(at, what)| {
            let names = Acted::ALL.iter().find(|row| row.1 == *what);
            format!("{:.0} s {}", at / 1e3, names.map_or("", |name| name.0))
        })
        .collect();
    let first = |what: Acted| {
        own.actions
            .iter()
            .find(|action| action.1 == what)
            .map(|action| action.0)
    };
    let [throttle, moved, enlarged] = [Acted::Throttle, Acted::Move, Acted::Enlarge].map(first);
    let escalates = throttle.is_some() && throttle <= moved && moved <= enlarged;
    let table = all.of(TABLE)?;
    let reachable = all.of(F1)?;
    let dots =
        |trials: &super::trials::SloTrials, names: &[&'static str], colours: &[&'static str]| {
            let pairs = names.iter().zip(colours);
            pairs
                .map(|(&name, &colour)| {
                    let at = (
                        100.0 - trials.mean(name, FAIL).mean,
                        trials.throughput(name).mean / trials.mean(name, SLICES).mean,
                    );
                    (name, colour, vec![at])
                })
                .collect::<Vec<_>>()
        };
    let names = TABLE_3.map(|row| row.0);
    let colours = ["#a6a6a6", "#e69f00", "#4a9fe0", "#cc79a7", "#5e3c99"];
    let beyond: Vec<&'static str> = BEYOND
        .iter()
        .map(|row| row.0)
        .filter(|name| SHOWN.contains(name))
        .collect();
    Ok(Section::new("fig-3", "Fig. 3: the controller over time, and efficiency against compliance")
        .claims([Claim::new("Guardrails come first, then placement, then MIG", "Fig. 3a", &[1, 2, 3, 4, 5]).found(
            format!("in the first run: {}", told.join(", ")),
            None,
            EXACT,
            Verdict::of(escalates),
        )])
        .text("The order of Fig. 3a appears only inside a burst: the quiet tail is above the trigger too, so the slice grows before any neighbour comes.")
        .picture("over-time.svg", over_time(&own), "Latencies over the first half hour with the actions of the controller as vertical lines")
        .picture(
            "compliance-f0.svg",
            plain(dots(table, &names, &colours), "Answered requests per slice and compliance, F0", "requests in time, % of all", "throughput per slice"),
            "Throughput per slice over the share of requests in time: more slices buy compliance",
        )
        .picture(
            "compliance-f1.svg",
            plain(dots(reachable, &beyond, &["#a6a6a6", "#444444", "#5e3c99", "#4a9fe0", "#2fae86", "#e69f00"]), "The same in F1, with policies of ours", "requests in time, % of all", "throughput per slice"),
            "The same where the promise can be kept: replay has the compliance of the static largest slice and more",
        ))
}

/// The policies of the last picture.
const SHOWN: [&str; 6] = [
    "static",
    "static-4g",
    "slo",
    "slo-replay",
    "slo-replay-warm",
    "admission",
];

/// Latencies over time with actions marked.
fn over_time(totals: &RunTotals) -> String {
    let end = SHOWN_S * 1e3;
    let points: Vec<(f64, f64)> = totals
        .kept
        .iter()
        .filter(|pair| pair.0 < end)
        .map(|pair| (pair.0 / 1e3, pair.1))
        .collect();
    let most = points.iter().map(|point| point.1).fold(0.0, f64::max);
    let dots = ScatterPlot::new()
        .with_data(points)
        .with_color("#4a9fe0")
        .with_size(2.0)
        .with_legend("a request");
    let promise = LinePlot::new()
        .with_data(vec![(0.0, 15.0), (SHOWN_S, 15.0)])
        .with_color(PUBLISHED)
        .with_stroke_width(1.0)
        .with_legend("promise");
    let mut plots: Vec<Plot> = vec![dots.into(), promise.into()];
    // A line of no length gives each action its entry in the legend.
    for ((name, what), colour) in Acted::ALL.iter().zip(ACTION_COLOURS) {
        let mut at = totals
            .actions
            .iter()
            .filter(|action| action.1 == *what && action.0 < end);
        if at.next().is_some() {
            let line = LinePlot::new()
                .with_data(vec![(0.0, most), (0.0, most)])
                .with_color(colour)
                .with_legend(*name);
            plots.push(line.into());
        }
    }
    let mut layout = Layout::auto_from_plots(&plots)
        .with_title("The paper's controller in the first half hour")
        .with_x_label("s")
        .with_y_label("latency, ms")
        .with_y_axis_min(0.0)
        .with_width(980.0)
        .with_height(420.0);
    for (at, what) in totals.actions.iter().filter(|action| action.0 < end) {
        let colour = Acted::ALL
            .iter()
            .zip(ACTION_COLOURS)
            .find(|row| row.0.1 == *what);
        let line = ReferenceLine::vertical(at / 1e3)
            .with_color(colour.map_or("#444444", |row| row.1))
            .with_dasharray("4 2");
        layout = layout.with_reference_line(line);
    }
    render_to_svg(plots, layout)
}

const ACTION_COLOURS: [&str; 5] = ["#e69f00", "#2fae86", "#8d7fd1", "#8c564b", "#444444"];
