//! Every row: measured, expected, and what closeness by levels says.

use std::collections::{BTreeMap, BTreeSet};

use kuva::plot::ScatterPlot;
use kuva::plot::line::LinePlot;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render::theme::Theme;
use kuva::render_to_svg;
use mapa_core::{Class, Efficiency, Estimate};
use mapa_front::Error;
use mapa_front::measured::{Question, question};
use mapa_front::text::gbps;
use mapa_regress::{MEASURED, MeasuredRow, measured_topology, read_measured};
use mapa_topologies::policies::nvidia_points;
use serde::Serialize;

use crate::plan::Plan;
use crate::report::Section;

/// A row, and what it asks.
pub(super) struct AskedRow {
    pub(super) row: MeasuredRow,
    /// The question; or why there is none.
    pub(super) question: Result<Question, String>,
    /// What is expected, in the model's unit.
    pub(super) estimate: Option<Estimate>,
    /// The points of all pairs of its devices, as NVIDIA's device plugin gives them.
    pub(super) points: Option<i32>,
}

impl AskedRow {
    /// Whether the row takes part in fits and comparisons.
    pub(super) fn counts(&self) -> bool {
        self.row.is_sound() && !self.row.is_of_small_messages() && self.estimate.is_some()
    }

    /// What is expected, in the row's unit, GB/s.
    pub(super) fn expected(&self) -> Option<f64> {
        let scale = self.question.as_ref().ok()?.scale;
        self.estimate.as_ref().map(|estimate| estimate.gbps * scale)
    }
}

/// A topology that rows name: of those that are given, else of those that are shipped.
pub(super) fn topology(plan: &Plan, name: &str) -> Option<Vec<u8>> {
    let given = plan.rows.as_ref();
    let given = given.and_then(|given| given.topologies.get(name).cloned());
    given.or_else(|| measured_topology(name).map(|text| text.as_bytes().to_vec()))
}

/// All rows of the plan, with what is expected of each by the shares that MAPA ships.
pub(super) fn asked(plan: &Plan) -> Result<Vec<AskedRow>, Error> {
    let rows = match &plan.rows {
        Some(given) => read_measured(&given.rows).map_err(|error| Error::at(&given.name, error))?,
        None => read_measured(MEASURED).map_err(Error::malformed)?,
    };
    let file = |name: &str| topology(plan, name);
    let mut earlier = BTreeMap::new();
    let shipped = Efficiency::shipped();
    let asked = rows.into_iter().map(|row| {
        let question = question(&row, &file, &mut earlier);
        let estimate = question.as_ref().ok().and_then(|question| {
            question
                .model(std::sync::Arc::clone(&shipped))
                .along(&question.graph, &question.devices)
                .filter(|estimate| estimate.known)
        });
        let points = question.as_ref().ok().map(|question| {
            let pairs = question.devices.iter().enumerate();
            pairs
                .flat_map(|(at, &b)| question.devices[..at].iter().map(move |&a| (a, b)))
                .map(|(a, b)| nvidia_points(&question.graph, a, b))
                .sum()
        });
        AskedRow {
            row,
            question,
            estimate,
            points,
        }
    });
    Ok(asked.collect())
}

/// The numbers of one row.
#[derive(Serialize)]
struct RowNumbers {
    measured: f64,
    expected: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    nominal: Option<f64>,
    closeness_points: Option<i32>,
    class: Option<String>,
    counted: bool,
}

// Long, because it writes one section of a report in the order of the text: the tables, then the claims that they support.
pub(super) fn section(asked: &[AskedRow]) -> Result<Section, Error> {
    let mut section = Section::new("rows", "Every row");
    let mut table = Vec::new();
    let mut unexplained = Vec::new();
    for row in asked {
        let scale = row.question.as_ref().map_or(1.0, |question| question.scale);
        let estimate = row.estimate.as_ref();
        let of = |value: fn(&Estimate) -> f64| estimate.map(|estimate| value(estimate) * scale);
        section.insert(
            row.row.id.clone(),
            RowNumbers {
                measured: row.row.gbps,
                expected: row.expected(),
                low: of(|estimate| estimate.low_gbps),
                high: of(|estimate| estimate.high_gbps),
                nominal: of(|estimate| estimate.nominal_gbps),
                closeness_points: row.points,
                class: estimate.map(|estimate| estimate.class.to_string()),
                counted: row.counts(),
            },
        );
        let text = |value: Option<f64>| value.map_or("-".to_owned(), gbps);
        let ratio = row.expected().map(|expected| row.row.gbps / expected);
        table.push(vec![
            row.row.id.clone(),
            row.row.operation.clone(),
            gbps(row.row.gbps),
            text(row.expected()),
            estimate.map_or("-".to_owned(), |estimate| {
                format!(
                    "{} to {}",
                    gbps(estimate.low_gbps * scale),
                    gbps(estimate.high_gbps * scale)
                )
            }),
            text(of(|estimate| estimate.nominal_gbps)),
            ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
            estimate.map_or("-".to_owned(), |estimate| estimate.class.to_string()),
        ]);
        let log = ratio.map(|ratio| ratio.ln().abs());
        if row.counts() && log.is_some_and(|log| log > 0.25) {
            unexplained.push(format!(
                "`{}` (measured {}, expected {})",
                row.row.id,
                gbps(row.row.gbps),
                text(row.expected())
            ));
        }
    }
    let without: BTreeSet<&str> = asked
        .iter()
        .filter_map(|row| row.question.as_ref().err())
        .map(String::as_str)
        .collect();
    let counted = asked.iter().filter(|row| row.counts()).count();
    section = section.text(format!(
        "{} rows, of which {counted} are fitted and compared. Expectations are of the shares that MAPA ships. A ratio is measured / \
         expected.",
        asked.len()
    ));
    if let Some(svg) = picture(asked)? {
        section = section.picture(
            "measured.svg",
            svg,
            "Expected against measured bandwidth of every row, both axes logarithmic, coloured by the class of the error.",
        );
    }
    section = section.table(
        [
            "row",
            "operation",
            "measured",
            "expected",
            "nine in ten",
            "nominal",
            "ratio",
            "class",
        ],
        table,
    );
    if !unexplained.is_empty() {
        section = section.text(format!(
            "**Not explained.** Rows that count and are off by more than a quarter: {}. What is known of them: two A100 machines copy both \
             ways at 420 between some pairs and at 518 between others, which no topology tells; links between sockets differ by their \
             number and by the memory, which no topology tells either; PCIe rings reached 0.45 to 0.78 of a slot, by settings of the \
             library and by CPU; one H100 reached 360 without the reduction in its switch.",
            unexplained.join(", ")
        ));
    }
    if !without.is_empty() {
        let why: Vec<&str> = without.into_iter().collect();
        section = section.text(format!("**Not asked.** {}.", why.join("; ")));
    }
    Ok(section)
}

