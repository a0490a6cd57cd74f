//! A fitted model in a decision: it chooses, and says where it was asked about what nobody
//! measured.

use crate::common::{dgx1v, noisy, rings};
use mapa_core::{
    LinkClass, LinkModel, Pattern, Policy, Request, Rules, aggregate_gbps, criteria::max,
    effective_gbps,
};
use mapa_regress::{FitConfig, fit};

fn in_domain(rules: Rules<'static>, ranks: usize) -> bool {
    let graph = dgx1v();
    let all = graph.all();
    let decision = rules
        .decide(&Request::new(Pattern::ring(ranks)), &graph.with_free(&all))
        .unwrap();
    decision.best().in_domain()
}

#[test]
fn a_decision_is_in_the_domain_of_all_models_that_it_reports() {
    let model = fit(&noisy(&rings(), 1.0), &FitConfig::eq_2("mine"))
        .unwrap()
        .model()
        .clone();
    let by = |model: &LinkModel| Rules::new("by model").prefer(max(model.objective()));
    assert!(in_domain(by(&model), 4) && !in_domain(by(&model), 6));
    assert!(in_domain(
        Rules::new("no model").prefer(max(aggregate_gbps())),
        6
    ));
    assert!(!in_domain(
        Rules::new("reports")
            .prefer(max(aggregate_gbps()))
            .report(model.objective()),
        6
    ));
    assert!(!in_domain(
        Rules::new("reports")
            .prefer(max(aggregate_gbps()))
            .report(effective_gbps()),
        6
    ));
    assert!(!in_domain(by(&LinkModel::paper()), 6) && in_domain(by(&LinkModel::paper()), 5));
}

#[test]
fn rings_of_a_size_that_was_measured_with_counts_that_were_not_are_outside() {
    let no_doubles: Vec<_> = rings()
        .into_iter()
        .filter(|links| links.xyz().0 == 0)
        .collect();
    let config = FitConfig {
        allow_rank_deficient: true,
        ..FitConfig::eq_2("no doubles")
    };
    let model = fit(&noisy(&no_doubles, 1.0), &config)
        .unwrap()
        .model()
        .clone();
    // The best ring of four has double links, which nobody measured.
    let best = Rules::new("best")
        .prefer(max(aggregate_gbps()))
        .report(model.objective());
    assert!(!in_domain(best, 4));
}

#[test]
fn link_classes_that_were_not_measured_are_outside_even_in_a_tier_that_was() {
    let config = FitConfig {
        classes: vec![LinkClass::Direct(1), LinkClass::Sys],
        ..FitConfig::eq_2("no NV2")
    };
    let model = fit(&noisy(&rings(), 1.0), &config).unwrap().model().clone();
    assert!(!in_domain(
        Rules::new("by model")
            .prefer(max(aggregate_gbps()))
            .report(model.objective()),
        2
    ));
}

#[test]
fn the_papers_model_decides_as_eq_2_does() {
    let graph = dgx1v();
    let all = graph.all();
    for ranks in 2..=6 {
        let request = Request::new(Pattern::ring(ranks));
        let decide = |objective| {
            Rules::new("x")
                .prefer(max(objective))
                .decide(&request, &graph.with_free(&all))
                .unwrap()
        };
        let (decision, eq_2) = (
            decide(LinkModel::paper().objective()),
            decide(effective_gbps()),
        );
        assert_eq!(decision.placement(), eq_2.placement());
        assert_eq!(
            decision.best().score("eq-2"),
            eq_2.best().score("effective_gbps")
        );
        assert_eq!(decision.best().in_domain(), eq_2.best().in_domain());
    }
}
