//! The published fit, put to the test, and the page that tells of it held to what comes out.

use crate::common::{self, correlation_row, dgx1v, finding_row, refit_rows, rings};
use mapa_core::{Census, Coefficients, LinkModel, RingPacking};
use mapa_regress::published::{
    Printed, SampleSet, allocations, correlation, examine, sample_sets, share_of_choices, stand_ins,
};
use mapa_regress::{FitConfig, Sample, fit};

const PAGE: &str = include_str!("../../docs/reproduction/eq2-regression.md");

fn on_page(row: &str) {
    assert!(
        PAGE.contains(row),
        "docs/reproduction/eq2-regression.md should have:\n{row}"
    );
}

#[test]
fn the_sets_of_link_counts_are_39_31_and_26() {
    let sets = sample_sets(&dgx1v());
    assert_eq!(
        sets[..3]
            .iter()
            .map(|set| set.links.len())
            .collect::<Vec<_>>(),
        [39, 31, 26]
    );
    let two = |set: &SampleSet| {
        set.links
            .iter()
            .filter(|links| links.edges() <= 2)
            .map(Census::xyz)
            .collect::<Vec<_>>()
    };
    assert_eq!(two(&sets[0]), [(0, 0, 2), (0, 2, 0), (2, 0, 0)]);
    assert_eq!(two(&sets[3]), [(0, 0, 1), (0, 1, 0), (1, 0, 0)]);
    let all = sets
        .iter()
        .find(|set| set.name == "every ring of every set")
        .unwrap();
    // 28 pairs, 56 triples, 70 sets of four with 3 rings, 56 of five with 12.
    assert_eq!(all.links.len(), 28 + 56 + 70 * 3 + 56 * 12);
}

#[test]
fn the_page_tells_what_comes_out() {
    sample_sets(&dgx1v())
        .iter()
        .for_each(|set| on_page(&finding_row(set)));
    refit_rows().iter().for_each(|row| on_page(row));
    for (name, sizes) in [
        ("two to five", 2..=5),
        ("three", 3..=3),
        ("four", 4..=4),
        ("five", 5..=5),
    ] {
        on_page(&correlation_row(name, sizes));
    }
}

#[test]
fn the_monotone_fit_does_best_on_samples_held_out() {
    let cell = |row: &str, at: usize| {
        row.split('|')
            .nth(at)
            .unwrap()
            .trim()
            .parse::<f64>()
            .unwrap()
    };
    for of_set in refit_rows().chunks(4) {
        for column in [7, 8] {
            let least = of_set
                .iter()
                .map(|row| cell(row, column))
                .fold(f64::INFINITY, f64::min);
            assert_eq!(cell(&of_set[3], column), least, "{of_set:?}");
        }
    }
}

#[test]
fn what_the_page_says_besides_the_tables() {
    let printed = Printed::PAPER;
    assert_eq!(printed.fewest_samples(), 22);
    on_page("at least 22 samples");
    for (samples, rmse) in [(31.0f64, "8.44 for 31"), (39.0, "9.46 for 39")] {
        on_page(rmse);
        assert!(rmse.starts_with(&format!("{:.2}", 1.5153 * samples.sqrt())));
    }
    let sets = sample_sets(&dgx1v());
    let of = |at: usize| examine(&sets[at], &Coefficients::FULL, &printed).unwrap();
    on_page(&format!(
        "{:.4} to {:.4}, 0.01 say",
        of(0).ridge.0,
        of(0).ridge.1
    ));
    on_page(&format!(
        "negative, {:.2} to {:.2}",
        of(1).ridge.0,
        of(1).ridge.1
    ));
    assert!((of(0).ridge.0..of(0).ridge.1).contains(&0.01));
    let length: f64 = Coefficients::FULL.0.iter().map(|theta| theta * theta).sum();
    on_page(&format!("‖θ‖² = {length:.0}"));
    let share =
        share_of_choices(&sets[0].links, 31, &LinkModel::paper(), &printed).expect("few squares");
    on_page(&format!("61,523,748 choices of 31, {:.3} %", 100.0 * share));
    // None agrees, all have full rank.
    assert!(
        (0..sets.len()).all(|at| of(at).rank == 14 && of(at).unseen < 1e-12 && !of(at).agrees())
    );
}

