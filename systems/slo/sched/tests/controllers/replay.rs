//! The controller by replay: its recursion, its choices, and what it makes of raw counters.

use mapa_system_slo::replay::{
    MeasuredRequest, PastRequest, ReplayInput, ReplaySettings, ReplayState, RequestHistory, Sensor,
    SensorSettings, step,
};
use mapa_system_slo::{
    ControllerAction, EnabledLevers, RelaunchReason, Slowdown, TenantSetup, ThrottleState,
};
use proptest::prelude::*;

use super::{input, settings, snapshot};

proptest! {
    #[test]
    fn a_replay_is_the_recursion(all in prop::collection::vec((0.0_f64..30.0, 0.1_f64..20.0, 0.1_f64..20.0), 0..60), transfer in 1.0_f64..4.0, compute in 0.5_f64..2.0) {
        let mut history = RequestHistory::new(40);
        let (mut at, mut requests) = (0.0, Vec::new());
        for (gap, x, c) in all {
            at += gap;
            requests.push((at, x, c));
            history.push(PastRequest { arrived_ms: at, transfer_ms: x, compute_ms: c });
        }
        let last = &requests[requests.len().saturating_sub(40)..];
        // Oracle: the end of each stage, from the definition, by looking at all before.
        let mut copied: Vec<f64> = Vec::new();
        let mut late = 0;
        let mut computed = f64::NEG_INFINITY;
        for (at, x, c) in last {
            let free = copied.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let end = at.max(free) + x * transfer;
            copied.push(end);
            computed = end.max(computed) + c * compute;
            late += u32::from(computed - at > 15.0);
        }
        let expected = if last.is_empty() { 0.0 } else { f64::from(late) / last.len() as f64 };
        prop_assert_eq!(history.late_share(Slowdown { transfer, compute }, 15.0), expected);
    }
}

fn replaying() -> (ReplaySettings, ReplayState) {
    let own = ReplaySettings::new(settings(EnabledLevers::ALL)).unwrap();
    let state = ReplayState::new(TenantSetup::at(0), &own);
    (own, state)
}

fn told(tick: u64, places: &[(u32, bool)], transfer_ms: f64) -> ReplayInput {
    ReplayInput {
        base: input(tick, &[10], places),
        requests: vec![PastRequest {
            arrived_ms: tick as f64 * 1e3,
            transfer_ms,
            compute_ms: 6.0,
        }],
    }
}

#[test]
fn a_neighbour_is_throttled_in_its_first_tick_and_let_go_in_its_last() {
    let (own, mut state) = replaying();
    let mut orders = Vec::new();
    for tick in 1..=20 {
        let heavy = u32::from((10..15).contains(&tick));
        let decision = step(
            &own,
            &mut state,
            &told(tick, &[(heavy, false), (0, false)], 4.0),
        );
        orders.extend(decision.base.orders.into_iter().map(|order| (tick, order)));
    }
    assert!(matches!(
        orders[0],
        (10, ControllerAction::Throttle { until: 40, .. })
    ));
    assert_eq!(orders[1], (15, ControllerAction::Lift));
    assert_eq!(orders.len(), 2);
    assert_eq!(state.base.guard, ThrottleState::Rest { until: 15 + 128 });
}

#[test]
fn it_moves_when_that_pays_and_stays_when_it_does_not() {
    for (transfer_ms, pays) in [(8.5, true), (1.0, false)] {
        let (own, mut state) = replaying();
        let mut moved = None;
        for tick in 1..=300 {
            // Beside a neighbour a transfer of 8.5 ms takes 17, too long on any profile.
            let decision = step(
                &own,
                &mut state,
                &told(tick, &[(1, false), (0, false)], transfer_ms),
            );
            for order in decision.base.orders {
                if let ControllerAction::Relaunch { to, why, .. } = order {
                    assert_eq!(why, RelaunchReason::Replay);
                    moved = moved.or(Some(to.place));
                    assert!(decision.candidates.len() == 6);
                }
            }
        }
        assert_eq!(moved, pays.then_some(1), "{transfer_ms}");
    }
}

