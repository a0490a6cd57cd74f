//! Windows against a slow oracle.

use std::time::Duration;

use mapa_core::sharing::{Flow, max_min};
use mapa_system_slo::{Window, duration_ns, latency_ns};
use proptest::prelude::*;

use super::model;

proptest! {
    #[test]
    fn a_window_has_the_quantiles_of_its_last_latencies(
        all in prop::collection::vec(0_u64..50, 1..200),
        size in 1_usize..70,
    ) {
        let mut window = Window::new(size);
        for (at, &ns) in all.iter().enumerate() {
            window.push(ns);
            let mut last: Vec<u64> = all[..=at].iter().rev().take(size).copied().collect();
            last.sort_unstable();
            prop_assert_eq!(window.len(), last.len());
            for thousandths in [500, 950, 990, 999, 1000] {
                // By nearest rank: the least latency that at least this share does not exceed.
                let oracle = last.iter().find(|number| {
                    let below = last.iter().filter(|other| other <= number).count();
                    below * 1000 >= thousandths * last.len()
                });
                prop_assert_eq!(window.quantile(thousandths), oracle.copied());
            }
            let above = last.iter().filter(|number| **number > 20).count();
            prop_assert_eq!(window.above_ppm(20) as usize, above * 1_000_000 / last.len());
        }
        let text = serde_json::to_string(&window).unwrap();
        prop_assert_eq!(serde_json::from_str::<Window>(&text).unwrap(), window);
    }

    #[test]
    fn the_share_of_a_link_is_max_min(
        heavy in 0_u32..5,
        profile in 0_u8..3,
        throttled in any::<bool>(),
    ) {
        let model = model();
        let capacity = 25.0;
        let wants = if throttled { model.throttled_share } else { 1.0 };
        let weight = model.heavy_weight[usize::from(profile)];
        let mut flows = vec![Flow::new([0], f64::INFINITY)];
        for _ in 0..heavy {
            flows.push(Flow::new([0], wants * capacity).weight(weight));
        }
        let rate = max_min(&[capacity], &flows).unwrap()[0];
        let own = model.slowdown(profile, heavy, false, throttled).transfer;
        prop_assert!((capacity / rate - own).abs() < 1e-9, "{} {own}", capacity / rate);
    }
}

#[test]
fn latencies_that_cannot_be_are_refused() {
    let said = [f64::NAN, f64::INFINITY, -0.001, 3_600_001.0]
        .map(|wrong| latency_ns(wrong).unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"), @"
    a latency of NaN ms: expected 0 to 3600000
    a latency of inf ms: expected 0 to 3600000
    a latency of -0.001 ms: expected 0 to 3600000
    a latency of 3600001 ms: expected 0 to 3600000
    ");
    assert_eq!(latency_ns(0.0).unwrap(), 0);
    assert_eq!(latency_ns(15.0).unwrap(), 15_000_000);
    assert_eq!(duration_ns(Duration::MAX), 3_600_000_000_000);
    assert_eq!(duration_ns(Duration::from_millis(2)), 2_000_000);
}

#[test]
fn an_empty_window_has_no_quantile() {
    assert_eq!(Window::new(3).quantile(990), None);
    let wrong = r#"{"size":1,"latencies_ns":[1,2]}"#;
    let error = serde_json::from_str::<Window>(wrong)
        .unwrap_err()
        .to_string();
    insta::assert_snapshot!(
        error,
        @"a window of 1 with 2 latencies: expected a size of 1 or more, and no more latencies"
    );
}

#[test]
fn by_the_printed_formula_a_throttle_changes_nothing() {
    let model = model();
    assert_eq!(model.printed_transfer(0, 1), 2.0);
    let [free, throttled] = [false, true].map(|flag| model.slowdown(0, 1, false, flag).transfer);
    assert_eq!(free, 2.0);
    assert!((throttled - 25.0 / 24.5).abs() < 1e-12);
}
