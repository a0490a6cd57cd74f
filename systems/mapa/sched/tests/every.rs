//! What every scheduler keeps, for those of this system.

use mapa_sched::testing::{
    any_machines, check_adoption, check_cordons, check_offered_sets, check_snapshot,
    check_unknown_jobs, cordon_events, snapshot_events, starts_of_three, whole_machines,
};
use mapa_system_mapa::SCHEDULERS;
use proptest::collection::vec;
use proptest::prelude::*;

proptest! {
    #[test]
    fn facts_of_unknown_jobs_change_nothing(
        graphs in whole_machines(),
        jobs in vec((0u64..30, 1usize..=5, 1u64..12), 1..12),
        events in vec((0u64..40, any::<bool>()), 1..6),
    ) {
        for row in &SCHEDULERS {
            check_unknown_jobs(row, &graphs, &jobs, &events);
        }
    }

    #[test]
    fn no_job_is_lost_or_runs_twice_or_starts_on_a_cordoned_device(
        graphs in any_machines(),
        events in cordon_events(),
    ) {
        for row in &SCHEDULERS {
            check_cordons(row, &graphs, &events);
        }
    }

    #[test]
    fn a_restored_fleet_gives_the_actions_of_the_one_that_went_on(
        graphs in any_machines(),
        events in snapshot_events(),
        cut in 0usize..24,
        network in prop::option::of(Just(25.0)),
    ) {
        for row in &SCHEDULERS {
            check_snapshot(row, &graphs, &events, cut, network, |snapshot| {
                serde_json::from_str(&serde_json::to_string(snapshot).unwrap()).unwrap()
            });
        }
    }
}

#[test]
fn every_scheduler_leaves_an_adopted_job_its_devices_and_gives_them_when_it_ends() {
    for row in &SCHEDULERS {
        check_adoption(row);
    }
}

#[test]
fn every_scheduler_carries_its_name_and_runs() {
    for row in &SCHEDULERS {
        let expected = match row.name {
            "foresight" => [(0, 0), (1, 10), (2, 10)],
            _ => [(0, 9), (1, 0), (2, 0)],
        };
        assert_eq!(starts_of_three(row), expected.into(), "{}", row.name);
    }
}

/// Tables of sets know nothing of pairs.
#[test]
fn every_scheduler_starts_a_job_on_the_sets_that_are_offered() {
    for row in &SCHEDULERS {
        check_offered_sets(row);
    }
}