#[test]
fn a_sensor_needs_two_readings_of_three_and_keeps_what_it_knows() {
    let own = settings(EnabledLevers::ALL);
    let mut sensor = Sensor::new(SensorSettings::default());
    let mut seen = Vec::new();
    for traffic in [
        Some(0),
        Some(9000),
        Some(9000),
        None,
        Some(0),
        Some(9000),
        Some(0),
        Some(0),
    ] {
        let mut told = snapshot(&[(0, false)]);
        told.places[0].heavy = None;
        told.places[0].pcie_mb_s = traffic;
        sensor.judge(&mut told, &own, None);
        seen.push(told.places[0].heavy.unwrap());
    }
    assert_eq!(seen, [0, 0, 1, 1, 1, 1, 0, 0]);
    // A throttled neighbour shows far less traffic.
    let mut told = snapshot(&[(0, false)]);
    for _ in 0..3 {
        told.places[0].pcie_mb_s = Some(400);
        sensor.judge(&mut told, &own, Some(0));
    }
    assert_eq!(told.places[0].heavy, Some(1));
}

#[test]
fn the_effect_of_training_is_learned_on_any_profile() {
    for (compute, share) in [(1.0, 1.0), (0.8, 0.5)] {
        let mut sensor = Sensor::new(SensorSettings::default());
        assert_eq!(sensor.training(), 0.2);
        for at in 0..4000 {
            let beside = at % 4 == 0;
            let work = 6.0 + f64::from(at % 7) / 10.0;
            let effect = if beside { 1.0 + 0.4 * share } else { 1.0 };
            let own = MeasuredRequest {
                arrived_ms: f64::from(at),
                transfer_ms: 1.0,
                compute_took_ms: work * compute * effect,
            };
            let told = sensor.normalised(own, beside, false, [compute, share], 0.5);
            if at > 2000 {
                assert!(
                    (told.compute_ms - work).abs() < 0.15,
                    "{} {work}",
                    told.compute_ms
                );
            }
        }
        assert!(
            (sensor.training() - 0.4).abs() < 0.02,
            "{}",
            sensor.training()
        );
    }
}

#[test]
fn settings_of_the_replay_have_bounds() {
    let own = ReplaySettings::new(settings(EnabledLevers::ALL)).unwrap();
    let wrong = ReplaySettings {
        turn: 5,
        ..own.clone()
    };
    assert_eq!(
        wrong.checked().unwrap_err().to_string(),
        "turn=5: expected 0 to 4"
    );
    let wrong = ReplaySettings {
        memory_s: f64::NAN,
        ..own
    };
    assert_eq!(
        wrong.checked().unwrap_err().to_string(),
        "memory_s=NaN: expected 1 to 10000000"
    );
}

#[test]
fn a_history_and_a_model_of_absurd_sizes_neither_hang_nor_overflow() {
    let mut history: RequestHistory = serde_json::from_str(r#"{"size":0,"requests":[]}"#).unwrap();
    for at in 0..3 {
        history.push(PastRequest {
            arrived_ms: f64::from(at),
            transfer_ms: 1.0,
            compute_ms: 1.0,
        });
    }
    assert_eq!(history.len(), 1);
    let mut model =
        serde_json::to_value(&super::settings(mapa_system_slo::EnabledLevers::ALL).model).unwrap();
    let many = |value: serde_json::Value| serde_json::Value::Array(vec![value; 256]);
    model["slices"] = (1..=256).collect::<Vec<u32>>().into();
    for table in ["heavy_weight", "compute", "training"] {
        model[table] = many(1.0.into());
    }
    let model: mapa_system_slo::SlowdownModel = serde_json::from_value(model).unwrap();
    insta::assert_snapshot!(
        model.checked().unwrap_err().to_string(),
        @"model: 256 profiles: expected at most 255"
    );
}
