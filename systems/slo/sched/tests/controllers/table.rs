//! Every row of the table of states: a state and an input in which it applies, and what comes next.

use mapa_system_slo::{
    ControllerAction, ControllerCommand, ControllerPhase, ControllerState, EnabledLevers, Newcomer,
    PhaseKind, RelaunchReason, Relaunched, RowId, TABLE, TenantSetup, ThrottleState, TickInput,
    step,
};

use super::{input, settings};

/// A tenant with a full window of such latencies, in a phase.
fn watched(latency_ms: u64, phase: ControllerPhase) -> ControllerState {
    let settings = settings(EnabledLevers::ALL);
    let mut state = ControllerState::new(TenantSetup::at(0), &settings);
    for _ in 0..32 {
        state.window.push(latency_ms * 1_000_000);
    }
    state.phase = phase;
    state.last_tick = Some(999);
    state
}

const QUIET: &[(u32, bool)] = &[(0, false), (0, false)];
const BESIDE: &[(u32, bool)] = &[(1, false), (0, false)];

fn relaunching(since: u64) -> ControllerPhase {
    ControllerPhase::Relaunching {
        since,
        to: TenantSetup::at(1),
        from: TenantSetup::at(0),
        why: RelaunchReason::Move,
        before_ns: Some(25_000_000),
    }
}

fn validating(at: u64, before_ms: u64, back: Option<TenantSetup>) -> ControllerPhase {
    ControllerPhase::Validating {
        at,
        before_ns: Some(before_ms * 1_000_000),
        back,
    }
}

/// A case: the row that must apply, the state and the input, and what must hold afterwards.
type Case = (
    RowId,
    ControllerState,
    TickInput,
    fn(&ControllerState, &[ControllerAction]) -> bool,
);

