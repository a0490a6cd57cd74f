//! Fits: exact data give their coefficients back, and each method is what it says it is.

use crate::common::{lattice, noisy, rings, samples};
use mapa_core::{Census, Coefficients, LinkClass, LinkModel, Term, Tiers};
use mapa_regress::{
    Fit, FitConfig, Method, Sample, fit, k_fold, leave_one_size_out, read_model, write_model,
};
use proptest::prelude::*;

fn eq_2(method: Method) -> FitConfig {
    FitConfig {
        method,
        ..FitConfig::eq_2("test")
    }
}

fn coefficients(fit: &Fit) -> Vec<f64> {
    fit.model()
        .terms()
        .iter()
        .map(|(_, coefficient)| *coefficient)
        .collect()
}

/// Aᵀ (A θ - b), from the public design matrix.
fn gradient(fit: &Fit) -> Vec<f64> {
    let value = |row: usize, column: usize| fit.design().value(row, column).unwrap();
    let along = |column: usize| {
        fit.rows()
            .iter()
            .enumerate()
            .map(|(at, row)| -row.residual * value(at, column))
            .sum()
    };
    (0..fit.design().columns()).map(along).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The largest fall of the prediction where a link becomes one of the next better tier, by going
/// through all counts.
fn largest_fall(model: &LinkModel, sizes: std::ops::RangeInclusive<u32>) -> f64 {
    let tiers = model.tiers().len();
    let falls = lattice(tiers, sizes).into_iter().flat_map(|from| {
        (1..tiers)
            .filter(move |&tier| from.count(tier) > 0)
            .map(move |tier| {
                let mut to = *from.counts();
                (to[tier], to[tier - 1]) = (to[tier] - 1, to[tier - 1] + 1);
                (from, Census::from_counts(&to).unwrap())
            })
    });
    falls
        .map(|(from, to)| model.predict(&from) - model.predict(&to))
        .fold(f64::NEG_INFINITY, f64::max)
}

/// Bandwidths that Eq. 2's terms give exactly, none below zero: a constant is among their sums,
/// 1/(xyz+1) and its kin are not.
fn theta() -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec(0.0f64..60.0, 14)
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(48))]

    #[test]
    fn exact_data_give_their_coefficients_back(theta in theta()) {
        let truth = Coefficients(theta.clone().try_into().unwrap());
        let data = samples(&rings(), |_, links| truth.predict(links));
        for method in [Method::LeastSquares, Method::NonNegative] {
            let fit = fit(&data, &eq_2(method)).unwrap();
            for (found, wanted) in coefficients(&fit).iter().zip(&theta) {
                prop_assert!((found - wanted).abs() < 1e-7, "{method:?}: {found} is not {wanted}");
            }
            prop_assert!(fit.errors().rmse < 1e-9);
        }
    }

    #[test]
    fn exact_data_of_four_tiers_give_their_28_coefficients_back(theta in proptest::collection::vec(0.0f64..60.0, 28)) {
        let tiers = Tiers::new(&[LinkClass::Direct(4), LinkClass::Direct(1), LinkClass::Phb]).unwrap();
        let terms = Term::eq_2(4);
        let truth = |links: &Census| terms.iter().zip(&theta).map(|(term, theta)| term.value(links) * theta).sum();
        let data = samples(&lattice(4, 2..=5), |_, links| truth(links));
        let fit = fit(&data, &FitConfig::new("four", tiers)).unwrap();
        for (found, wanted) in coefficients(&fit).iter().zip(&theta) {
            prop_assert!((found - wanted).abs() < 1e-6, "{found} is not {wanted}");
        }
    }

    #[test]
    fn permuting_the_samples_changes_nothing(order in Just(noisy(&rings(), 9.0)).prop_shuffle(), method in 0usize..4) {
        let methods = [Method::LeastSquares, Method::Ridge(0.5), Method::NonNegative, Method::Monotone];
        let config = eq_2(methods[method]);
        let (plain, shuffled) = (fit(&noisy(&rings(), 9.0), &config).unwrap(), fit(&order, &config).unwrap());
        prop_assert_eq!(write_model(plain.model()), write_model(shuffled.model()));
        prop_assert_eq!(plain.rows(), shuffled.rows());
        let folds = |data: &[Sample]| k_fold(data, &config, 3).unwrap();
        prop_assert_eq!(folds(&noisy(&rings(), 9.0)), folds(&order));
    }

    #[test]
    fn the_core_predicts_from_the_file_what_the_design_matrix_says(
        gbps in proptest::collection::vec(0.0f64..90.0, 39), method in 0usize..4
    ) {
        let methods = [Method::LeastSquares, Method::Ridge(0.5), Method::NonNegative, Method::Monotone];
        let fit = fit(&samples(&rings(), |at, _| gbps[at]), &eq_2(methods[method])).unwrap();
        let model = read_model(&write_model(fit.model())).unwrap();
        prop_assert_eq!(&model, fit.model());
        let theta = coefficients(&fit);
        for (at, row) in fit.rows().iter().enumerate() {
            let values: Vec<f64> = (0..14).map(|column| fit.design().value(at, column).unwrap()).collect();
            let size: f64 = values.iter().zip(&theta).map(|(value, theta)| (value * theta).abs()).sum();
            prop_assert!((model.predict(&row.sample.links) - dot(&values, &theta)).abs() <= 1e-12 * size.max(1.0));
            prop_assert_eq!(model.predict(&row.sample.links), row.predicted);
        }
    }

    #[test]
    fn least_squares_leave_residuals_orthogonal_to_all_terms(gbps in proptest::collection::vec(0.0f64..90.0, 39)) {
        let fit = fit(&samples(&rings(), |at, _| gbps[at]), &eq_2(Method::LeastSquares)).unwrap();
        prop_assert!(gradient(&fit).iter().all(|slope| slope.abs() < 1e-7));
        // So leaving a sample out changes its residual to r / (1 - leverage).
        let leverages: f64 = fit.rows().iter().map(|row| row.leverage).sum();
        prop_assert!((leverages - 14.0).abs() < 1e-9);
        prop_assert!(fit.rows().iter().all(|row| (0.0..=1.0 + 1e-12).contains(&row.leverage)));
    }

    #[test]
    fn non_negative_fits_meet_the_conditions_of_kuhn_and_tucker(gbps in proptest::collection::vec(0.0f64..90.0, 39)) {
        let fit = fit(&samples(&rings(), |at, _| gbps[at]), &eq_2(Method::NonNegative)).unwrap();
        for (value, slope) in coefficients(&fit).iter().zip(gradient(&fit)) {
            prop_assert!(*value >= 0.0 && slope > -1e-6 && (*value == 0.0 || slope.abs() < 1e-6), "{value} {slope}");
        }
    }

    #[test]
    fn monotone_fits_never_fall_and_are_the_nearest_that_do_not(
        gbps in proptest::collection::vec(0.0f64..90.0, 39), others in proptest::collection::vec(0.0f64..90.0, 39)
    ) {
        let of = |gbps: &[f64]| fit(&samples(&rings(), |at, _| gbps[at]), &eq_2(Method::Monotone)).unwrap();
        let (best, other) = (of(&gbps), of(&others));
        prop_assert!(largest_fall(best.model(), 2..=5) <= 1e-7, "{}", largest_fall(best.model(), 2..=5));
        // The best point θ of a cone has a slope g with g·θ = 0, and g·d >= 0 for all d of the
        // cone.
        let slope = gradient(&best);
        let size = dot(&slope, &slope).sqrt() * dot(&coefficients(&best), &coefficients(&best)).sqrt();
        prop_assert!(dot(&slope, &coefficients(&best)).abs() <= 1e-6 * size.max(1.0));
        prop_assert!(dot(&slope, &coefficients(&other)) >= -1e-6 * size.max(1.0));
        let mut linear = vec![0.0; 14];
        linear[..3].copy_from_slice(&[3.0, 2.0, 1.0]);
        prop_assert!(dot(&slope, &linear) >= -1e-6 * size.max(1.0));
    }

    #[test]
    fn ridge_tends_to_least_squares(size in 0.0f64..20.0) {
        let data = noisy(&rings(), size);
        let plain = coefficients(&fit(&data, &eq_2(Method::LeastSquares)).unwrap());
        let far = |lambda: f64| {
            let ridge = coefficients(&fit(&data, &eq_2(Method::Ridge(lambda))).unwrap());
            ridge.iter().zip(&plain).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        prop_assert!(far(1e-10) < 1e-5 && far(1e-10) <= far(1e-2) && far(1e-2) < far(1e2));
    }
}

