//! Newcomers: who is admitted, who waits, who is rejected.

use mapa_system_slo::{
    ControllerAction, ControllerPhase, ControllerState, EnabledLevers, Newcomer, TenantSetup,
    TickInput, step,
};

use super::{input, settings};

fn tenant(latency_ms: u64) -> ControllerState {
    let mut state = ControllerState::new(TenantSetup::at(0), &settings(EnabledLevers::ALL));
    for _ in 0..32 {
        state.window.push(latency_ms * 1_000_000);
    }
    state.phase = ControllerPhase::Watch;
    state
}

fn heavy(id: u64, deadline: u64) -> Newcomer {
    Newcomer {
        id,
        heavy: true,
        training: false,
        deadline,
    }
}

/// What is ordered when newcomers come while other places are closed or open.
fn ordered(
    state: &mut ControllerState,
    tick: u64,
    newcomers: Vec<Newcomer>,
    others_closed: bool,
) -> Vec<ControllerAction> {
    let mut told = TickInput {
        newcomers,
        ..input(tick, &[], &[(0, false), (0, false)])
    };
    told.snapshot.as_mut().unwrap().places[1].closed = others_closed;
    let orders = step(&settings(EnabledLevers::ALL), state, &told).orders;
    let admissions = |order: &ControllerAction| {
        matches!(
            order,
            ControllerAction::Admit { .. } | ControllerAction::Reject { .. }
        )
    };
    orders.into_iter().filter(admissions).collect()
}

#[test]
fn a_newcomer_goes_where_no_promise_breaks() {
    assert_eq!(
        ordered(&mut tenant(10), 1, vec![heavy(1, 50)], false),
        [ControllerAction::Admit { id: 1, place: 1 }]
    );
    // Half of the link would double the tail of 10 ms, which 15 ms does not allow.
    let mut state = tenant(10);
    assert_eq!(ordered(&mut state, 1, vec![heavy(1, 50)], true), []);
    assert_eq!(state.queue, [heavy(1, 50)]);
    // A tail of 7 ms leaves room.
    assert_eq!(
        ordered(&mut tenant(7), 1, vec![heavy(1, 50)], true),
        [ControllerAction::Admit { id: 1, place: 0 }]
    );
    // But not for two of them in one tick.
    let both = vec![heavy(1, 50), heavy(2, 50)];
    assert_eq!(
        ordered(&mut tenant(7), 1, both, true),
        [ControllerAction::Admit { id: 1, place: 0 }]
    );
}

#[test]
fn one_that_waits_is_admitted_when_a_place_opens_or_rejected_after_its_deadline() {
    let mut state = tenant(10);
    assert_eq!(
        ordered(&mut state, 1, vec![heavy(1, 3), heavy(2, 9)], true),
        []
    );
    assert_eq!(ordered(&mut state, 2, vec![], true), []);
    assert_eq!(
        ordered(&mut state, 3, vec![], true),
        [ControllerAction::Reject { id: 1 }]
    );
    assert_eq!(
        ordered(&mut state, 4, vec![], false),
        [ControllerAction::Admit { id: 2, place: 1 }]
    );
    assert!(state.queue.is_empty());
}

#[test]
fn a_tenant_that_misses_its_promise_anyway_keeps_nobody_out_elsewhere() {
    assert_eq!(
        ordered(&mut tenant(40), 1, vec![heavy(1, 50)], false),
        [ControllerAction::Admit { id: 1, place: 1 }]
    );
    let light = Newcomer {
        heavy: false,
        ..heavy(1, 50)
    };
    assert_eq!(
        ordered(&mut tenant(40), 1, vec![light], true),
        [ControllerAction::Admit { id: 1, place: 0 }]
    );
}

#[test]
fn without_fresh_counters_nobody_is_admitted() {
    let mut state = tenant(7);
    let told = TickInput {
        tick: 1,
        newcomers: vec![heavy(1, 50)],
        ..TickInput::default()
    };
    assert!(
        step(&settings(EnabledLevers::ALL), &mut state, &told)
            .orders
            .is_empty()
    );
}

/// In a tick in which nothing is decided nobody is admitted or rejected, and nobody is forgotten.
#[test]
fn newcomers_of_a_blind_tick_wait() {
    let blind = |change: &dyn Fn(&mut TickInput)| {
        let mut state = tenant(10);
        let mut told = TickInput {
            newcomers: vec![heavy(1, 2)],
            ..input(5, &[], &[(0, false), (0, false)])
        };
        change(&mut told);
        let orders = step(&settings(EnabledLevers::ALL), &mut state, &told).orders;
        let admissions = |order: &ControllerAction| {
            matches!(
                order,
                ControllerAction::Admit { .. } | ControllerAction::Reject { .. }
            )
        };
        assert!(!orders.iter().any(admissions), "{orders:?}");
        assert_eq!(state.queue, [heavy(1, 2)]);
        // Its deadline is over, and there is room: the next tick decides.
        assert_eq!(
            ordered(&mut state, 6, vec![], false),
            [ControllerAction::Admit { id: 1, place: 1 }]
        );
    };
    blind(&|told| told.snapshot = None);
    blind(&|told| told.command = Some(mapa_system_slo::ControllerCommand::Stop));
}
