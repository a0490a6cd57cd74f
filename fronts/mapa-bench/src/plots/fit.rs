//! SVG pictures of a fit.

use kuva::plot::{LinePlot, ScatterPlot};
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render_to_svg;
use mapa_core::DeviceId;
use mapa_regress::{Fit, Row};

use mapa_cli::COLOURS;
use mapa_front::answer::id_list;

pub(crate) struct Plots;

impl Plots {
    /// Draws predicted against measured bandwidth, and residuals, by file name. Each row belongs to
    /// a ring; the worst rows are labelled with their devices.
    pub(crate) fn of(
        fit: &Fit,
        title: &str,
        rings: &[Vec<DeviceId>],
    ) -> [(&'static str, String); 2] {
        let rows = fit.rows();
        let names = names(rows, rings);
        // A twentieth of room keeps the dots off the frame.
        let top = rows
            .iter()
            .flat_map(|row| [row.sample.gbps, row.predicted])
            .fold(1.0, f64::max)
            * 1.05;
        // A model may predict less than 0.
        let low = rows.iter().map(|row| row.predicted).fold(0.0, f64::min);
        let predicted = draw(
            by_size(rows, &names, |row| row.predicted),
            vec![(low, low), (top, top)],
            &format!("{title}: predicted against measured"),
            "predicted, GB/s",
        );
        let residuals = draw(
            by_size(rows, &names, |row| row.residual),
            vec![(0.0, 0.0), (top, 0.0)],
            &format!("{title}: residuals"),
            "measured less predicted, GB/s",
        );
        [("predicted.svg", predicted), ("residuals.svg", residuals)]
    }
}

/// The number of rows that are labelled: those with the largest residuals.
const NAMED: usize = 5;
/// Diameter of a dot, pixels.
const DOT: f64 = 6.0;

/// The labels of rows: devices for the largest residuals, nothing for the others.
fn names(rows: &[Row], rings: &[Vec<DeviceId>]) -> Vec<String> {
    let off = |at: usize| rows[at].residual.abs();
    // A row that is predicted exactly, but for rounding, needs no label.
    let mut worst: Vec<usize> = (0..rows.len())
        .filter(|&at| off(at) > 1e-6 * rows[at].sample.gbps.max(1.0))
        .collect();
    worst.sort_by(|&a, &b| off(b).total_cmp(&off(a)));
    worst.truncate(NAMED);
    rings
        .iter()
        .enumerate()
        .map(|(at, ring)| {
            if worst.contains(&at) {
                id_list(ring)
            } else {
                String::new()
            }
        })
        .collect()
}

/// One scatter plot for each number of ranks, over the measured bandwidth.
fn by_size(rows: &[Row], names: &[String], y: impl Fn(&Row) -> f64) -> Vec<Plot> {
    let mut sizes: Vec<usize> = rows.iter().map(|row| row.sample.ranks).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut clouds = Vec::new();
    for (size, colour) in sizes.into_iter().zip(COLOURS.iter().cycle()) {
        let of_size = rows
            .iter()
            .zip(names)
            .filter(|(row, _)| row.sample.ranks == size);
        let points: Vec<(f64, f64)> = of_size
            .clone()
            .map(|(row, _)| (row.sample.gbps, y(row)))
            .collect();
        let cloud = ScatterPlot::new()
            .with_data(points)
            .with_color(*colour)
            .with_size(DOT)
            .with_labels(of_size.map(|(_, name)| name.clone()));
        clouds.push(cloud.with_legend(format!("{size} devices")).into());
    }
    clouds
}

/// Draws the points, and the line on which all points of a perfect model would be.
fn draw(clouds: Vec<Plot>, perfect: Vec<(f64, f64)>, title: &str, y: &str) -> String {
    let line = LinePlot::new()
        .with_data(perfect)
        .with_color("gray")
        .with_dashed();
    let plots: Vec<Plot> = std::iter::once(line.into()).chain(clouds).collect();
    let layout = Layout::auto_from_plots(&plots)
        .with_title(title)
        .with_x_label("measured, GB/s")
        .with_y_label(y);
    render_to_svg(plots, layout)
}
