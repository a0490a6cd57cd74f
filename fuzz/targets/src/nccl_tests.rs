//! Any text after the beginning of a run is read or refused; what is read has figures that can be
//! fitted to, and makes samples or says why not.

use mapa_regress::{SampleConfig, read_measurements, samples};

use crate::input::text;

const START: &str = "\
# Using devices
#  Rank  0 Group  0 Pid   4711 on      node1 device  0 [0000:07:00] NVIDIA H100
#  Rank  1 Group  0 Pid   4711 on      node1 device  3 [0000:8b:00] NVIDIA H100
# size count type redop root time algbw busbw #wrong time algbw busbw #wrong
";

/// One input.
pub fn run(data: &[u8]) {
    let text = text(data);
    for text in [text.to_owned(), format!("{START}{text}")] {
        let Ok(runs) = read_measurements(&text) else {
            continue;
        };
        assert!(!runs.is_empty());
        for run in &runs {
            assert!(!run.sizes.is_empty() && run.line.is_none_or(|line| line >= 1));
            let figures = run
                .sizes
                .iter()
                .flat_map(|at| at.out_of_place.into_iter().chain(at.in_place));
            assert!(
                figures
                    .into_iter()
                    .all(|gbps| gbps.is_finite() && gbps >= 0.0)
            );
        }
        let graph = mapa_topologies::named("dgx-1v")
            .expect("in the catalogue")
            .graph()
            .expect("a sound machine");
        let Ok(found) = samples(&runs, &graph, &SampleConfig::default()) else {
            continue;
        };
        assert_eq!(found.samples.len() + found.left_out.len(), runs.len());
        assert!(
            found
                .samples
                .iter()
                .all(|sample| sample.links.edges() == sample.ranks as u64)
        );
    }
}
