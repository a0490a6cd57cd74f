//! The published fit, re-run: prints the tables of `docs/reproduction/eq2-regression.md` and draws its
//! pictures.
//!
//! `cargo run -p mapa-regress --example published_fit -- docs/img` writes the pictures there;
//! without a folder it only prints.

#[path = "../tests/common/mod.rs"]
mod common;

use std::error::Error;
use std::path::{Path, PathBuf};

use kuva::plot::annotations::ReferenceLine;
use kuva::prelude::*;
use mapa_core::{Census, Coefficients, RingPacking};
use mapa_regress::published::{allocations, correlation, sample_sets, stand_ins};
use mapa_regress::{FitConfig, Method, fit};

fn main() -> Result<(), Box<dyn Error>> {
    println!("| samples | N | rank | condition | ours | printed | off by |");
    sample_sets(&common::dgx1v())
        .iter()
        .for_each(|set| println!("{}", common::finding_row(set)));
    println!(
        "\n| samples | method | RMSE | MAE | \"relative error\" | \"RMSE\" | RMSE, 5 parts | RMSE, by size |"
    );
    common::refit_rows()
        .iter()
        .for_each(|row| println!("{row}"));
    println!(
        "\n| sets of | sets | AggBW and Eq. 2 | AggBW and ring packing | Eq. 2 and ring packing |"
    );
    for (name, sizes) in [
        ("two to five", 2..=5),
        ("three", 3..=3),
        ("four", 4..=4),
        ("five", 5..=5),
    ] {
        println!("{}", common::correlation_row(name, sizes));
    }
    if let Some(folder) = std::env::args_os().nth(1).map(PathBuf::from) {
        by_sample(&folder)?;
        against_aggregate(&folder)?;
    }
    Ok(())
}

/// As Fig. 12: every link count by number of GPUs, with what was "measured" and what is predicted.
fn by_sample(folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut links = common::rings();
    // Within a size, the most double links first, then the most single ones.
    links.sort_by_key(|links| (links.edges(), std::cmp::Reverse(*links)));
    let graph = common::dgx1v();
    let data = stand_ins(&graph, &links, &RingPacking::default());
    let refit = fit(
        &data,
        &FitConfig {
            method: Method::Monotone,
            ..FitConfig::eq_2("refit")
        },
    )?;
    let line = |values: Vec<f64>| {
        values
            .into_iter()
            .enumerate()
            .map(|(at, value)| (at as f64 + 1.0, value))
    };
    let of = |predict: &dyn Fn(&Census) -> f64| line(links.iter().map(predict).collect());
    let published = of(&|links| Coefficients::FULL.predict(links));
    let monotone = of(&|links| refit.model().predict(links));
    let measured = line(data.iter().map(|sample| sample.gbps).collect());
    let plots: Vec<Plot> = vec![
        LinePlot::new()
            .with_data(published)
            .with_color("#1f77b4")
            .with_legend("Eq. 2, published")
            .into(),
        LinePlot::new()
            .with_data(monotone)
            .with_color("#d62728")
            .with_dashed()
            .with_legend("monotone refit")
            .into(),
        ScatterPlot::new()
            .with_data(measured)
            .with_color("#222222")
            .with_size(4.0)
            .with_legend("ring packing")
            .into(),
    ];
    let labels = links
        .iter()
        .map(|links| format!("{:?}", links.xyz()).replace(' ', ""))
        .collect();
    let mut layout = Layout::auto_from_plots(&plots)
        .with_title("Every link count of rings of two to five GPUs, DGX-1V")
        .with_x_categories(labels)
        .with_x_tick_rotate(-90.0)
        .with_x_label("double links, single links, PCIe hops")
        .with_y_label("GB/s")
        .with_y_axis_min(-10.0)
        .with_y_axis_max(120.0)
        .with_width(1100.0)
        .with_height(480.0);
    for at in 0..links.len() {
        if at == 0 || links[at].edges() != links[at - 1].edges() {
            let name = format!("{} GPUs", links[at].edges());
            let line = ReferenceLine::vertical(at as f64 + 0.5)
                .with_color("#999999")
                .with_label(name);
            layout = layout.with_reference_line(line);
        }
    }
    Ok(std::fs::write(
        folder.join("published-regression-samples.svg"),
        render_to_svg(plots, layout),
    )?)
}

/// As Fig. 11b: aggregated bandwidth says little about what rings reach.
fn against_aggregate(folder: &Path) -> Result<(), Box<dyn Error>> {
    let sets = allocations(&common::dgx1v(), &RingPacking::default());
    let pairs = |of: fn(&mapa_regress::published::Allocation) -> f64| -> Vec<(f64, f64)> {
        sets.iter().map(|set| (set.aggregate, of(set))).collect()
    };
    let series = |pairs: Vec<(f64, f64)>, name: &str, color: &str, marker| -> Plot {
        let r = correlation(&pairs).unwrap_or(f64::NAN);
        let plot = ScatterPlot::new()
            .with_data(pairs)
            .with_color(color)
            .with_marker(marker)
            .with_size(5.0);
        plot.with_marker_opacity(0.6)
            .with_legend(format!("{name}, r = {r:.2}"))
            .into()
    };
    let plots = vec![
        series(
            pairs(|set| set.eq_2),
            "Eq. 2",
            "#1f77b4",
            MarkerShape::Circle,
        ),
        series(
            pairs(|set| set.packing),
            "ring packing",
            "#222222",
            MarkerShape::Triangle,
        ),
    ];
    let layout = Layout::auto_from_plots(&plots)
        .with_title("All sets of two to five GPUs, DGX-1V")
        .with_x_label("aggregated bandwidth of the best ring (Eq. 1), GB/s")
        .with_y_label("bandwidth of the set, GB/s")
        .with_width(800.0)
        .with_height(480.0);
    Ok(std::fs::write(
        folder.join("published-regression-aggregate.svg"),
        render_to_svg(plots, layout),
    )?)
}
