//! Pictures that all experiments draw alike: colours to choose from, and box plots that mark published values.

use kuva::plot::annotations::{ReferenceLine, TextAnnotation};
use kuva::plot::legend::{LegendEntry, LegendPosition, LegendShape};
use kuva::plot::line::LineStyle;
use kuva::plot::scatter::MarkerShape;
use kuva::plot::{BarPlot, BoxPlot, DensityPlot, LinePlot, ScatterPlot};
use kuva::render::layout::{Layout, TickFormat};
use kuva::render::plots::Plot;
use kuva::render::theme::Theme;
use kuva::render_to_svg;

/// A colour as SVG writes it. Those below are safe for colour-blind readers (after Okabe and Ito).
pub type Colour = &'static str;

/// What the others are compared with.
pub const GREY: Colour = "#a6a6a6";
/// See [`GREY`].
pub const ORANGE: Colour = "#e69f00";
/// See [`GREY`].
pub const GREEN: Colour = "#2fae86";
/// See [`GREY`].
pub const BLUE: Colour = "#4a9fe0";
/// See [`GREY`].
pub const PINK: Colour = "#cc79a7";
/// Nearly black: a bound.
pub const DARK: Colour = "#444444";
/// What has no colour of its own.
pub const VIOLET: Colour = "#8d7fd1";

/// The colour of a policy by its name, the same in every picture of an experiment.
pub type Colours = fn(&str) -> Colour;