#[test]
fn a_monotone_fit_to_monotone_data_is_least_squares() {
    let data = samples(&rings(), |_, links| {
        f64::from(links.xyz().0) * 9.0 + f64::from(links.xyz().1) * 4.0
    });
    let [plain, monotone] =
        [Method::LeastSquares, Method::Monotone].map(|method| fit(&data, &eq_2(method)).unwrap());
    for (a, b) in coefficients(&plain).iter().zip(coefficients(&monotone)) {
        assert!((a - b).abs() < 1e-8, "{a} {b}");
    }
    // Eq. 2 as published is not monotone.
    assert!(largest_fall(&LinkModel::paper(), 2..=5) > 10.0);
}

#[test]
fn ridge_meets_its_normal_equations() {
    let fit = fit(&noisy(&rings(), 9.0), &eq_2(Method::Ridge(2.5))).unwrap();
    for (slope, theta) in gradient(&fit).iter().zip(coefficients(&fit)) {
        assert!((slope + 2.5 * theta).abs() < 1e-8);
    }
    let leverages: f64 = fit.rows().iter().map(|row| row.leverage).sum();
    assert!(leverages < 14.0 && leverages > 5.0);
}

#[test]
fn samples_that_repeat_weigh_more_and_nothing_else() {
    let data = noisy(&rings(), 5.0);
    let twice = [data.clone(), data.clone()].concat();
    let [once, twice] = [data, twice].map(|data| fit(&data, &eq_2(Method::LeastSquares)).unwrap());
    for (a, b) in coefficients(&once).iter().zip(coefficients(&twice)) {
        assert!((a - b).abs() < 1e-8);
    }
    assert!((once.errors().rmse - twice.errors().rmse).abs() < 1e-9);
    assert_eq!(once.model().domain(), twice.model().domain());
}

