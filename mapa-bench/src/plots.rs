//! Pictures of a fit, SVG.

use kuva::plot::{LinePlot, ScatterPlot};
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render_to_svg;
use mapa_regress::{Fit, Row};

pub(crate) struct Plots;

impl Plots {
    /// By file name: predicted against measured, and residuals.
    pub(crate) fn of(fit: &Fit) -> [(&'static str, String); 2] {
        let rows = fit.rows();
        let name = fit.model().name();
        let top = rows.iter().flat_map(|row| [row.sample.gbps, row.predicted]).fold(1.0, f64::max) * 1.05;
        let low = rows.iter().map(|row| row.predicted).fold(0.0, f64::min);
        let predicted = draw(
            by_size(rows, |row| row.predicted),
            vec![(low, low), (top, top)],
            &format!("{name}: predicted against measured"),
            "predicted, GB/s",
        );
        let residuals = draw(
            by_size(rows, |row| row.residual),
            vec![(0.0, 0.0), (top, 0.0)],
            &format!("{name}: residuals"),
            "measured less predicted, GB/s",
        );
        [("predicted.svg", predicted), ("residuals.svg", residuals)]
    }
}

const COLOURS: [&str; 7] = ["steelblue", "darkorange", "seagreen", "firebrick", "mediumpurple", "sienna", "dimgray"];

/// A cloud of points for each number of ranks, over the measured bandwidth.
fn by_size(rows: &[Row], y: impl Fn(&Row) -> f64) -> Vec<Plot> {
    let mut sizes: Vec<usize> = rows.iter().map(|row| row.sample.ranks).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let cloud = |(i, size): (usize, &usize)| {
        let points = rows.iter().filter(|row| row.sample.ranks == *size).map(|row| (row.sample.gbps, y(row)));
        let colour = COLOURS[i % COLOURS.len()];
        let cloud = ScatterPlot::new().with_data(points.collect::<Vec<(f64, f64)>>()).with_color(colour);
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
