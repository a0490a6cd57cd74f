//! Long histories of one machine, compared with simple books: leases in a list, from which
//! everything else is computed after every step.

use std::sync::Arc;

use mapa_core::testing::{MachineHistory, MachineStep, cut_machines, machine_steps};
use mapa_core::{HardwareGraph, Snapshot};
use proptest::prelude::*;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};

/// The machine without its history; the test keeps the history.
#[derive(Clone, Debug)]
struct Machine(Arc<HardwareGraph>);

impl ReferenceStateMachine for Machine {
    type State = Self;
    type Transition = MachineStep;

    fn init_state() -> BoxedStrategy<Self> {
        cut_machines(1..=4)
            .prop_map(|graph| Self(Arc::new(graph)))
            .boxed()
    }

    fn transitions(_: &Self) -> BoxedStrategy<MachineStep> {
        machine_steps().boxed()
    }

    fn apply(state: Self, _: &MachineStep) -> Self {
        state
    }
}

/// To JSON and back.
fn copied(snapshot: &Snapshot) -> Snapshot {
    serde_json::from_str(&serde_json::to_string(snapshot).unwrap()).unwrap()
}

struct History(MachineHistory);

impl StateMachineTest for History {
    type SystemUnderTest = Self;
    type Reference = Machine;

    fn init_test(machine: &Machine) -> Self {
        Self(MachineHistory::new(machine.0.clone()))
    }

    fn apply(mut history: Self, _: &Machine, step: MachineStep) -> Self {
        history.0.step(&step, copied);
        history
    }

    fn check_invariants(history: &Self, _: &Machine) {
        history.0.check();
    }
}

prop_state_machine! {
    // 200 histories of 500 steps.
    #![proptest_config(ProptestConfig { max_shrink_iters: 2_000, ..mapa_core::testing::cases(200) })]

    #[test]
    fn histories_of_100_000_steps_never_exceed_a_capacity_or_lose_or_double_a_lease(sequential 500..=500 => History);
}