fn cases() -> Vec<Case> {
    let above = |state: ControllerState| ControllerState { above: 5, ..state };
    let old = |state: ControllerState| ControllerState {
        last_relaunch: Some(0),
        ..state
    };
    let young = |state: ControllerState| ControllerState {
        last_relaunch: Some(990),
        ..state
    };
    let large = |mut state: ControllerState| {
        state.config.profile = 2;
        state
    };
    vec![
        (
            RowId::Lift,
            ControllerState {
                guard: ThrottleState::On { until: 1000 },
                ..watched(10, ControllerPhase::Watch)
            },
            input(1000, &[], QUIET),
            |state, orders| {
                orders == [ControllerAction::Lift]
                    && state.guard == ThrottleState::Rest { until: 1128 }
            },
        ),
        (
            RowId::Lift,
            ControllerState {
                guard: ThrottleState::On { until: 1020 },
                ..watched(10, ControllerPhase::Watch)
            },
            TickInput {
                command: Some(ControllerCommand::Stop),
                ..input(1000, &[], QUIET)
            },
            |_, orders| orders == [ControllerAction::Lift],
        ),
        (
            RowId::Rested,
            ControllerState {
                guard: ThrottleState::Rest { until: 1000 },
                ..watched(10, ControllerPhase::Watch)
            },
            input(1000, &[], QUIET),
            |state, orders| orders.is_empty() && state.guard == ThrottleState::Open,
        ),
        (
            RowId::Hold,
            ControllerState {
                silent: 2,
                ..above(watched(25, ControllerPhase::Watch))
            },
            TickInput {
                snapshot: None,
                ..input(1000, &[], QUIET)
            },
            |state, orders| {
                orders.is_empty()
                    && state.phase == ControllerPhase::Warmup
                    && state.window.is_empty()
            },
        ),
        (
            // The clock went back: a throttle is lifted at once, whatever its end was.
            RowId::Hold,
            ControllerState {
                guard: ThrottleState::On { until: 1020 },
                ..above(watched(25, ControllerPhase::Watch))
            },
            input(5, &[25], BESIDE),
            |state, orders| {
                orders == [ControllerAction::Lift] && state.phase == ControllerPhase::Warmup
            },
        ),
        (
            RowId::Hold,
            above(watched(25, relaunching(990))),
            TickInput {
                command: Some(ControllerCommand::Recover {
                    config: TenantSetup::at(1),
                }),
                ..input(1000, &[25], BESIDE)
            },
            |state, orders| {
                orders == [ControllerAction::Lift]
                    && state.phase == ControllerPhase::Warmup
                    && state.config == TenantSetup::at(1)
                    && state.last_relaunch == Some(1000)
            },
        ),
        (
            RowId::Ready,
            watched(10, ControllerPhase::Warmup),
            input(1000, &[], QUIET),
            |state, orders| orders.is_empty() && state.phase == ControllerPhase::Watch,
        ),
        (
            RowId::Done,
            watched(25, relaunching(990)),
            TickInput {
                relaunch: Some(Relaunched::Done),
                ..input(1000, &[], QUIET)
            },
            |state, _| {
                state.window.is_empty()
                    && state.config == TenantSetup::at(1)
                    && state.phase == validating(1020, 25, Some(TenantSetup::at(0)))
            },
        ),
        (
            RowId::Failed,
            watched(25, relaunching(990)),
            TickInput {
                relaunch: Some(Relaunched::Failed),
                ..input(1000, &[], QUIET)
            },
            |state, orders| {
                orders
                    == [ControllerAction::Restore {
                        to: TenantSetup::at(0),
                    }]
                    && state.phase == ControllerPhase::Watch
                    && state.last_relaunch == Some(1000)
            },
        ),
        (
            RowId::Failed,
            watched(25, relaunching(969)),
            input(1000, &[], QUIET),
            |_, orders| {
                orders
                    == [ControllerAction::Restore {
                        to: TenantSetup::at(0),
                    }]
            },
        ),
        (
            RowId::Rollback,
            young(watched(22, validating(1000, 20, Some(TenantSetup::at(1))))),
            input(1000, &[], QUIET),
            |state, orders| {
                matches!(orders, [ControllerAction::Relaunch { to, why: RelaunchReason::Rollback, .. }] if *to == TenantSetup::at(1))
                    && state.last_relaunch == Some(1000)
            },
        ),
        (
            // 5 % worse is not more than 5 % worse.
            RowId::Proved,
            young(watched(21, validating(1000, 20, Some(TenantSetup::at(1))))),
            input(1000, &[], QUIET),
            |state, orders| orders.is_empty() && state.phase == ControllerPhase::Watch,
        ),
        (
            RowId::Throttle,
            above(young(watched(25, ControllerPhase::Watch))),
            input(1000, &[], BESIDE),
            |state, orders| {
                let on = ControllerAction::Throttle {
                    until: 1030,
                    io_mb_s: 500,
                    mps_percent: 50,
                };
                orders == [on]
                    && state.unresolved
                    && state.guard == ThrottleState::On { until: 1030 }
                    && state.above == 0
            },
        ),
        (
            RowId::Move,
            ControllerState {
                unresolved: true,
                ..above(old(watched(25, ControllerPhase::Watch)))
            },
            input(1000, &[], BESIDE),
            |state, orders| {
                matches!(orders, [ControllerAction::Relaunch { to, why: RelaunchReason::Move, .. }] if to.place == 1 && to.pinned)
                    && !state.unresolved
            },
        ),
        (
            RowId::Enlarge,
            above(old(watched(25, ControllerPhase::Watch))),
            input(1000, &[], QUIET),
            |_, orders| matches!(orders, [ControllerAction::Relaunch { to, why: RelaunchReason::Enlarge, .. }] if to.profile == 1 && to.place == 0),
        ),
        (
            RowId::NothingLeft,
            above(large(old(watched(25, ControllerPhase::Watch)))),
            input(1000, &[], QUIET),
            |state, orders| orders.is_empty() && state.phase == ControllerPhase::Watch,
        ),
        (
            RowId::Shrink,
            ControllerState {
                below: 128,
                ..large(old(watched(5, ControllerPhase::Watch)))
            },
            input(1000, &[], QUIET),
            |_, orders| matches!(orders, [ControllerAction::Relaunch { to, why: RelaunchReason::Shrink, .. }] if to.profile == 1),
        ),
        (
            RowId::Admission,
            watched(10, ControllerPhase::Watch),
            TickInput {
                newcomers: vec![Newcomer {
                    id: 7,
                    heavy: true,
                    training: false,
                    deadline: 1100,
                }],
                ..input(1000, &[], QUIET)
            },
            |state, orders| {
                orders == [ControllerAction::Admit { id: 7, place: 1 }] && state.queue.is_empty()
            },
        ),
    ]
}

#[test]
fn every_row_applies_where_it_says_and_does_what_it_says() {
    let settings = settings(EnabledLevers::ALL);
    let mut walked = Vec::new();
    for (at, (row, mut state, input, expected)) in cases().into_iter().enumerate() {
        let before = state.phase.kind();
        let own = TABLE.iter().find(|candidate| candidate.id == row).unwrap();
        assert!(own.phases.contains(&before), "case {at}");
        let decision = step(&settings, &mut state, &input);
        assert!(decision.rows.contains(&row), "case {at}: {decision:?}");
        assert!(
            expected(&state, &decision.orders),
            "case {at}: {decision:?}, {state:?}"
        );
        walked.push(row);
    }
    for row in &TABLE {
        assert!(walked.contains(&row.id), "no case walks {:?}", row.id);
    }
}

