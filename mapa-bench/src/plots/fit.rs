//! Pictures of a fit, SVG.

use kuva::plot::{LinePlot, ScatterPlot};
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render_to_svg;
use mapa_core::DeviceId;
use mapa_regress::{Fit, Row};

use super::COLOURS;

pub(crate) struct Plots;

impl Plots {
    /// By file name: predicted against measured, and residuals, for the ring of each row. The worst rows bear their devices.
    pub(crate) fn of(fit: &Fit, title: &str, rings: &[Vec<DeviceId>]) -> [(&'static str, String); 2] {
        let rows = fit.rows();
        let names = names(rows, rings);
        let top = rows.iter().flat_map(|row| [row.sample.gbps, row.predicted]).fold(1.0, f64::max) * 1.05;
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

/// Ids, as `--devices` takes them.
pub(crate) fn ids(ring: &[DeviceId]) -> String {
    ring.iter().map(|id| id.0.to_string()).collect::<Vec<_>>().join(",")
}

/// Of so many rows, those that are furthest off.
const NAMED: usize = 5;
const DOT: f64 = 6.0;

/// The devices of the rows with the largest residuals, if there are any; nothing for the others.
fn names(rows: &[Row], rings: &[Vec<DeviceId>]) -> Vec<String> {
    let off = |at: usize| rows[at].residual.abs();
    let mut worst: Vec<usize> = (0..rows.len()).filter(|&at| off(at) > 1e-6 * rows[at].sample.gbps.max(1.0)).collect();
    worst.sort_by(|&a, &b| off(b).total_cmp(&off(a)));
    worst.truncate(NAMED);
    let name = |(at, ring): (usize, &Vec<DeviceId>)| if worst.contains(&at) { ids(ring) } else { String::new() };
    rings.iter().enumerate().map(name).collect()
}

/// A cloud of points for each number of ranks, over the measured bandwidth.
fn by_size(rows: &[Row], names: &[String], y: impl Fn(&Row) -> f64) -> Vec<Plot> {
    let mut sizes: Vec<usize> = rows.iter().map(|row| row.sample.ranks).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let cloud = |(i, size): (usize, &usize)| {
        let of_size = || rows.iter().zip(names).filter(|(row, _)| row.sample.ranks == *size);
        let points: Vec<(f64, f64)> = of_size().map(|(row, _)| (row.sample.gbps, y(row))).collect();
        let colour = COLOURS[i % COLOURS.len()];
        let cloud = ScatterPlot::new().with_data(points).with_color(colour).with_size(DOT);
        let cloud = cloud.with_labels(of_size().map(|(_, name)| name.clone()));
        cloud.with_legend(format!("{size} devices")).into()
    };
    sizes.iter().enumerate().map(cloud).collect()
}

/// The clouds with the line on which all points of a perfect model would lie.
fn draw(clouds: Vec<Plot>, perfect: Vec<(f64, f64)>, title: &str, y: &str) -> String {
    let line = LinePlot::new().with_data(perfect).with_color("gray").with_dashed();
    let plots: Vec<Plot> = std::iter::once(line.into()).chain(clouds).collect();
    let layout = Layout::auto_from_plots(&plots).with_title(title).with_x_label("measured, GB/s").with_y_label(y);
    render_to_svg(plots, layout)
}
