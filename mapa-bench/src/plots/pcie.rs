//! Pictures of shared PCIe, SVG.

use kuva::plot::{BarPlot, LinePlot, ScatterPlot};
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render_to_svg;

use super::COLOURS;
use crate::commands::{Fitted, Slowdown};

const DOT: f64 = 6.0;

/// Slowdowns by number of copies, and what Eq. 2 makes of the fitted slopes.
pub(crate) fn slopes(fitted: &[Fitted], max_gbps: f64) -> String {
    let mut plots: Vec<Plot> = Vec::new();
    let bound = fitted.iter().filter_map(|own| Some((own, own.alpha.as_ref()?)));
    for ((own, alpha), colour) in bound.zip(COLOURS.iter().cycle()) {
        let points = &alpha.points;
        let most = points.last().map_or(1.0, |point| f64::from(point.copies));
        let knee = alpha.knee.clamp(1.0, most);
        let line = |copies: f64| (copies, (alpha.alpha * own.demand_gbps * copies / max_gbps).max(1.0));
        let line = LinePlot::new().with_data(vec![line(1.0), line(knee), line(most)]).with_color(*colour);
        let dots: Vec<(f64, f64)> = points.iter().map(|point| (f64::from(point.copies), point.slowdown)).collect();
        let dots = ScatterPlot::new().with_data(dots).with_color(*colour).with_size(DOT);
        let name = format!("{}, alpha {:.3}", own.job, alpha.alpha);
        plots.extend([line.with_legend(name).into(), dots.into()]);
    }
    let layout = Layout::auto_from_plots(&plots)
        .with_title("Slowdown of jobs by their own copies on one GPU")
        .with_x_label("copies side by side")
        .with_y_label("time over that of one copy alone");
    render_to_svg(plots, layout.with_width(760.0).with_height(460.0))
}

/// Each job's slowdown by both models, side by side.
pub(crate) fn contention(jobs: &[Slowdown], machine: &str) -> String {
    let bar = |plot: BarPlot, own: &Slowdown| {
        let name = format!("{} ({})", own.job, own.device);
        plot.with_group(name, vec![(own.equal_share, COLOURS[0]), (own.max_min, COLOURS[1])])
    };
    let plot = jobs.iter().fold(BarPlot::new(), bar).with_legend(vec!["equal share (Eq. 2)", "max-min"]);
    let plots: Vec<Plot> = vec![plot.into()];
    let width = 320.0 + 60.0 * jobs.len() as f64;
    let layout = Layout::auto_from_plots(&plots)
        .with_title(format!("{machine}: slowdown by shared PCIe"))
        .with_y_label("times as long as alone")
        .with_x_tick_rotate(-45.0);
    render_to_svg(plots, layout.with_width(width.max(640.0)).with_height(480.0))
}
