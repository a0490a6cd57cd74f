//! The coefficient file: what is written is read as it was, and what is wrong is refused with its
//! line.

use mapa_core::{Census, Domain, LinkClass, LinkModel, Term, Tiers};
use mapa_regress::{read_model, write_model};
use proptest::prelude::*;

fn any_model() -> impl Strategy<Value = LinkModel> {
    let least = [
        LinkClass::Direct(12),
        LinkClass::Direct(2),
        LinkClass::Pix,
        LinkClass::Network,
    ];
    let tiers = proptest::sample::subsequence(least.to_vec(), 0..=4)
        .prop_map(|least| Tiers::new(&least).unwrap());
    let number = prop_oneof![
        proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL | proptest::num::f64::ZERO
    ];
    let text = "[a-z \"'\\\\\n\t=äあ]{0,12}";
    tiers.prop_flat_map(move |tiers| {
        let t = tiers.len();
        let term = (proptest::collection::vec(0..t, 0..=3), any::<bool>());
        let terms = proptest::collection::btree_map(term, -1e12..1e12, 1..9).prop_map(|terms| {
            let made = terms.into_iter().map(|((tiers, inverse), coefficient)| {
                let term = if inverse {
                    Term::inverse(&tiers)
                } else {
                    Term::product(&tiers)
                };
                (term.unwrap(), coefficient)
            });
            // Products in another order are the same term.
            made.collect::<std::collections::BTreeMap<_, _>>()
                .into_iter()
                .collect::<Vec<_>>()
        });
        let points = proptest::collection::vec(proptest::collection::vec(any::<u32>(), t), 0..4);
        let ranks = proptest::option::of(
            (0usize..9, 0usize..9).prop_map(|(fewest, more)| (fewest, fewest + more)),
        );
        let statistics = proptest::collection::btree_map("[a-z .\"\n]{0,6}", number, 0..4);
        (
            Just(tiers),
            terms,
            points,
            ranks,
            any::<bool>(),
            text,
            statistics,
        )
            .prop_map(
                |(tiers, terms, points, ranks, classes, source, statistics)| {
                    let classes = if classes {
                        vec![LinkClass::Direct(2), LinkClass::Sys]
                    } else {
                        Vec::new()
                    };
                    let points = points
                        .iter()
                        .map(|counts| Census::from_counts(counts).unwrap())
                        .collect();
                    let model = LinkModel::new(
                        "a \"name\"",
                        tiers,
                        terms,
                        Domain {
                            ranks,
                            classes,
                            points,
                        },
                    )
                    .unwrap();
                    model.with_source(source).with_statistics(statistics)
                },
            )
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_as_it_was(model in any_model()) {
        let text = write_model(&model);
        let read = read_model(&text).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(&read, &model, "{}", text);
        for ((_, a), (_, b)) in read.terms().iter().zip(model.terms()) {
            prop_assert_eq!(a.to_bits(), b.to_bits());
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}") {
        let _ = read_model(&text);
    }

    #[test]
    fn a_file_that_is_cut_off_is_refused(share in 0.0f64..1.0) {
        let text = write_model(&LinkModel::paper());
        // The statistics at the end are not required, nor is the domain.
        let needed = text.find("[domain]").unwrap();
        let cut = (needed as f64 * share) as usize;
        prop_assume!(cut < text[..needed].trim_end().len());
        prop_assert!(read_model(&text[..cut]).is_err());
    }
}

#[test]
fn the_papers_model_is_written_and_read() {
    let text = write_model(&LinkModel::paper());
    assert_eq!(read_model(&text).unwrap(), LinkModel::paper());
    assert!(
        text.contains("{ of = [\"direct-2\"], coefficient = 16.39670455 },"),
        "{text}"
    );
}

/// The example of the page, between the first fences.
fn example() -> String {
    let page = include_str!("../../docs/calibrate.md");
    page.split("```toml\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap()
        .to_owned()
}

#[test]
fn the_example_of_the_page_is_read() {
    let model = read_model(&example()).unwrap();
    assert_eq!(
        (model.name(), model.tiers().len(), model.terms().len()),
        ("four-islands", 3, 4)
    );
    // 21.5 * 2 + 9 * 1 + 2.25 * 1 + 6 / (2 * 1 + 1).
    assert_eq!(
        model.predict(&Census::from_xyz(2, 1, 1)),
        21.5 * 2.0 + 9.0 + 2.25 + 6.0 * (1.0 / 3.0)
    );
    assert!(
        model.in_domain(&Census::from_xyz(2, 1, 1), 4)
            && !model.in_domain(&Census::from_xyz(4, 0, 0), 4)
    );
    assert!(!model.in_domain(&Census::from_xyz(2, 1, 1), 5));
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let error = |from: &str, to: &str, line: Option<usize>| {
        let text = example();
        assert!(text.contains(from), "{from}");
        let error = read_model(&text.replacen(from, to, 1)).unwrap_err();
        assert_eq!(error.line(), line, "{error}");
        error.to_string()
    };
    insta::assert_snapshot!(
        error("mapa-coefficients",
        "mapa-machine",
        Some(1)),
        @r#"line 1: format = "mapa-machine": expected "mapa-coefficients""#
    );
    insta::assert_snapshot!(
        error("version = 1",
        "version = 2",
        Some(2)),
        @"line 2: version = 2: expected 1"
    );
    insta::assert_snapshot!(
        error("\"direct-4\", \"direct-1\", \"rest\"",
        "\"direct-4\", \"direct-1\"",
        Some(5)),
        @"line 5: tiers: expected link classes from better to worse, then `rest`"
    );
    insta::assert_snapshot!(
        error("\"direct-4\", \"direct-1\", \"rest\"",
        "\"direct-1\", \"direct-4\", \"rest\"",
        Some(5)),
        @"line 5: the tier from direct-1 is followed by that from direct-4: expected tiers from better to worse"
    );
    insta::assert_snapshot!(
        error("\"direct-4\", \"direct-1\", \"rest\"",
        "\"NV4\", \"direct-1\", \"rest\"",
        Some(5)),
        @"line 5: no class of links is called `NV4`: expected none, network, sys, node, phb, pxb, pix, board, same-device, or direct-1 to direct-255"
    );
    insta::assert_snapshot!(
        error("coefficient = 9.0",
        "coefficient = nan",
        Some(9)),
        @"line 9: coefficient = NaN: expected a finite number"
    );
    insta::assert_snapshot!(
        error("coefficient = 9.0",
        "weight = 9.0",
        Some(9)),
        @"line 9: unknown field `weight`, expected one of `of`, `inverse`, `coefficient`"
    );
    insta::assert_snapshot!(
        error("coefficient = 9.0",
        "coefficient = \"9\"",
        Some(9)),
        @r#"line 9: invalid type: string "9", expected f64"#
    );
    insta::assert_snapshot!(
        error("of = [\"direct-1\"]",
        "of = [\"direct-2\"]",
        Some(9)),
        @"line 9: no tier is called `direct-2`: expected one of direct-4, direct-1, rest"
    );
    insta::assert_snapshot!(
        error("of = [\"direct-1\"]",
        "of = [\"rest\", \"rest\", \"rest\", \"rest\"]",
        Some(9)),
        @"line 9: a term of 4 counts multiplied: expected at most 3"
    );
    insta::assert_snapshot!(
        error("of = [\"direct-1\"]",
        "of = [\"direct-4\"]",
        None),
        @"the model `four-islands`: term 1 (direct-4) occurs twice: expected it once"
    );
    insta::assert_snapshot!(
        error("ranks = [2, 4]",
        "ranks = [4, 2]",
        Some(15)),
        @"line 15: ranks = [4, 2]: expected the fewest first"
    );
    insta::assert_snapshot!(
        error("[2, 0, 0]",
        "[2, 0]",
        Some(17)),
        @"line 17: a point of 2 counts: expected 3, one per tier"
    );
    insta::assert_snapshot!(
        error("[2, 0, 0]", "[2, 0, -1]", Some(17)),
        @"line 17: invalid value: integer `-1`, expected u32"
    );
    insta::assert_snapshot!(
        error("\"sys\"",
        "\"SYS\"",
        Some(16)),
        @"line 16: no class of links is called `SYS`: expected none, network, sys, node, phb, pxb, pix, board, same-device, or direct-1 to direct-255"
    );
    insta::assert_snapshot!(
        error("name = \"four-islands\"",
        "name = \"effective_gbps\"",
        None),
        @"the model `effective_gbps`: expected a name on one line that is none of aggregate_gbps, effective_gbps, effective_printed_gbps, preserved_gbps, preserved_direct_gbps, ring_packing_gbps, tree_packing_gbps, all_to_all_gbps, all_to_all_unrelayed_gbps, channels_gbps, step_seconds, step_seconds_overlapping, host_hops"
    );
    insta::assert_snapshot!(
        error("name = \"four-islands\"\n",
        "",
        Some(1)),
        @"line 1: missing field `name`"
    );
}
