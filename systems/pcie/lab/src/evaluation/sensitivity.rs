//! How far the gain depends on what the paper does not state.

use super::claims::{all_run, share_names};
use super::setting::{FIXED, PcieSetting, PortSharing, variations};
use super::trials::{PcieResults, PcieTrials};
use mapa_front::Error;
use mapa_lab::claim::{bounds, mean_pm};
use mapa_lab::report::Section;

pub(super) fn section(all: &PcieResults) -> Result<Section, Error> {
    let section = Section::new("sensitivity", "How far the gain depends on what is assumed");
    let mut section = section.claims([all_run(all)]).text(
        "Reduction of the aggregated JCT on four GPUs, %, mean ± half the 95 % interval. One property is varied at a time; arrivals \
         are Poisson at load 0.6 unless a burst is named. Rows marked with * are the fixed assumptions.",
    );
    let mut rows = Vec::new();
    for (what, name, setting) in variations() {
        let mut cells = vec![
            what.to_owned(),
            name.clone() + if setting == FIXED { " *" } else { "" },
        ];
        for physics in PortSharing::ALL {
            let trials = all.shares(PcieSetting { physics, ..setting })?;
            let gains = trials.map(PcieTrials::gain);
            cells.extend(gains.map(mean_pm));
            let numbers: Vec<_> = gains.iter().map(|gain| bounds(*gain)).collect();
            section.insert(format!("{what}, {name}, {}", physics.name()), numbers);
        }
        rows.push(cells);
    }
    let shares = share_names();
    let columns = PortSharing::ALL.iter().flat_map(|physics| {
        shares
            .iter()
            .map(move |share| format!("{share}, {}", physics.name()))
    });
    let header = ["what", "as"].map(str::to_owned).into_iter().chain(columns);
    Ok(section.table(header, rows).text(
        "In a burst of 400 jobs most wait for longer than 300 s. From then on the delay threshold does not apply, and jobs are served in \
         order of arrival. With a longer wait threshold the gain is that of smaller bursts. A delay threshold of 1 admits no second \
         Bloom7b1 to a GPU: slices idle while jobs wait.",
    ))
}