/// The table of the specification, row by row. What its last row leaves implicit has rows here.
#[test]
fn a_dwell_is_over_at_its_last_tick_and_not_before() {
    let settings = settings(EnabledLevers::ALL);
    let state = ControllerState {
        last_relaunch: Some(1000),
        ..watched(25, ControllerPhase::Watch)
    };
    let dwell = u64::from(settings.dwell);
    assert!(dwell > 0);
    assert!(!state.dwell_is_over(1000 + dwell - 1, &settings));
    assert!(state.dwell_is_over(1000 + dwell, &settings));
}

#[test]
fn the_table_is_the_one_that_is_specified() {
    let rows: Vec<(RowId, usize)> = TABLE.iter().map(|row| (row.id, row.phases.len())).collect();
    assert_eq!(
        rows,
        [
            (RowId::Lift, 4),
            (RowId::Rested, 4),
            (RowId::Done, 1),
            (RowId::Failed, 1),
            (RowId::Hold, 4),
            (RowId::Ready, 1),
            (RowId::Rollback, 1),
            (RowId::Proved, 1),
            (RowId::Throttle, 2),
            (RowId::Move, 2),
            (RowId::Enlarge, 2),
            (RowId::NothingLeft, 2),
            (RowId::Shrink, 2),
            (RowId::Admission, 4),
        ]
    );
    assert!(
        PhaseKind::ALL
            .iter()
            .all(|kind| TABLE.iter().any(|row| row.phases.contains(kind)))
    );
}

#[test]
fn a_lever_that_is_off_is_not_used() {
    let off = [
        (
            RowId::Throttle,
            EnabledLevers {
                throttle: false,
                ..EnabledLevers::ALL
            },
        ),
        (
            RowId::Move,
            EnabledLevers {
                moves: false,
                ..EnabledLevers::ALL
            },
        ),
        (
            RowId::Enlarge,
            EnabledLevers {
                enlarge: false,
                ..EnabledLevers::ALL
            },
        ),
        (
            RowId::Shrink,
            EnabledLevers {
                relax: false,
                ..EnabledLevers::ALL
            },
        ),
        (
            RowId::Admission,
            EnabledLevers {
                admission: false,
                ..EnabledLevers::ALL
            },
        ),
    ];
    for (row, levers) in off {
        let settings = settings(levers);
        for (at, (_, mut state, input, _)) in cases().into_iter().enumerate() {
            let decision = step(&settings, &mut state, &input);
            assert!(!decision.rows.contains(&row), "case {at}: {decision:?}");
        }
    }
}

#[test]
fn settings_out_of_the_papers_bounds_are_refused() {
    let own = settings(EnabledLevers::ALL);
    let error = |settings: mapa_system_slo::Settings| settings.checked().unwrap_err().to_string();
    let mut wrong = own.clone();
    wrong.mps_percent = 40;
    assert_eq!(error(wrong), "mps_percent=40: expected 50 to 100");
    let mut wrong = own.clone();
    wrong.io_mb_s = 99;
    assert_eq!(error(wrong), "io_mb_s=99: expected 100 to 500");
    let mut wrong = own.clone();
    wrong.tick_ms = 500;
    assert_eq!(error(wrong), "tick_ms=500: expected 1000 to 5000");
    let mut wrong = own.clone();
    wrong.relaunch_ticks = 31;
    assert_eq!(error(wrong), "relaunch_ticks=31: expected 1 to 30");
    let mut wrong = own.clone();
    wrong.throttle_ticks = 0;
    assert_eq!(error(wrong), "throttle_ticks=0: expected 1 to 99");
    let mut wrong = own.clone();
    wrong.weights.training = f64::NAN;
    insta::assert_snapshot!(
        error(wrong),
        @"weights [1.0, NaN, 0.01, 0.0, 0.0, 0.05]: expected numbers of 0 or more"
    );
    let mut wrong = own;
    wrong.model.compute[1] = f64::INFINITY;
    insta::assert_snapshot!(
        error(wrong),
        @"model: [1.0, inf, 0.9659363289248456]: expected a number of 0 or more for each of 3 profiles"
    );
}

#[test]
fn a_host_with_an_opaque_topology_is_judged_by_its_counters() {
    let settings = settings(EnabledLevers::ALL);
    let mut state = ControllerState {
        above: 5,
        last_relaunch: Some(990),
        ..watched(25, ControllerPhase::Watch)
    };
    let mut told = input(1000, &[], BESIDE);
    let place = &mut told.snapshot.as_mut().unwrap().places[0];
    (place.heavy, place.training, place.pcie_mb_s) = (None, None, Some(9000));
    let decision = step(&settings, &mut state.clone(), &told);
    assert_eq!(decision.rows, [RowId::Throttle]);
    // Without traffic, or without any counter, nobody is there to be throttled.
    for quiet in [Some(40), None] {
        told.snapshot.as_mut().unwrap().places[0].pcie_mb_s = quiet;
        let decision = step(&settings, &mut state, &told);
        assert_eq!(decision.rows, [RowId::NothingLeft]);
    }
}
