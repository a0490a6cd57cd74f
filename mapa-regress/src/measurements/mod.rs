//! Bandwidths of collectives, as their benchmarks report them.
//!
//! Sources are the text of nccl-tests and rccl-tests ([`nccl_tests`]), their JSON and CSV files,
//! and tables of one's own. [`read_measurements`] distinguishes them. Readers return only what the
//! source says. [`samples`](crate::samples) finds the device of the machine on which a rank ran.

mod copies;
mod csv;
mod json;
mod measurement;
mod nccl_tests;
mod pci;
mod words;

pub use copies::{CopyRun, read_copies};
pub use measurement::{AtSize, Column, Devices, Measurement, Rank};
pub use pci::PciPlace;

use crate::error::Error;

/// Reads measurements of any known kind:
///
/// - the text output of nccl-tests and rccl-tests, also with log lines in between and prefixes on
///   each line;
/// - the JSON file of nccl-tests (`-J`);
/// - the JSON and CSV files of rccl-tests (`-x`, `-Z`);
/// - Tartan's CSV (`OP,GPU,Bandwidth`);
/// - tables of your own.
///
/// A table of your own is CSV with a header. Its columns, in any order:
///
/// | column | |
/// |---|---|
/// | `devices` | the devices that took part, in rank order: `0 3 4`, `0;3;4`, `"0,3,4"` in quotes, or `first 3` |
/// | `gbps` | the bus bandwidth, GB/s |
/// | `op` | optional: the collective, such as `all_reduce` |
/// | `bytes` | optional: the size of the message |
/// | `label` | optional: the name of the row in messages |
///
/// O(length).
///
/// # Examples
/// ```
/// let text = "devices,gbps\n0 3,46.5\n0;3;4,47.1\n";
/// let measurements = mapa_regress::read_measurements(text)?;
/// assert_eq!(measurements[1].sizes[0].out_of_place, Some(47.1));
/// # Ok::<(), mapa_regress::Error>(())
/// ```
///
/// # Errors
/// The message names the line, or the place in the JSON document.
///
/// - The text is cut off: a row has too few columns, or a run has no end.
/// - A quoted field of a table does not end on its line.
/// - A bandwidth is no number, or is negative, or in a unit other than GB/s or MB/s.
/// - The results of a run were wrong.
/// - Ranks ran in several groups.
/// - The text has no measurement of a known kind.
pub fn read_measurements(text: &str) -> Result<Vec<Measurement>, Error> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if json::is_json(text) {
        json::read(text)
    } else if let Some(shape) = csv::shape(text) {
        csv::read(text, shape)
    } else {
        nccl_tests::read(text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Also texts that begin as each kind does.
        #[test]
        fn any_text_is_read_or_refused(
            start in prop::sample::select(vec!["", "{", "[", "devices,gbps\n", "OP,GPU,Bandwidth\n", "numCycle,collective,gpus,size,type,redop,inplace,time,algbw,busbw,#wrong\n", "# size count type redop root time algbw busbw #wrong\n", "# Using devices\n#  Rank "]),
            rest in "(?s).{0,200}",
            lines in prop::collection::vec("(#  Rank +[0-9]{1,2} |8 2 float |sum |-1 |[0-9.]{1,6} |nan |device 0 \\[0x0[0-9]\\]|# Avg bus bandwidth|,|\\n){0,20}", 0..8),
        ) {
            for text in [format!("{start}{rest}"), format!("{start}{}", lines.concat())] {
                if let Ok(measurements) = read_measurements(&text) {
                    for run in &measurements {
                        prop_assert!(!run.sizes.is_empty());
                        let figures = run.sizes.iter().flat_map(|at| at.out_of_place.into_iter().chain(at.in_place));
                        prop_assert!(figures.into_iter().all(|gbps| gbps.is_finite() && gbps >= 0.0));
                    }
                }
            }
        }
    }
}