/// The colour and the words of a class; safe for colour-blind readers (after Okabe and Ito).
const COLOURS: [(Class, &str, &str); 10] = [
    (Class::DirectCopy, "#4a9fe0", "direct links, copies"),
    (
        Class::DirectCollective,
        "#0a5c9e",
        "direct links, collectives",
    ),
    (Class::Uneven, "#9fd3f5", "direct links, MI250"),
    (Class::OneSocket, "#2fae86", "PCIe, copies in a socket"),
    (
        Class::AcrossSockets,
        "#e69f00",
        "PCIe, copies between sockets",
    ),
    (Class::HostRing, "#1b6e55", "PCIe, rings"),
    (Class::HostExchange, "#8d7fd1", "PCIe, all-to-all"),
    (Class::HostCopy, "#a6a6a6", "host and device"),
    (Class::Staged, "#cc79a7", "P2P off"),
    (Class::Islands, "#d55e00", "islands over the host"),
];

/// Expected against measured, both logarithmic.
fn picture(asked: &[AskedRow]) -> Result<Option<String>, Error> {
    let points = |class: Class| -> Vec<(f64, f64)> {
        let own = asked.iter().filter(|row| row.counts());
        let own = own.filter(|row| {
            row.estimate
                .as_ref()
                .is_some_and(|estimate| estimate.class == class)
        });
        own.filter_map(|row| Some((row.row.gbps.log10(), row.expected()?.log10())))
            .collect()
    };
    let all: Vec<(f64, f64)> = Class::all().flat_map(points).collect();
    if all.is_empty() {
        return Ok(None);
    }
    let ends = all.iter().flat_map(|&(x, y)| [x, y]);
    let low = ends.clone().fold(f64::INFINITY, f64::min).min(1.0).floor();
    let high = ends.fold(f64::NEG_INFINITY, f64::max).ceil();
    let mut plots: Vec<Plot> = vec![
        LinePlot::new()
            .with_data(vec![(low, low), (high, high)])
            .with_color("#888888")
            .with_stroke_width(1.0)
            .into(),
    ];
    let mut entries = Vec::new();
    for (class, colour, name) in COLOURS {
        let own = points(class);
        if own.is_empty() {
            continue;
        }
        entries.push(kuva::plot::legend::LegendEntry {
            label: name.to_owned(),
            color: colour.to_owned(),
            shape: kuva::plot::legend::LegendShape::Circle,
            dasharray: None,
        });
        plots.push(
            ScatterPlot::new()
                .with_data(own)
                .with_color(colour)
                .with_size(4.0)
                .into(),
        );
    }
    let layout = Layout::auto_from_plots(&plots)
        .with_title("Expected and measured bandwidth, GB/s")
        .with_x_label("measured, GB/s")
        .with_y_label("expected, GB/s")
        .with_theme(Theme::light())
        .with_width(820.0)
        .with_height(620.0)
        .with_x_axis_min(low)
        .with_x_axis_max(high)
        .with_y_axis_min(low)
        .with_y_axis_max(high)
        .with_x_tick_step(1.0)
        .with_y_tick_step(1.0)
        .with_x_tick_format(powers())
        .with_y_tick_format(powers())
        .with_legend_entries(entries);
    Ok(Some(render_to_svg(plots, layout)))
}

/// Labels of logarithms: the numbers themselves.
fn powers() -> kuva::render::layout::TickFormat {
    kuva::render::layout::TickFormat::Custom(std::sync::Arc::new(|log| {
        format!("{}", 10f64.powf(log).round())
    }))
}
