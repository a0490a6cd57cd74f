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
pub(super) struct Asked {
    pub(super) row: MeasuredRow,
    /// The question; or why there is none.
    pub(super) question: Result<Question, String>,
    /// What is expected, in the model's unit.
    pub(super) estimate: Option<Estimate>,
    /// The points of all pairs of its devices, as NVIDIA's device plugin gives them.
    pub(super) points: Option<i32>,
}

impl Asked {
    /// Whether the row takes part in fits and comparisons.
    pub(super) fn counts(&self) -> bool {
        self.row.is_sound() && !self.row.is_of_small_messages() && self.estimate.is_some()
    }

    /// What is expected, in the row's unit, GB/s.
    pub(super) fn expected(&self) -> Option<f64> {
        let scale = self.question.as_ref().ok()?.scale;
        self.estimate.as_ref().map(|own| own.gbps * scale)
    }
}

/// A topology that rows name: of those that are given, else of those that are shipped.
pub(super) fn topology(plan: &Plan, name: &str) -> Option<Vec<u8>> {
    let given = plan.rows.as_ref();
    let given = given.and_then(|given| given.topologies.get(name).cloned());
    given.or_else(|| measured_topology(name).map(|text| text.as_bytes().to_vec()))
}

/// All rows of the plan, with what is expected of each by the shares that MAPA ships.
pub(super) fn asked(plan: &Plan) -> Result<Vec<Asked>, Error> {
    let rows = match &plan.rows {
        Some(given) => read_measured(&given.rows).map_err(|error| Error::at(&given.name, error))?,
        None => read_measured(MEASURED).map_err(Error::malformed)?,
    };
    let file = |name: &str| topology(plan, name);
    let mut earlier = BTreeMap::new();
    let shipped = Efficiency::shipped();
    let asked = rows.into_iter().map(|row| {
        let question = question(&row, &file, &mut earlier);
        let estimate = question.as_ref().ok().and_then(|own| {
            own.model(std::sync::Arc::clone(&shipped))
                .along(&own.graph, &own.devices)
                .filter(|estimate| estimate.known)
        });
        let points = question.as_ref().ok().map(|own| {
            let pairs = own.devices.iter().enumerate();
            pairs
                .flat_map(|(at, &b)| own.devices[..at].iter().map(move |&a| (a, b)))
                .map(|(a, b)| nvidia_points(&own.graph, a, b))
                .sum()
        });
        Asked {
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
struct Numbers {
    measured: f64,
    expected: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    nominal: Option<f64>,
    closeness_points: Option<i32>,
    class: Option<String>,
    counted: bool,
}

pub(super) fn section(asked: &[Asked]) -> Result<Section, Error> {
    let mut section = Section::new("rows", "Every row");
    let mut table = Vec::new();
    let mut unexplained = Vec::new();
    for own in asked {
        let scale = own.question.as_ref().map_or(1.0, |own| own.scale);
        let estimate = own.estimate.as_ref();
        let of = |value: fn(&Estimate) -> f64| estimate.map(|own| value(own) * scale);
        section.insert(
            own.row.id.clone(),
            Numbers {
                measured: own.row.gbps,
                expected: own.expected(),
                low: of(|own| own.low_gbps),
                high: of(|own| own.high_gbps),
                nominal: of(|own| own.nominal_gbps),
                closeness_points: own.points,
                class: estimate.map(|own| own.class.to_string()),
                counted: own.counts(),
            },
        );
        let text = |value: Option<f64>| value.map_or("-".to_owned(), gbps);
        let ratio = own.expected().map(|expected| own.row.gbps / expected);
        table.push(vec![
            own.row.id.clone(),
            own.row.operation.clone(),
            gbps(own.row.gbps),
            text(own.expected()),
            estimate.map_or("-".to_owned(), |own| {
                format!(
                    "{} to {}",
                    gbps(own.low_gbps * scale),
                    gbps(own.high_gbps * scale)
                )
            }),
            text(of(|own| own.nominal_gbps)),
            ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
            estimate.map_or("-".to_owned(), |own| own.class.to_string()),
        ]);
        let log = ratio.map(|ratio| ratio.ln().abs());
        if own.counts() && log.is_some_and(|log| log > 0.25) {
            unexplained.push(format!(
                "`{}` (measured {}, expected {})",
                own.row.id,
                gbps(own.row.gbps),
                text(own.expected())
            ));
        }
    }
    let without: BTreeSet<&str> = asked
        .iter()
        .filter_map(|own| own.question.as_ref().err())
        .map(String::as_str)
        .collect();
    let counted = asked.iter().filter(|own| own.counts()).count();
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
fn picture(asked: &[Asked]) -> Result<Option<String>, Error> {
    let points = |class: Class| -> Vec<(f64, f64)> {
        let own = asked.iter().filter(|own| own.counts());
        let own = own.filter(|own| own.estimate.as_ref().is_some_and(|own| own.class == class));
        own.filter_map(|own| Some((own.row.gbps.log10(), own.expected()?.log10())))
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
