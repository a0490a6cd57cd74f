//! Days that are halted at decisions, against days under a rule; and rewards against what is counted.

use mapa_system_energy::learned::{Formulation, Observation};
use mapa_system_energy::{
    Fit, LargestFirst, Power, Rule, SliceJob, SlicedGpus, SmallestFirst, State,
};
use mapa_system_energy_rl::{Batch, Day, Passed, Reward, Source, Standing};
use mapa_system_energy_sim::{Draw, Totals, run};
use proptest::prelude::*;

fn machine() -> SlicedGpus {
    SlicedGpus::new(SlicedGpus::PUBLISHED, Power::A100).unwrap()
}

/// A morning at this rate.
fn jobs(seed: u64, per_minute: f64) -> Vec<SliceJob> {
    let draw = Draw {
        per_minute,
        most: 300,
        from: 540.0,
        ..Draw::default()
    };
    draw.jobs(seed).unwrap()
}

/// What a day comes to if a rule takes the actions, and all that passed.
fn by_rule(
    jobs: &[SliceJob],
    machine: SlicedGpus,
    rule: &mut dyn Rule,
) -> (Totals, Vec<(Passed, Totals)>) {
    let mut day = Day::new(jobs, machine).unwrap();
    let mut all = Vec::new();
    while !day.is_over() {
        let start = rule.choose(day.state()).unwrap();
        assert_eq!(start.waiting, 0);
        let passed = day.start(start.slice).unwrap();
        assert_eq!(passed.is_over, day.is_over());
        all.push((passed, *day.totals()));
    }
    (*day.totals(), all)
}

fn rules() -> [Box<dyn Rule>; 3] {
    [
        Box::new(LargestFirst),
        Box::new(SmallestFirst),
        Box::new(Fit::default()),
    ]
}

proptest! {
    #[test]
    fn a_day_step_by_step_is_the_day_under_the_rule_to_the_bit(
        seed in any::<u64>(),
        per_minute in prop::sample::select(vec![2.0, 20.0, 40.0]),
        rule in 0..3_usize,
        is_flexible in any::<bool>(),
    ) {
        let jobs = jobs(seed, per_minute);
        let flexible = SlicedGpus::flexible(8, Power::A100, 0.07).unwrap();
        let machine = if is_flexible { flexible } else { machine() };
        let whole = run(&jobs, State::new(machine.clone()), &mut *rules()[rule]).unwrap();
        let (by_step, all) = by_rule(&jobs, machine, &mut *rules()[rule]);
        prop_assert_eq!(by_step, whole);
        prop_assert_eq!(all.len(), jobs.len());
    }

    #[test]
    fn rewards_add_up_to_what_is_counted(seed in any::<u64>()) {
        let jobs = jobs(seed, 20.0);
        let (day, all) = by_rule(&jobs, machine(), &mut Fit::default());
        let sum = |reward: Reward| all.iter().map(|(passed, so_far)| reward.of(passed, so_far)).sum::<f64>();
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9 * (1.0 + b.abs());
        let n = day.jobs as f64;
        let cost = day.tardiness + 2.25e-5 * day.watt_minutes;
        let last = -cost / (n * 2.25e-5 + 1.0);
        prop_assert!(close(sum(Reward::Sparse), last));
        // What a start promises comes true: run times are known.
        let in_time = all.iter().filter(|pair| pair.0.in_time).count();
        prop_assert_eq!(in_time, day.jobs - day.late);
        let sizes: f64 = all.iter().map(|pair| f64::from(pair.0.size)).sum();
        let starts = 0.01 / 7.0 * sizes + 0.05 * in_time as f64;
        prop_assert!(close(sum(Reward::Document), starts + last));
        // The code's last action has another reward instead of that of its start and its ends.
        let (end, before) = all.split_last().unwrap();
        let start = 0.01 / 7.0 * f64::from(end.0.size) + if end.0.in_time { 0.05 } else { 0.0 };
        let ended: u32 = before.iter().map(|pair| pair.0.ended_in_time).sum();
        let tardy: f64 = before.iter().map(|pair| pair.0.tardiness).sum();
        prop_assert_eq!(ended + end.0.ended_in_time, in_time as u32);
        prop_assert!(close(tardy + end.0.tardiness, day.tardiness));
        let code = starts - start + 0.1 * f64::from(ended) - 0.2 * tardy
            + 10.0 * (1.0 - day.late as f64 / n) - cost / n;
        prop_assert!(close(sum(Reward::Code), code));
    }
}