#[test]
fn too_few_or_too_similar_samples_are_refused_unless_the_least_norm_is_asked_for() {
    let without_pcie: Vec<Census> = rings()
        .into_iter()
        .filter(|links| links.xyz().2 == 0)
        .collect();
    let few = samples(&without_pcie, |at, _| 10.0 * at as f64);
    let error = fit(&few, &eq_2(Method::LeastSquares)).unwrap_err();
    assert!(error.is_rank_deficient());
    insta::assert_snapshot!(
        error.to_string(),
        @"9 samples with 9 distinct link counts for 14 terms: expected at least as many distinct counts as terms, fewer terms, or that the solution of least norm is asked for"
    );
    // Twenty-five distinct counts with no PCIe: z, and all products with it, are 0 or 1 throughout.
    let many = samples(&lattice(2, 2..=6), |at, _| 10.0 * at as f64);
    let error = fit(&many, &eq_2(Method::NonNegative)).unwrap_err();
    assert!(error.is_rank_deficient(), "{error}");
    insta::assert_snapshot!(
        error.to_string(),
        @"the samples do not tell all terms apart (rank 7 of 14): undecided are rest, 1/(rest + 1), direct-1 * rest, direct-2 * rest, 1/(direct-1 * rest + 1), 1/(direct-2 * rest + 1), direct-2 * direct-1 * rest, 1/(direct-2 * direct-1 * rest + 1); expected samples of other link counts, fewer terms, or that the solution of least norm is asked for"
    );
    for method in [Method::LeastSquares, Method::NonNegative, Method::Monotone] {
        let config = FitConfig {
            allow_rank_deficient: true,
            ..eq_2(method)
        };
        let fit = fit(&few, &config).unwrap();
        assert!(fit.design().rank() < 14);
        if method == Method::LeastSquares {
            assert!(
                fit.design().unseen(&coefficients(&fit)).unwrap() < 1e-9,
                "of least norm"
            );
        }
        if method == Method::Monotone {
            assert!(largest_fall(fit.model(), 2..=5) <= 1e-6);
        }
    }
    assert!(fit(&few, &eq_2(Method::Ridge(1e-3))).is_ok());
}

