//! Fig. 18: sensitive jobs on machines of sixteen GPUs.

use super::claims::{
    Above, EQ_2, PACKING, POOLED, Population, QUARTILES, SEVERAL, above, above_all,
};
use super::fig13::quartile_cells;
use super::setting::{self, PAPER};
use super::trials::{AllTrials, MapaTrials, Who};
use crate::colours::colour;
use mapa_front::Error;
use mapa_lab::claim::Claim;
use mapa_lab::picture::{BoxGroup, BoxPlotWords, boxes};
use mapa_lab::report::Section;

/// The claims of section 5.3 about both machines, and about each.
pub(super) fn of_population(trials: &MapaTrials, population: Population) -> Vec<Claim> {
    let mut claims = Vec::new();
    // One-GPU jobs are never a file's minimum, so the minimum is judged for one population only.
    if matches!(population.0, Who::Several) {
        claims.push(above_all(trials, population, EQ_2, 0));
    }
    claims.push(above_all(trials, population, EQ_2, 1));
    let others = [("lowest-id", 1), ("topo-aware", 1), ("greedy", 1)];
    let lowest = Above {
        own: ("preserve", 0),
        others: &others,
        near: true,
    };
    claims.push(said(
        trials,
        population,
        "preserve's minimum is equivalent to the others' 25th percentiles",
        &lowest,
    ));
    let own = if trials.setting.machine.name.starts_with("torus") {
        of_torus
    } else {
        of_cube_mesh
    };
    claims.extend(own(trials, population));
    claims
}

fn of_torus(trials: &MapaTrials, population: Population) -> Vec<Claim> {
    let medians = [("lowest-id", 2), ("topo-aware", 2)];
    let quarter = Above {
        own: ("preserve", 1),
        others: &medians,
        near: false,
    };
    let upper = Above {
        own: ("greedy", 3),
        others: &[("lowest-id", 3), ("topo-aware", 3)],
        near: false,
    };
    vec![
        said(
            trials,
            population,
            "preserve's 25th percentile is better than the medians of lowest-id and topo-aware",
            &quarter,
        ),
        said(
            trials,
            population,
            "greedy improves the 75th percentile over lowest-id and topo-aware",
            &upper,
        ),
    ]
}

fn of_cube_mesh(trials: &MapaTrials, population: Population) -> Vec<Claim> {
    let own = ("preserve", 2);
    let largest = [("lowest-id", 4), ("topo-aware", 4)];
    let claimed = [
        (
            "preserve's median is near greedy's 75th percentile",
            Above {
                own,
                others: &[("greedy", 3)],
                near: true,
            },
        ),
        (
            "preserve's median is near the maxima of lowest-id and topo-aware",
            Above {
                own,
                others: &largest,
                near: true,
            },
        ),
        (
            "half of preserve's jobs run faster than all of lowest-id's and topo-aware's: median above their maxima",
            Above {
                own,
                others: &largest,
                near: false,
            },
        ),
        (
            "half of preserve's jobs run faster than the majority of greedy's: median above its median",
            Above {
                own,
                others: &[("greedy", 2)],
                near: false,
            },
        ),
    ];
    claimed
        .iter()
        .map(|(what, claimed)| said(trials, population, what, claimed))
        .collect()
}

/// The claim of a sentence in section 5.3.
fn said(
    trials: &MapaTrials,
    (who, population): Population,
    what: &str,
    claimed: &Above<'_>,
) -> Claim {
    let what = format!(
        "{}: {what}; Eq. 2 of {population}",
        trials.setting.machine.name
    );
    above(trials, &what, "as said (section 5.3)", who, EQ_2, claimed)
}

pub(super) fn section(all: &AllTrials) -> Result<Section, Error> {
    let mut section = Section::new("fig-18", "Fig. 18: sixteen GPUs").text(
        "Claims and picture have fixed run times, as in the released simulator. The table also has run times by Eq. 2, and the machines of \
         the released code, whose links are partly missing or contradictory. Means over files of each file's quartiles of Eq. 2, GB/s. \
         The paper does not say whether one-GPU jobs are pooled here as in Fig. 13, so claims and picture have both. \"Equivalent\" and \
         \"near\" are taken as at most a tenth below.",
    );
    let mut rows = Vec::new();
    let shown = [
        "torus",
        "torus-released",
        "torus-eq-2",
        "cube",
        "cube-released",
        "cube-eq-2",
    ];
    for id in shown {
        let trials = all.of(id)?;
        for (population, who) in [
            ("pooled", Who::Sensitive),
            ("2 GPUs and more", Who::Several),
        ] {
            for name in PAPER.iter().chain(&setting::PACKING) {
                let (cells, numbers) = quartile_cells(trials, name, who, EQ_2.of);
                section.insert(format!("{id}, {population}, {name}"), numbers);
                let words = [
                    trials.setting.what.to_owned(),
                    population.to_owned(),
                    (*name).to_owned(),
                ];
                rows.push(words.into_iter().chain(cells).collect());
            }
        }
    }
    section = section.table(
        ["setting", "sensitive jobs", "policy"]
            .into_iter()
            .chain(QUARTILES),
        rows,
    );
    for id in ["torus", "cube"] {
        let trials = all.of(id)?;
        section = section.claims(
            [SEVERAL, POOLED]
                .into_iter()
                .flat_map(|row| of_population(trials, row)),
        );
    }
    Ok(section.picture(
        "fig-18.svg",
        picture(all)?,
        "Effective bandwidth of sensitive jobs on sixteen GPUs by policy, as Fig. 18; all files' jobs pooled, lines to the \
        extremes; claims are of each file's own quartiles",
    ))
}

/// A box for each policy, of all files' jobs together.
fn group(trials: &MapaTrials, name: &str, who: Who) -> BoxGroup {
    let boxes = PAPER.map(|policy| {
        let trials = trials.policy(policy).iter();
        let pooled = trials.flat_map(|trial| trial.sorted(who, EQ_2.of));
        (policy, pooled.collect())
    });
    (name.to_owned(), boxes.into())
}

fn picture(all: &AllTrials) -> Result<String, Error> {
    let [torus, cube] = [all.of("torus")?, all.of("cube")?];
    let groups = [
        group(torus, "torus, pooled", Who::Sensitive),
        group(torus, "torus, 2 and more", Who::Several),
        group(cube, "cube mesh, pooled", Who::Sensitive),
        group(cube, "cube mesh, 2 and more", Who::Several),
    ];
    let words = BoxPlotWords {
        title: "Sensitive jobs on sixteen GPUs: torus-2d, cube-mesh-16",
        y: "effective bandwidth (Eq. 2), GB/s",
        top: 90.0,
        ..BoxPlotWords::default()
    };
    Ok(boxes(&groups, colour, &words))
}

/// The claims about minimum and 25th percentile by ring packing.
pub(super) fn lower_tail(trials: &MapaTrials) -> [Claim; 2] {
    [0, 1].map(|at| above_all(trials, SEVERAL, PACKING, at))
}

/// The claims about lower tails by ring packing, on schedules whose run times are by ring packing.
pub(super) fn by_packing(all: &AllTrials) -> Result<Vec<Claim>, Error> {
    let mut claims = Vec::new();
    for id in ["torus-packing", "cube-packing"] {
        claims.extend(lower_tail(all.of(id)?));
    }
    Ok(claims)
}
