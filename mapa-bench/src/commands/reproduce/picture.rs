//! Pictures that all experiments draw alike: one colour a policy, box plots with what was published marked.

use kuva::plot::BoxPlot;
use kuva::plot::annotations::{ReferenceLine, TextAnnotation};
use kuva::plot::legend::{LegendEntry, LegendPosition, LegendShape};
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render::theme::Theme;
use kuva::render_to_svg;

/// The colour of a policy, the same in every picture; safe for the colour-blind (after Okabe and Ito).
pub(super) fn colour(policy: &str) -> &'static str {
    match policy {
        "lowest-id" => "#7f7f7f",
        "topo-aware" | "topo-aware-released" => "#e69f00",
        "greedy" => "#56b4e9",
        "preserve" | "preserve-released" => "#0072b2",
        "max-bandwidth" => "#cc79a7",
        _ => "#009e73",
    }
}

/// A group of boxes: its name, and a box of values for each policy.
pub(super) type Group = (String, Vec<(&'static str, Vec<f64>)>);

/// What a picture says besides its boxes.
pub(super) struct Words<'a> {
    pub(super) title: &'a str,
    pub(super) y: &'a str,
    /// Published values, each a line across with its words.
    pub(super) published: Vec<(f64, String)>,
    /// Published values of single boxes: group, policy, value.
    pub(super) marked: Vec<(usize, usize, f64)>,
    pub(super) top: f64,
}

/// Boxes from quartile to quartile with the median across, whiskers to the last value within 1.5 of the box's height; groups side by
/// side, in each a box a policy.
pub(super) fn boxes(groups: &[Group], words: &Words<'_>) -> String {
    let per_group = groups.iter().map(|(_, boxes)| boxes.len()).max().unwrap_or(1);
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
    let plots: Vec<Plot> = vec![plot.with_group_colors(colours).into(), marks(&words.marked, slots)];
    let policies = groups.first().map(|(_, boxes)| boxes.iter().map(|(policy, _)| *policy).collect()).unwrap_or_default();
    let places = groups.len() * slots - 1;
    let mut layout = layout(&plots, words, policies)
        .with_x_categories(vec![String::new(); places])
        .with_width(280.0 + 42.0 * places as f64)
        .with_y_axis_max(words.top)
        .with_y_axis_min(0.0);
    for (at, (name, _)) in groups.iter().enumerate() {
        let middle = (at * slots) as f64 + (per_group as f64 + 1.0) / 2.0;
        layout = layout.with_annotation(TextAnnotation::new(name, middle, words.top * 0.955).with_font_size(14));
        if at > 0 {
            let line = ReferenceLine::vertical((at * slots) as f64).with_color("#bbbbbb").with_dasharray("1 0");
            layout = layout.with_reference_line(line);
        }
    }
    render_to_svg(plots, layout)
}

/// Published values of single boxes, as diamonds.
fn marks(marked: &[(usize, usize, f64)], slots: usize) -> Plot {
    use kuva::plot::ScatterPlot;
    use kuva::plot::scatter::MarkerShape;
    let place = |&(group, at, value): &(usize, usize, f64)| ((group * slots + at + 1) as f64, value);
    let points: Vec<(f64, f64)> = marked.iter().map(place).collect();
    ScatterPlot::new().with_data(points).with_color(PUBLISHED).with_marker(MarkerShape::Diamond).with_size(6.0).into()
}

/// The colour of what the paper printed.
pub(super) const PUBLISHED: &str = "#d62728";

/// Title, axis, legend and published lines.
fn layout(plots: &[Plot], words: &Words<'_>, policies: Vec<&'static str>) -> Layout {
    let theme = Theme { grid_color: "#e4e4e4".to_owned(), ..Theme::light() };
    let mut layout = Layout::auto_from_plots(plots)
        .with_theme(theme)
        .with_title(words.title)
        .with_y_label(words.y)
        .with_height(460.0)
        .with_legend_entries(legend(policies, !(words.published.is_empty() && words.marked.is_empty())))
        .with_legend_position(LegendPosition::OutsideRightTop);
    for (value, what) in &words.published {
        layout = layout.with_reference_line(published(*value, what));
    }
    layout
}

pub(super) fn published(value: f64, what: &str) -> ReferenceLine {
    ReferenceLine::horizontal(value).with_color(PUBLISHED).with_stroke_width(1.5).with_label(what)
}

/// The policies by colour, and what is red.
pub(super) fn legend(policies: Vec<&'static str>, with_published: bool) -> Vec<LegendEntry> {
    let entry = |label: &str, color: &str, shape| LegendEntry {
        label: label.to_owned(),
        color: color.to_owned(),
        shape,
        dasharray: None,
    };
    let mut entries: Vec<LegendEntry> =
        policies.into_iter().map(|policy| entry(policy, colour(policy), LegendShape::Rect)).collect();
    entries.extend(with_published.then(|| entry("published", PUBLISHED, LegendShape::Rect)));
    entries
}