#[test]
fn samples_that_cannot_be_are_refused_by_their_label() {
    let good = noisy(&rings(), 1.0);
    let message = |spoil: &dyn Fn(&mut Sample)| {
        let mut bad = good.clone();
        spoil(&mut bad[4]);
        let error = fit(&bad, &eq_2(Method::LeastSquares)).unwrap_err();
        assert_eq!(error.sample(), Some("row 5"), "{error}");
        assert_eq!(
            k_fold(&bad, &eq_2(Method::LeastSquares), 3)
                .unwrap_err()
                .to_string(),
            error.to_string()
        );
        error.to_string()
    };
    for gbps in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.1, 1e10] {
        assert_eq!(
            message(&|s| s.gbps = gbps),
            format!("row 5: {gbps} GB/s: expected a number from 0 to 1e9")
        );
    }
    insta::assert_snapshot!(
        message(&|s| s.ranks = 1),
        @"row 5: 1 ranks: expected at least two, as one device sends nothing"
    );
    insta::assert_snapshot!(
        message(&|s| s.ranks = 9),
        @"row 5: 5 links among 9 ranks: expected 8 to 72"
    );
    insta::assert_snapshot!(
        message(&|s| s.links = Census::from_xyz(90, 0, 0)),
        @"row 5: 90 links among 5 ranks: expected 4 to 20"
    );
    insta::assert_snapshot!(
        message(&|s| s.links = Census::from_counts(&[0, 0, 4, 1]).unwrap()),
        @"row 5: links of more than 3 tiers: expected counts by direct-2, direct-1, rest"
    );
    insta::assert_snapshot!(
        fit(&[], &eq_2(Method::LeastSquares)).unwrap_err().to_string(),
        @"no samples: expected at least one"
    );
}

