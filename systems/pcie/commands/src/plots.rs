//! SVG pictures of shared PCIe.

use kuva::plot::{BarPlot, LinePlot, ScatterPlot};
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render_to_svg;
use mapa_regress::Alpha;

use mapa_cli::COLOURS;

/// Diameter of a dot, pixels.
const DOT: f64 = 6.0;

/// A PCIe-bound job with its fitted slope.
pub(crate) struct PlottedSlope<'a> {
    pub(crate) job: &'a str,
    /// PCIe traffic of the job alone, GB/s.
    pub(crate) demand_gbps: f64,
    pub(crate) alpha: &'a Alpha,
}

/// A job's slowdown by each model.
pub(crate) struct Contended<'a> {
    pub(crate) job: &'a str,
    pub(crate) device: &'a str,
    pub(crate) equal_share: f64,
    pub(crate) max_min: f64,
}

/// Draws the measured slowdowns by number of copies, and the slowdowns that Eq. 2 predicts with
/// the fitted slopes.
pub(crate) fn slopes<'a>(
    fitted: impl IntoIterator<Item = PlottedSlope<'a>>,
    max_gbps: f64,
) -> String {
    let mut plots: Vec<Plot> = Vec::new();
    for (slope, colour) in fitted.into_iter().zip(COLOURS.iter().cycle()) {
        let alpha = slope.alpha;
        let points = &alpha.points;
        let most = points
            .last()
            .map_or(1.0, |point| f64::from(point.copies).max(1.0));
        let knee = alpha.knee.clamp(1.0, most);
        // Eq. 2 is flat up to the knee and straight beyond it: three points draw it exactly.
        let line = [1.0, knee, most].map(|copies| {
            let predicted = alpha.alpha * slope.demand_gbps * copies / max_gbps;
            (copies, predicted.max(1.0))
        });
        let line = LinePlot::new().with_data(line.to_vec()).with_color(*colour);
        let dots: Vec<(f64, f64)> = points
            .iter()
            .map(|point| (f64::from(point.copies), point.slowdown))
            .collect();
        let dots = ScatterPlot::new()
            .with_data(dots)
            .with_color(*colour)
            .with_size(DOT);
        let name = format!("{}, alpha {:.3}", slope.job, alpha.alpha);
        plots.extend([line.with_legend(name).into(), dots.into()]);
    }
    let layout = Layout::auto_from_plots(&plots)
        .with_title("Slowdown of jobs by their own copies on one GPU")
        .with_x_label("copies side by side")
        .with_y_label("time over that of one copy alone");
    render_to_svg(plots, layout.with_width(760.0).with_height(460.0))
}

/// Draws each job's slowdown by both models, side by side.
pub(crate) fn contention(jobs: &[Contended<'_>], machine: &str) -> String {
    let mut plot = BarPlot::new();
    for job in jobs {
        plot = plot.with_group(
            format!("{} ({})", job.job, job.device),
            vec![(job.equal_share, COLOURS[0]), (job.max_min, COLOURS[1])],
        );
    }
    // The library has no legend without bars.
    if !jobs.is_empty() {
        plot = plot.with_legend(vec!["equal share (Eq. 2)", "max-min"]);
    }
    let plots: Vec<Plot> = vec![plot.into()];
    let width = 320.0 + 60.0 * jobs.len() as f64;
    let layout = Layout::auto_from_plots(&plots)
        .with_title(format!("{machine}: slowdown by shared PCIe"))
        .with_y_label("times as long as alone")
        .with_x_tick_rotate(-45.0);
    render_to_svg(
        plots,
        layout.with_width(width.max(640.0)).with_height(480.0),
    )
}

#[cfg(test)]
mod tests {
    use mapa_regress::AlphaPoint;

    use super::*;

    /// No data, one value, equal values, and what is no number.
    const VALUES: [&[f64]; 5] = [
        &[],
        &[1.5],
        &[2.0, 2.0],
        &[f64::NAN, 1.0],
        &[f64::INFINITY, 1.0],
    ];

    #[test]
    fn every_picture_is_drawn_of_no_data_of_one_value_of_equal_values_and_of_no_numbers() {
        for values in VALUES {
            let points = values.iter().map(|&slowdown| AlphaPoint {
                copies: 2,
                runs: 1,
                slowdown,
                predicted: slowdown,
                on_line: true,
            });
            let alpha = Alpha {
                alpha: values.first().copied().unwrap_or(1.0),
                low: f64::NAN,
                high: f64::NAN,
                knee: values.first().copied().unwrap_or(1.0),
                base_s: 1.0,
                points: points.collect(),
            };
            let slope = PlottedSlope {
                job: "a",
                demand_gbps: 1.0,
                alpha: &alpha,
            };
            let jobs = values.iter().map(|&value| Contended {
                job: "a",
                device: "0",
                equal_share: value,
                max_min: value,
            });
            for picture in [
                slopes([], 30.0),
                slopes([slope], 30.0),
                contention(&jobs.collect::<Vec<_>>(), "dgx-1v"),
            ] {
                assert!(
                    picture.ends_with("</svg>\n") || picture.ends_with("</svg>"),
                    "{values:?}"
                );
            }
        }
    }
}
