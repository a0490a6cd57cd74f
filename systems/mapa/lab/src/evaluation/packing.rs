//! The evaluation judged by ring packing instead of Eq. 2.

use super::claims::{self, PACKING, QUARTILES, left};
use super::fig13::quartile_cells;
use super::setting::{self, PAPER};
use super::trials::{AllTrials, Who};
use super::{fig18, speed, throughput};
use mapa_front::Error;
use mapa_lab::report::Section;

pub(super) fn section(all: &AllTrials) -> Result<Section, Error> {
    let mut section = Section::new("ring-packing", "Judged by ring packing");
    let mut rows = Vec::new();
    for id in ["packing", "torus-packing", "cube-packing"] {
        let trials = all.of(id)?;
        for name in PAPER.iter().chain(&setting::PACKING) {
            let (cells, numbers) = quartile_cells(trials, name, Who::Several, PACKING.of);
            section.insert(format!("{id}, {name}"), numbers);
            let words = [trials.setting.machine.name.to_owned(), (*name).to_owned()];
            let throughput = throughput::cell(trials, name);
            rows.push(
                words
                    .into_iter()
                    .chain(cells)
                    .chain([throughput, left(trials.policy(name)).to_string()])
                    .collect(),
            );
        }
    }
    let header = ["machine", "policy"]
        .into_iter()
        .chain(QUARTILES)
        .chain(["throughput", "jobs left"]);
    Ok(section
        .claims(claims::by_packing(all.of("packing")?))
        .claims(speed::of_throughput(all.of("packing")?))
        .claims(fig18::by_packing(all)?)
        .text(
            "Ring packing makes the run times (A7) and judges the allocations. Shown are the policies as published, and two that choose by \
             ring packing: max-bandwidth, and Algorithm 1 with ring packing in place of Eq. 2. Only sensitive jobs of two GPUs and more \
             count, since one GPU has no ring. GB/s, means over files of each file's quartiles. Throughput is over lowest-id's.",
        )
        .table(header, rows))
}