/// A group of boxes: its name, and a box of values for each policy.
pub type BoxGroup = (String, Vec<(&'static str, Vec<f64>)>);

/// The words and the published values of a box plot.
#[derive(Clone, Debug, Default)]
pub struct BoxPlotWords<'a> {
    /// The title.
    pub title: &'a str,
    /// The label of the y axis.
    pub y: &'a str,
    /// Published values, each with its label: a horizontal line.
    pub published: Vec<(f64, &'a str)>,
    /// Published values of single boxes: group, policy, value.
    pub marked: Vec<(usize, usize, f64)>,
    /// The label of the marked values.
    pub marks: &'a str,
    /// The lower end of the y axis, in units of the values.
    pub bottom: f64,
    /// The upper end of the y axis.
    pub top: f64,
}

/// Draws boxes from quartile to quartile, with the median across and whiskers to the smallest and
/// the largest value: the published claims are about the tails. Groups stand side by side, with one
/// box for each policy in its colour. Published values lie behind the boxes.
pub fn boxes(groups: &[BoxGroup], colour: Colours, words: &BoxPlotWords<'_>) -> String {
    let per_group = groups
        .iter()
        .map(|(_, boxes)| boxes.len())
        .max()
        .unwrap_or(1);
    // An empty slot separates two groups.
    let slots = per_group + 1;
    let mut plot = BoxPlot::new().with_width(0.78);
    let mut colours = Vec::new();
    for (at, (_, boxes)) in groups.iter().enumerate() {
        if at > 0 {
            plot = plot.with_group("", Vec::<f64>::new());
            colours.push("#ffffff");
        }
        for (policy, values) in boxes {
            plot = plot.with_group("", values.iter().copied());
            colours.push(colour(policy));
        }
    }
    let places = (groups.len() * slots).saturating_sub(1);
    let mut plots: Vec<Plot> = words
        .published
        .iter()
        .zip(DASHES)
        .map(|((value, _), dash)| across(*value, dash, places))
        .collect();
    plots.extend(groups.iter().enumerate().flat_map(|(at, (_, boxes))| {
        boxes
            .iter()
            .enumerate()
            .flat_map(move |(number, (_, values))| tails((at * slots + number + 1) as f64, values))
    }));
    plots.extend([
        plot.with_group_colors(colours).into(),
        marks(&words.marked, slots),
    ]);
    let policies = groups
        .first()
        .map(|(_, boxes)| boxes.iter().map(|(policy, _)| (*policy, colour(policy))))
        .into_iter()
        .flatten()
        .collect();
    let mut layout = layout(&plots, words, policies)
        .with_x_categories(vec![String::new(); places])
        .with_tick_length(0.0)
        .with_width((300.0 + 40.0 * places as f64).max(760.0))
        .with_y_axis_max(words.top)
        .with_y_axis_min(words.bottom);
    for (at, (name, _)) in groups.iter().enumerate() {
        let middle = (at * slots) as f64 + (per_group as f64 + 1.0) / 2.0;
        layout = layout.with_annotation(
            TextAnnotation::new(name, middle, words.top - 0.045 * (words.top - words.bottom))
                .with_font_size(14),
        );
        if at > 0 {
            let line = ReferenceLine::vertical((at * slots) as f64)
                .with_color("#bbbbbb")
                .with_dasharray("1 0");
            layout = layout.with_reference_line(line);
        }
    }
    render_to_svg(plots, layout)
}

/// A published value: a thin dashed line from side to side.
fn across(value: f64, dash: &str, places: usize) -> Plot {
    let line = LinePlot::new()
        .with_data(vec![(0.5, value), (places as f64 + 0.5, value)])
        .with_color(PUBLISHED);
    line.with_stroke_width(1.0)
        .with_line_style(LineStyle::Custom(dash.to_owned()))
        .into()
}

/// The whisker from the smallest to the largest value, with a cap at each end.
fn tails(place: f64, values: &[f64]) -> Vec<Plot> {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low > high {
        return Vec::new();
    }
    let line = |from, to| {
        LinePlot::new()
            .with_data(vec![from, to])
            .with_color("#333333")
            .with_stroke_width(1.0)
            .into()
    };
    let cap = |value: f64| line((place - 0.15, value), (place + 0.15, value));
    vec![line((place, low), (place, high)), cap(low), cap(high)]
}

/// Published values of single boxes, as diamonds.
fn marks(marked: &[(usize, usize, f64)], slots: usize) -> Plot {
    let points: Vec<(f64, f64)> = marked
        .iter()
        .map(|&(group, at, value)| ((group * slots + at + 1) as f64, value))
        .collect();
    ScatterPlot::new()
        .with_data(points)
        .with_color(PUBLISHED)
        .with_marker(MarkerShape::Diamond)
        .with_size(7.0)
        .into()
}

/// The colour of published values.
pub const PUBLISHED: Colour = "#d62728";

/// Title, axis, legend and published lines.
fn layout(
    plots: &[Plot],
    words: &BoxPlotWords<'_>,
    policies: Vec<(&'static str, Colour)>,
) -> Layout {
    let theme = Theme {
        grid_color: "#e4e4e4".to_owned(),
        box_median: "black".to_owned(),
        ..Theme::light()
    };
    Layout::auto_from_plots(plots)
        .with_theme(theme)
        .with_title(words.title)
        .with_y_label(words.y)
        .with_height(460.0)
        .with_legend_entries(legend(policies, words))
        .with_legend_position(LegendPosition::OutsideRightTop)
}

/// The dashes that distinguish published values.
const DASHES: [&str; 3] = ["7 4", "2 3", "10 3 2 3"];

/// The policies by colour, and the published values.
fn legend(policies: Vec<(&'static str, Colour)>, words: &BoxPlotWords<'_>) -> Vec<LegendEntry> {
    let entry = |label: &str, color: &str, shape, dash: Option<&str>| LegendEntry {
        label: label.to_owned(),
        color: color.to_owned(),
        shape,
        dasharray: dash.map(str::to_owned),
    };
    let mut entries: Vec<LegendEntry> = policies
        .into_iter()
        .map(|(policy, colour)| entry(policy, colour, LegendShape::Rect, None))
        .collect();
    let lines = words.published.iter().zip(DASHES);
    entries.extend(
        lines.map(|((_, what), dash)| entry(what, PUBLISHED, LegendShape::Line, Some(dash))),
    );
    let diamond = LegendShape::Marker(MarkerShape::Diamond);
    entries
        .extend((!words.marked.is_empty()).then(|| entry(words.marks, PUBLISHED, diamond, None)));
    entries
}

/// A named curve, solid or dashed.
#[derive(Clone, Debug)]
pub struct NamedCurve {
    /// Its name in the legend.
    pub name: String,
    /// Its colour.
    pub colour: Colour,
    /// Whether it is dashed.
    pub dashed: bool,
    /// Its points, x and y, in the order of x.
    pub points: Vec<(f64, f64)>,
}

/// The scale of the y axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heights {
    /// Equal steps; from 0 unless a value is below.
    Linear,
    /// Powers of ten; of positive values alone.
    Log,
}

/// Draws lines with a dot at every point.
pub fn lines(lines: Vec<NamedCurve>, heights: Heights, title: &str, x: &str, y: &str) -> String {
    drawn(lines, true, heights, [title, x, y])
}

/// Draws lines without dots, for those of many points.
pub fn curves(lines: Vec<NamedCurve>, title: &str, x: &str, y: &str) -> String {
    drawn(lines, false, Heights::Linear, [title, x, y])
}

fn drawn(
    mut lines: Vec<NamedCurve>,
    dotted: bool,
    mut heights: Heights,
    [title, x, y]: [&str; 3],
) -> String {
    if heights == Heights::Log {
        // There is no logarithm of others, and no scale of none.
        for line in &mut lines {
            line.points
                .retain(|&(x, y)| x.is_finite() && y.is_finite() && y > 0.0);
        }
        if lines.iter().all(|line| line.points.is_empty()) {
            heights = Heights::Linear;
        }
    }
    let least = lines
        .iter()
        .flat_map(|line| &line.points)
        .map(|point| point.1)
        .fold(f64::INFINITY, f64::min);
    let mut plots: Vec<Plot> = Vec::new();
    for line in lines {
        let dots = ScatterPlot::new()
            .with_data(line.points.clone())
            .with_color(line.colour)
            .with_size(3.5);
        let path = LinePlot::new()
            .with_data(line.points)
            .with_color(line.colour)
            .with_stroke_width(1.8);
        let path = if line.dashed {
            path.with_dashed()
        } else {
            path
        };
        plots.push(path.with_legend(line.name).into());
        plots.extend(dotted.then(|| dots.into()));
    }
    let layout = Layout::auto_from_plots(&plots)
        .with_title(title)
        .with_x_label(x)
        .with_y_label(y);
    let layout = match heights {
        Heights::Log => layout.with_log_y(),
        Heights::Linear if least >= 0.0 => layout.with_y_axis_min(0.0),
        Heights::Linear => layout,
    };
    render_to_svg(plots, layout.with_width(860.0).with_height(460.0))
}

/// A name, its colour, and its pairs.
pub type Dots = (&'static str, Colour, Vec<(f64, f64)>);

/// Draws pairs as dots, and the line on which both values are equal.
pub fn pairs(dots: Vec<Dots>, title: &str, x: &str, y: &str) -> String {
    let most = dots
        .iter()
        .flat_map(|(.., pairs)| pairs)
        .map(|(x, y)| x.max(*y))
        .fold(0.0, f64::max);
    let equal = LinePlot::new()
        .with_data(vec![(0.0, 0.0), (most, most)])
        .with_color("#bbbbbb")
        .with_stroke_width(1.0);
    dotted(
        vec![equal.with_legend("equal").into()],
        dots,
        3.0,
        [title, x, y],
    )
}

/// Draws pairs as large dots.
pub fn plain(dots: Vec<Dots>, title: &str, x: &str, y: &str) -> String {
    dotted(Vec::new(), dots, 6.0, [title, x, y])
}

/// Draws pairs as dots of this size before other plots.
fn dotted(mut plots: Vec<Plot>, dots: Vec<Dots>, size: f64, [title, x, y]: [&str; 3]) -> String {
    plots.extend(dots.into_iter().map(|(name, colour, pairs)| -> Plot {
        ScatterPlot::new()
            .with_data(pairs)
            .with_color(colour)
            .with_size(size)
            .with_legend(name)
            .into()
    }));
    let layout = Layout::auto_from_plots(&plots)
        .with_title(title)
        .with_x_label(x)
        .with_y_label(y);
    render_to_svg(plots, layout.with_width(700.0).with_height(560.0))
}

/// A name, its colour, whether its line is dashed, and its values.
pub type StyledCurve = (String, Colour, bool, Vec<f64>);

/// Draws the density of values, by Gaussian kernels of this width.
pub fn densities(curves: Vec<StyledCurve>, width: f64, title: &str, x: &str) -> String {
    let mut plots: Vec<Plot> = Vec::new();
    for (name, colour, dashed, values) in curves {
        let plot = DensityPlot::new()
            .with_data(values)
            .with_bandwidth(width)
            .with_kde_samples(400)
            .with_x_lo(0.0);
        let plot = plot.with_color(colour).with_stroke_width(2.0);
        let plot = if dashed {
            plot.with_line_dash("6 4")
        } else {
            plot
        };
        plots.push(plot.with_legend(name).into());
    }
    let layout = Layout::auto_from_plots(&plots)
        .with_title(title)
        .with_x_label(x)
        .with_y_label("density, 1/s");
    render_to_svg(
        plots,
        layout
            .with_y_tick_format(TickFormat::Fixed(4))
            .with_width(860.0)
            .with_height(460.0),
    )
}

/// Draws bars in groups, with one bar for each name in every group.
pub fn bars(
    groups: &[(String, Vec<f64>)],
    names: &[(&str, Colour)],
    title: &str,
    y: &str,
) -> String {
    let mut plot = BarPlot::new();
    for (name, values) in groups {
        let coloured: Vec<(f64, &str)> = values
            .iter()
            .zip(names)
            .map(|(value, (_, colour))| (*value, *colour))
            .collect();
        plot = plot.with_group(name.as_str(), coloured);
    }
    // The library has no legend without bars.
    if !groups.is_empty() {
        plot = plot.with_legend(names.iter().map(|(name, _)| *name).collect());
    }
    let plots: Vec<Plot> = vec![plot.into()];
    let layout = Layout::auto_from_plots(&plots)
        .with_title(title)
        .with_y_label(y)
        .with_width(860.0)
        .with_height(420.0);
    render_to_svg(plots, layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No data, one value, equal values, and what is no number.
    const VALUES: [&[f64]; 6] = [
        &[],
        &[1.5],
        &[2.0, 2.0],
        &[f64::NAN, 1.0],
        &[f64::INFINITY, 1.0],
        &[-1.0, 0.0],
    ];

    #[test]
    fn every_picture_is_drawn_of_no_data_of_one_value_of_equal_values_and_of_no_numbers() {
        let words = BoxPlotWords {
            title: "title",
            y: "y",
            published: vec![(1.0, "published")],
            marked: vec![(0, 0, 1.0)],
            marks: "marked",
            bottom: 0.0,
            top: 3.0,
        };
        for values in VALUES {
            let pairs_of: Vec<(f64, f64)> = values.iter().map(|&value| (value, value)).collect();
            let curve = || NamedCurve {
                name: "a".to_owned(),
                colour: BLUE,
                dashed: true,
                points: pairs_of.clone(),
            };
            let dots = || vec![("a", BLUE, pairs_of.clone())];
            let group = ("group".to_owned(), vec![("a", values.to_vec())]);
            let styled = ("a".to_owned(), BLUE, false, values.to_vec());
            for picture in [
                boxes(&[], |_| BLUE, &words),
                boxes(&[("group".to_owned(), Vec::new())], |_| BLUE, &words),
                boxes(&[group], |_| BLUE, &words),
                lines(Vec::new(), Heights::Log, "t", "x", "y"),
                lines(vec![curve()], Heights::Log, "t", "x", "y"),
                lines(vec![curve()], Heights::Linear, "t", "x", "y"),
                curves(vec![curve()], "t", "x", "y"),
                pairs(Vec::new(), "t", "x", "y"),
                pairs(dots(), "t", "x", "y"),
                plain(dots(), "t", "x", "y"),
                densities(Vec::new(), 1.0, "t", "x"),
                densities(vec![styled], 1.0, "t", "x"),
                bars(&[], &[], "t", "y"),
                bars(
                    &[("group".to_owned(), values.to_vec())],
                    &[("a", BLUE)],
                    "t",
                    "y",
                ),
            ] {
                assert!(picture.trim_end().ends_with("</svg>"), "{values:?}");
            }
        }
    }
}