fn source() -> Source {
    Source {
        machine: machine(),
        observation: Observation::new(Formulation::Enhanced, &machine()),
        draw: Draw {
            most: 40,
            from: 540.0,
            ..Draw::default()
        },
        reward: Reward::Code,
        seed: 9,
    }
}

/// The first free slice of each day.
fn first_free(batch: &Batch) -> Vec<usize> {
    let of = |day: &Day| {
        day.state()
            .running()
            .iter()
            .position(Option::is_none)
            .unwrap()
    };
    batch.days().iter().map(of).collect()
}

#[test]
fn a_batch_goes_on_from_where_it_stood_and_its_days_do_not_depend_on_each_other() {
    let mut batch = Batch::new(source(), 3).unwrap();
    let mut alone = Batch::new(source(), 1).unwrap();
    let mut ended = 0;
    for step in 0..200 {
        let [mut seen, mut other, mut masks] = [Vec::new(), Vec::new(), Vec::new()];
        batch.observe(&mut seen);
        assert_eq!(seen.len(), 3 * 88);
        alone.observe(&mut other);
        assert_eq!(other, seen[..88]);
        let mut allowed = Vec::new();
        batch.masks(&mut allowed);
        assert_eq!(allowed.len(), 3 * 20);
        if step % 50 == 7 {
            let again = Batch::at(source(), batch.standing().to_vec()).unwrap();
            again.observe(&mut masks);
            assert_eq!(masks, seen);
        }
        let actions = first_free(&batch);
        assert!(
            actions
                .iter()
                .zip(allowed.chunks(20))
                .all(|(&number, mask)| mask[number])
        );
        batch.step(&actions).unwrap();
        alone.step(&actions[..1]).unwrap();
        assert_eq!(alone.rewards(), &batch.rewards()[..1]);
        assert_eq!(
            batch.overs().iter().filter(|over| **over).count(),
            batch.finished().len()
        );
        assert!(batch.finished().iter().all(|totals| totals.jobs == 40));
        ended += batch.finished().len();
    }
    assert!(ended >= 12, "200 steps of 3 days of 40 jobs");
}

#[test]
fn what_is_masked_is_an_error_and_changes_nothing() {
    let mut day = Day::new(jobs(1, 20.0), machine()).unwrap();
    // Jobs end while time goes on, so a slice is sought that is busy at a decision.
    let mut place = None;
    while place.is_none() {
        day.start(0).or_else(|_| day.start(1)).unwrap();
        place = day.state().running().iter().position(Option::is_some);
    }
    let before = format!("{day:?}");
    let busy = day.start(place.unwrap()).unwrap_err().to_string();
    insta::assert_snapshot!(busy, @"start: slice 0: job 1 runs there: expected a free slice");
    let none = day.start(20).unwrap_err().to_string();
    insta::assert_snapshot!(none, @"start: slice 20: expected one below 20");
    assert_eq!(format!("{day:?}"), before);
    while !day.is_over() {
        let slice = day
            .state()
            .running()
            .iter()
            .position(Option::is_none)
            .unwrap();
        day.start(slice).unwrap();
    }
    insta::assert_snapshot!(
        day.start(0).unwrap_err().to_string(),
        @"start: position 0 of the queue: expected one below 0"
    );

    let mut batch = Batch::new(source(), 3).unwrap();
    let few = batch.step(&[0]).unwrap_err().to_string();
    insta::assert_snapshot!(few, @"actions: 1 for 3 days: expected one for each");
    let standing = Standing {
        days: 0,
        actions: vec![5, 5],
    };
    assert!(Batch::at(source(), vec![standing]).is_err());
}

#[test]
fn days_that_are_none_are_refused() {
    let mut jobs = jobs(1, 20.0);
    jobs.swap(0, 9);
    let error = Day::new(jobs, machine()).unwrap_err().to_string();
    insta::assert_snapshot!(
        error,
        @"day of jobs: job 1 arrives before job 0: expected jobs in order of arrival"
    );
    assert!(Day::new(Vec::new(), machine()).unwrap().is_over());
    let mut source = source();
    source.draw.from = 2000.0;
    let error = Batch::new(source, 1).unwrap_err().to_string();
    insta::assert_snapshot!(
        error,
        @"day of jobs: 100 days without a job: expected parameters that give jobs"
    );
}
