//! Machines and devices that are cordoned, and actions that fail.

use mapa_sched::SCHEDULERS;
use mapa_sched::testing::{any_machines, check_cordons, cordon_events};
use proptest::prelude::*;

proptest! {
    #[test]
    fn no_job_is_lost_or_runs_twice_or_starts_on_a_cordoned_device(
        graphs in any_machines(),
        events in cordon_events(),
    ) {
        for row in &SCHEDULERS {
            check_cordons(row, &graphs, &events);
        }
    }
}