#[test]
fn figures_of_a_fit_of_our_own_agree_with_its_samples_and_a_ridge_of_them_is_found() {
    let data = common::noisy(&rings(), 12.0);
    let set = SampleSet {
        name: "ours",
        links: rings(),
    };
    let own = |fitted: &mapa_regress::Fit| {
        let (figures, at) = (fitted.errors().published, |value: f64| {
            (value * (1.0 - 1e-9), value * (1.0 + 1e-9))
        });
        let printed = Printed {
            relative: at(figures.relative),
            rmse: at(figures.rmse),
            mae: at(figures.mae),
        };
        let theta: Vec<f64> = fitted
            .model()
            .terms()
            .iter()
            .map(|(_, theta)| *theta)
            .collect();
        examine(&set, &Coefficients(theta.try_into().unwrap()), &printed).unwrap()
    };
    assert!(own(&fit(&data, &FitConfig::eq_2("plain")).unwrap()).agrees());
    let ridge = FitConfig {
        method: mapa_regress::Method::Ridge(0.5),
        ..FitConfig::eq_2("ridge")
    };
    let found = own(&fit(&data, &ridge).unwrap());
    assert!(
        !found.agrees() && (found.ridge.0..=found.ridge.1).contains(&0.5),
        "{found:?}"
    );
    // Fewer samples than those that the figures are of.
    let fewer = SampleSet {
        name: "fewer",
        links: rings()[..31].to_vec(),
    };
    assert!(
        !examine(&fewer, &Coefficients::FULL, &Printed::PAPER)
            .unwrap()
            .agrees()
    );
    assert!(
        examine(
            &SampleSet {
                name: "none",
                links: Vec::new()
            },
            &Coefficients::FULL,
            &Printed::PAPER
        )
        .is_err()
    );
}

#[test]
fn shares_of_choices_are_those_of_all_choices() {
    let links: Vec<Census> = rings().into_iter().take(12).collect();
    let model = LinkModel::paper();
    let square = |links: &Census| model.predict(links).powi(2).round();
    let figures = Printed {
        relative: (0.2, 0.3),
        rmse: (5.0, 8.0),
        mae: (1.0, 2.0),
    };
    let (least, most) = figures.explained(5);
    let choices: Vec<f64> = (0u32..1 << 12)
        .filter(|choice| choice.count_ones() == 5)
        .map(|choice| {
            links
                .iter()
                .enumerate()
                .filter(|(at, _)| choice >> at & 1 == 1)
                .map(|(_, l)| square(l))
                .sum()
        })
        .collect();
    let within = choices
        .iter()
        .filter(|sum| (least..=most).contains(sum))
        .count();
    assert!(within > 0 && within < choices.len());
    let share = share_of_choices(&links, 5, &model, &figures).expect("few squares");
    assert!(
        (share - within as f64 / choices.len() as f64).abs() < 1e-12,
        "{share} {within}"
    );
}

#[test]
fn stand_ins_are_what_rings_carry_on_devices_that_have_these_counts() {
    let graph = dgx1v();
    let data = stand_ins(&graph, &rings(), &RingPacking::default());
    assert_eq!(data.len(), 39);
    let of = |xyz: (u32, u32, u32)| {
        data.iter()
            .find(|sample: &&Sample| sample.links.xyz() == xyz)
            .unwrap()
            .gbps
    };
    assert_eq!((of((2, 0, 0)), of((0, 2, 0))), (50.0, 25.0));
    assert!(
        data.iter()
            .all(|sample| sample.gbps > 0.0 && sample.ranks as u64 == sample.links.edges())
    );
    assert!(
        stand_ins(
            &graph,
            &[Census::from_xyz(9, 0, 0)],
            &RingPacking::default()
        )
        .is_empty()
    );
    assert_eq!(
        allocations(&graph, &RingPacking::default()).len(),
        28 + 56 + 70 + 56
    );
}

#[test]
fn correlations_are_pearsons() {
    let line: Vec<(f64, f64)> = (0..5)
        .map(|x| (f64::from(x), 3.0 - 2.0 * f64::from(x)))
        .collect();
    assert!((correlation(&line).unwrap() + 1.0).abs() < 1e-12);
    assert!((correlation(&[(1.0, 1.0), (2.0, 3.0), (3.0, 2.0)]).unwrap() - 0.5).abs() < 1e-12);
    assert!(correlation(&[(1.0, 1.0), (1.0, 2.0)]).is_none() && correlation(&[]).is_none());
}
