//! How far the gain hangs on what the paper does not tell.

use serde_json::{Value, json};

use super::super::claim::{interval_json, mean_pm};
use super::super::report::Section;
use super::claims::{all_run, share_names};
use super::setting::{FIXED, Physics, Setting, variations};
use super::trials::{All, Trials};
use crate::failure::Failure;

pub(super) fn section(all: &All) -> Result<Section, Failure> {
    let section = Section::new("sensitivity", "How far the gain hangs on what is assumed");
    let mut section = section.claims([all_run(all)]).text(
        "Reduction of the aggregated JCT on four GPUs, %, mean ± half the 95 % interval, one thing varied at a time; Poisson arrivals at load \
         0.6 unless a burst is named. Rows marked with * are what was fixed.",
    );
    let mut rows = Vec::new();
    for (what, name, setting) in variations() {
        let mut cells = vec![what.to_owned(), name.clone() + if setting == FIXED { " *" } else { "" }];
        for physics in Physics::ALL {
            let trials = all.shares(Setting { physics, ..setting })?;
            let gains = trials.map(Trials::gain);
            cells.extend(gains.map(mean_pm));
            let numbers: Vec<Value> = gains.iter().map(|gain| interval_json(*gain)).collect();
            section.numbers.insert(format!("{what}, {name}, {}", physics.name()), json!(numbers));
        }
        rows.push(cells);
    }
    let shares = share_names();
    let columns =
        Physics::ALL.iter().flat_map(|own| shares.iter().map(move |share| format!("{share}, {}", own.name())));
    let header = ["what", "as"].map(str::to_owned).into_iter().chain(columns);
    Ok(section.table(header, rows).text(
        "In a burst of 400 jobs most wait for longer than 300 s, from where on the delay threshold holds nobody back and first come is first \
         served; with a longer wait threshold it goes on as in smaller bursts. A delay threshold of 1 lets no second Bloom7b1 onto a GPU: \
         slices idle while jobs wait.",
    ))
}
