//! Fig. 18: sensitive jobs on machines of sixteen GPUs.

use super::super::claim::Claim;
use super::super::picture::{Group, Words, boxes};
use super::super::report::Section;
use super::claims::{EQ_2, Measure, PACKING, QUARTILES, above_all};
use super::fig13::quartile_cells;
use super::setting::{self, PAPER};
use super::trials::{All, Trials, Who};
use crate::failure::Failure;

const POOLED: (Who, &str) = (Who::Sensitive, "(one-GPU jobs pooled)");
const SEVERAL: (Who, &str) = (Who::Several, "(two GPUs and more)");

/// Minimum and 25th percentile.
fn lower_tail(trials: &Trials, (who, population): (Who, &str), measure: Measure) -> [Claim; 2] {
    [0, 1].map(|at| above_all(trials, who, population, measure, at))
}

pub(super) fn section(all: &All) -> Result<Section, Failure> {
    let mut section = Section::new("fig-18", "Fig. 18: sixteen GPUs").text(
        "Fixed run times, as the released simulator has them; the same with run times by Eq. 2 and on the machines as \
         the released code has them (links missing or contradictory there) is in the table. Means over files of each \
         file's quartiles of Eq. 2, GB/s.",
    );
    let mut rows = Vec::new();
    let shown = ["torus", "torus-released", "torus-eq-2", "cube", "cube-released", "cube-eq-2"];
    for id in shown {
        let trials = all.of(id)?;
        for (population, who) in [("pooled", Who::Sensitive), ("2 GPUs and more", Who::Several)] {
            for name in PAPER.iter().chain(&setting::PACKING) {
                let (cells, numbers) = quartile_cells(trials, name, who, EQ_2.of);
                section.numbers.insert(format!("{id}, {population}, {name}"), numbers);
                let words = [trials.setting.what.to_owned(), population.to_owned(), (*name).to_owned()];
                rows.push(words.into_iter().chain(cells).collect());
            }
        }
    }
    section = section.table(["setting", "sensitive jobs", "policy"].into_iter().chain(QUARTILES), rows);
    for id in ["torus", "cube"] {
        let trials = all.of(id)?;
        section = section.claims(lower_tail(trials, POOLED, EQ_2)).claims(lower_tail(trials, SEVERAL, EQ_2));
        section = section.claims([above_all(trials, Who::Several, SEVERAL.1, EQ_2, 2)]);
    }
    Ok(section.picture(
        "fig-18.svg",
        picture(all)?,
        "Effective bandwidth of sensitive jobs on sixteen GPUs by policy, as Fig. 18",
    ))
}

fn group(trials: &Trials, name: &str, who: Who) -> Group {
    let pooled = |policy: &str| trials.policy(policy).iter().flat_map(|trial| trial.sorted(who, EQ_2.of)).collect();
    (name.to_owned(), PAPER.map(|policy| (policy, pooled(policy))).into())
}

fn picture(all: &All) -> Result<String, Failure> {
    let [torus, cube] = [all.of("torus")?, all.of("cube")?];
    let groups = [
        group(torus, "torus, pooled", Who::Sensitive),
        group(torus, "torus, 2 and more", Who::Several),
        group(cube, "cube mesh, pooled", Who::Sensitive),
        group(cube, "cube mesh, 2 and more", Who::Several),
    ];
    let words = Words {
        title: "Sensitive jobs on sixteen GPUs: torus-2d, cube-mesh-16",
        y: "effective bandwidth (Eq. 2), GB/s",
        top: 90.0,
        ..Words::default()
    };
    Ok(boxes(&groups, &words))
}

/// The lower tails by ring packing, on schedules made by ring packing.
pub(super) fn by_packing(all: &All) -> Result<Vec<Claim>, Failure> {
    let mut claims = Vec::new();
    for id in ["torus-packing", "cube-packing"] {
        claims.extend(lower_tail(all.of(id)?, SEVERAL, PACKING));
    }
    Ok(claims)
}