#[test]
fn what_cannot_be_fitted_is_refused() {
    let data = noisy(&rings(), 1.0);
    let message = |config: FitConfig| fit(&data, &config).unwrap_err().to_string();
    let said =
        [0.0, -1.0, f64::NAN, f64::INFINITY].map(|lambda| message(eq_2(Method::Ridge(lambda))));
    insta::assert_snapshot!(said.join("\n"), @"
    ridge of 0: expected a positive number
    ridge of -1: expected a positive number
    ridge of NaN: expected a positive number
    ridge of inf: expected a positive number
    ");
    insta::assert_snapshot!(
        message(FitConfig {terms: Vec::new(),..eq_2(Method::LeastSquares)}),
        @"the model `test`: no terms: expected at least one"
    );
    insta::assert_snapshot!(
        message(FitConfig {terms: Term::linear(4),..eq_2(Method::LeastSquares)}),
        @"the model `test`: term 3 has tier 3: expected one below 3"
    );
    insta::assert_snapshot!(
        message(FitConfig::eq_2("effective_gbps")),
        @"the model `effective_gbps`: expected a name on one line that is none of aggregate_gbps, effective_gbps, effective_printed_gbps, preserved_gbps, preserved_direct_gbps, ring_packing_gbps, tree_packing_gbps, all_to_all_gbps, all_to_all_unrelayed_gbps, channels_gbps, step_seconds, step_seconds_overlapping, host_hops"
    );
}

#[test]
fn every_count_is_held_out_once_and_never_told() {
    let mut data = noisy(&rings(), 3.0);
    data.extend(noisy(&rings()[..7], 5.0));
    let validation = k_fold(&data, &eq_2(Method::LeastSquares), 5).unwrap();
    assert_eq!(validation.folds.len(), 5);
    assert_eq!(validation.errors.samples, data.len());
    for fold in &validation.folds {
        let held: Vec<Census> = fold.held_out.iter().map(|held| held.sample.links).collect();
        let others: Vec<Sample> = data
            .iter()
            .filter(|sample| !held.contains(&sample.links))
            .cloned()
            .collect();
        assert_eq!(
            others.len() + held.len(),
            data.len(),
            "equal counts stay together"
        );
        let model = fit(&others, &eq_2(Method::LeastSquares)).unwrap();
        for held in &fold.held_out {
            assert_eq!(held.predicted, model.model().predict(&held.sample.links));
            assert_eq!(
                held.in_domain,
                model
                    .model()
                    .in_domain(&held.sample.links, held.sample.ranks)
            );
        }
    }
    let exact = samples(&rings(), |_, links| Coefficients::FULL.predict(links));
    assert!(
        k_fold(&exact, &eq_2(Method::LeastSquares), 3)
            .unwrap()
            .errors
            .max
            < 1e-7
    );
    let said = [0, 1, 40].map(|k| {
        let folds = k_fold(&exact, &eq_2(Method::LeastSquares), k);
        folds.unwrap_err().to_string()
    });
    insta::assert_snapshot!(said.join("\n"), @"
    0 parts of 39 distinct link counts: expected 2 to 39
    1 parts of 39 distinct link counts: expected 2 to 39
    40 parts of 39 distinct link counts: expected 2 to 39
    ");
}

#[test]
fn the_parts_that_can_be_held_out_are_when_others_cannot() {
    // Two ranks alone have the paths through the host.
    let size = |links: &Census| links.edges();
    let data = samples(
        &lattice(3, 2..=4)
            .into_iter()
            .filter(|links| links.xyz().2 == 0 || size(links) == 2)
            .collect::<Vec<_>>(),
        |at, _| 10.0 + at as f64,
    );
    let config = FitConfig {
        terms: Term::linear(3),
        ..eq_2(Method::LeastSquares)
    };
    let validation = leave_one_size_out(&data, &config).unwrap();
    let folds: Vec<&str> = validation
        .folds
        .iter()
        .map(|fold| fold.name.as_str())
        .collect();
    assert_eq!(folds, ["the samples of 3 ranks", "the samples of 4 ranks"]);
    assert_eq!(
        validation.errors.samples,
        data.iter().filter(|sample| sample.ranks > 2).count()
    );
    let [open] = &validation.not_held_out[..] else {
        panic!("{:?}", validation.not_held_out)
    };
    assert_eq!(open.name, "the samples of 2 ranks");
    assert!(open.why.contains("undecided are rest"), "{}", open.why);
    // If none can, that is an error.
    let three = [
        Census::from_xyz(2, 0, 0),
        Census::from_xyz(0, 3, 0),
        Census::from_xyz(0, 0, 4),
    ];
    let error = leave_one_size_out(&samples(&three, |_, _| 10.0), &config)
        .unwrap_err()
        .to_string();
    insta::assert_snapshot!(
        error,
        @"without the samples of 2 ranks: 2 samples with 2 distinct link counts for 3 terms: expected at least as many distinct counts as terms, fewer terms, or that the solution of least norm is asked for"
    );
    let alike = samples(&three[..1], |_, _| 10.0);
    insta::assert_snapshot!(
        k_fold(&alike, &config, 2).unwrap_err().to_string(),
        @"all samples have the same link counts: expected at least two distinct ones, to hold one out"
    );
}

#[test]
fn pairs_of_equal_size_are_misordered_where_the_prediction_reverses_or_ties_them() {
    let pair = |x, y, gbps| (Census::from_xyz(x, y, 0), gbps);
    let data = |rows: &[(Census, f64)]| {
        let links: Vec<Census> = rows.iter().map(|(links, _)| *links).collect();
        samples(&links, |at, _| rows[at].1)
    };
    // Eight devices pull the rates of the pairs past each other.
    let rows = [
        pair(2, 0, 46.4),
        pair(0, 2, 22.9),
        pair(7, 1, 30.0),
        pair(1, 7, 200.0),
        pair(1, 1, 23.5),
    ];
    let linear = |method| FitConfig {
        terms: Term::linear(2),
        ..FitConfig {
            tiers: Tiers::new(&[LinkClass::Direct(2)]).unwrap(),
            ..eq_2(method)
        }
    };
    for method in [Method::LeastSquares, Method::Monotone] {
        let fit = fit(&data(&rows), &linear(method)).unwrap();
        let order = fit.order();
        // 46.4 with both other pairs and 30 with 200; 22.9 and 23.5 are within 5 %.
        assert_eq!(order.pairs, 3);
        let found: Vec<_> = order
            .misordered
            .iter()
            .map(|pair| {
                let [higher, lower] =
                    [pair.higher, pair.lower].map(|at| fit.rows()[at].sample.gbps);
                (higher, lower, pair.tied)
            })
            .collect();
        let wanted: Vec<_> = oracle(&fit).into_iter().collect();
        assert_eq!(found.len(), wanted.len());
        assert!(
            wanted.iter().all(|pair| found.contains(pair)),
            "{found:?} {wanted:?}"
        );
        assert!(
            found.contains(&(46.4, 22.9, method == Method::Monotone)),
            "{method:?}: {found:?}"
        );
        assert!(
            found
                .windows(2)
                .all(|two| two[0].0 - two[0].1 >= two[1].0 - two[1].1),
            "worst first: {found:?}"
        );
    }
    let exact = samples(&lattice(2, 2..=4), |_, links| {
        f64::from(links.count(0)) * 20.0 + f64::from(links.count(1)) * 10.0
    });
    let order = fit(&exact, &linear(Method::Monotone)).unwrap().order();
    assert_eq!((order.pairs, order.misordered.len()), (3 + 6 + 10, 0));
    // The same links measured twice, and differently, cannot be told apart.
    let twice = fit(
        &data(&[pair(2, 0, 46.0), pair(2, 0, 10.0), pair(0, 2, 5.0)]),
        &linear(Method::LeastSquares),
    )
    .unwrap();
    assert!(twice.order().misordered.iter().any(|pair| pair.tied));
}

/// Every pair of rows, the higher first, that is in the wrong order.
fn oracle(fit: &Fit) -> Vec<(f64, f64, bool)> {
    let rows = fit.rows();
    let pairs = rows.iter().flat_map(|a| rows.iter().map(move |b| (a, b)));
    let pairs = pairs
        .filter(|(a, b)| a.sample.ranks == b.sample.ranks && a.sample.gbps > 1.05 * b.sample.gbps);
    let wrong = pairs.filter(|(a, b)| a.predicted <= b.predicted + 1e-6 * b.predicted.abs());
    wrong
        .map(|(a, b)| {
            (
                a.sample.gbps,
                b.sample.gbps,
                (a.predicted - b.predicted).abs() <= 1e-6 * b.predicted.abs(),
            )
        })
        .collect()
}

#[test]
fn leaving_one_out_agrees_with_the_leverage() {
    let data = noisy(&rings(), 6.0);
    let fit = fit(&data, &eq_2(Method::LeastSquares)).unwrap();
    let validation = k_fold(&data, &eq_2(Method::LeastSquares), 39).unwrap();
    for row in fit.rows() {
        let held = validation
            .folds
            .iter()
            .flat_map(|fold| &fold.held_out)
            .find(|held| held.sample == row.sample)
            .unwrap();
        let residual = held.sample.gbps - held.predicted;
        assert!(
            (residual - row.residual / (1.0 - row.leverage)).abs() < 1e-6,
            "{row:?}"
        );
    }
}

#[test]
fn a_size_left_out_is_outside_the_domain() {
    let data = noisy(&rings(), 3.0);
    let validation = leave_one_size_out(&data, &eq_2(Method::Ridge(0.1))).unwrap();
    let names: Vec<&str> = validation
        .folds
        .iter()
        .map(|fold| fold.name.as_str())
        .collect();
    assert_eq!(names.first().copied(), Some("the samples of 2 ranks"));
    assert_eq!(
        validation
            .folds
            .iter()
            .map(|fold| fold.held_out.len())
            .collect::<Vec<_>>(),
        [3, 7, 13, 16]
    );
    // Inner sizes may lie between those around them; the outer ones cannot.
    for fold in [&validation.folds[0], &validation.folds[3]] {
        assert!(fold.held_out.iter().all(|held| !held.in_domain));
    }
    let refused = leave_one_size_out(
        &data,
        &FitConfig {
            terms: Term::eq_2(3),
            ..eq_2(Method::LeastSquares)
        },
    );
    if let Err(error) = refused {
        insta::assert_snapshot!(error.to_string(), @"without the samples of");
    }
    let fives: Vec<Sample> = data
        .into_iter()
        .filter(|sample| sample.ranks == 5)
        .collect();
    let error = leave_one_size_out(&fives, &eq_2(Method::LeastSquares)).unwrap_err();
    insta::assert_snapshot!(
        error.to_string(),
        @"all samples have 5 ranks: expected at least two different numbers of ranks"
    );
}
