//! Jobs with deadlines on slices: the state, and the rules against slow ones that visit every slice.

use mapa_system_energy::{
    Arithmetic, Booking, EarliestFinish, EnergyPlan, Fit, LargestFirst, LeastCost, MeanFinish,
    Power, PriceFile, Prices, RandomSlice, Rule, SIZES, SliceJob, SlicedGpus, SlotPlacement,
    SmallestFirst, Start, State, TunedFor, TunedMachine, energy_bound, printed_energy_bound,
};
use proptest::prelude::*;

fn machine(layouts: &str) -> SlicedGpus {
    SlicedGpus::new(layouts, Power::A100).unwrap()
}

fn minutes(job: &SliceJob, size: u8) -> f64 {
    job.minutes()[SIZES
        .iter()
        .position(|&candidate| candidate == size)
        .unwrap()]
}

/// The free slices: number, size, and busy compute slices of the GPU.
pub(crate) fn free(state: &State) -> Vec<(usize, u8, u8)> {
    let own = state.machine();
    (0..own.sizes().len())
        .filter(|&slice| is_free(state, slice))
        .map(|slice| {
            let gpu = own.gpus()[slice];
            let busy = (0..own.sizes().len())
                .filter(|&other| own.gpus()[other] == gpu && state.running()[other].is_some());
            (
                slice,
                own.sizes()[slice],
                busy.map(|other| own.sizes()[other]).sum(),
            )
        })
        .collect()
}

/// The slice with the least key, of equal ones the first by number.
fn least<K: PartialOrd>(
    free: &[(usize, u8, u8)],
    key: impl Fn(&(usize, u8, u8)) -> K,
) -> Option<usize> {
    let mut best: Option<(K, usize)> = None;
    for row in free {
        let key = key(row);
        if best.as_ref().is_none_or(|(least, _)| key < *least) {
            best = Some((key, row.0));
        }
    }
    best.map(|(_, slice)| slice)
}

/// A heuristic as its definition reads, by a visit to every free slice.
fn slow(name: &str, state: &State) -> Option<usize> {
    let job = state.queue().first()?.job;
    let free = free(state);
    let mean = |size| {
        let of = |sizes: &[u8]| {
            sizes.iter().map(|&size| minutes(&job, size)).sum::<f64>() / sizes.len() as f64
        };
        match size {
            1 | 2 => of(&[1, 2]),
            3 | 4 => of(&[3, 4]),
            _ => of(&[7]),
        }
    };
    let in_time = |size| state.now() + minutes(&job, size) <= job.deadline();
    let power = state.machine().power();
    let fit = |size: u8| {
        if in_time(size) {
            i32::from(size)
        } else {
            100 - i32::from(size)
        }
    };
    match name {
        "largest-first" => least(&free, |row| -i32::from(row.1)),
        "smallest-first" => least(&free, |row| row.1),
        "eft" => least(&free, |row| (minutes(&job, row.1), -i32::from(row.1))),
        "eft-published" => least(&free, |row| mean(row.1)),
        "fit" => least(&free, |row| fit(row.1)),
        "fit-fullest" => least(&free, |row| (fit(row.1), -i32::from(row.2))),
        "least-cost" => least(&free, |&(_, size, used)| {
            let p = minutes(&job, size);
            let late = (state.now() + p - job.deadline()).max(0.0);
            let cost = 2.25e-5 * power.added(used, size) * p + late;
            (cost, -i32::from(size), -i32::from(used))
        }),
        _ => unreachable!("{name}"),
    }
}

/// What a job costs on a slice as the definition of the plan reads.
fn cost(prices: &Prices, job: &SliceJob, size: u8, from: f64, delay: f64, load: f64) -> f64 {
    let class = SIZES
        .iter()
        .position(|&candidate| candidate == size)
        .unwrap();
    let p = minutes(job, size) + delay;
    let x = from + p - job.deadline();
    let tardy = if prices.doubt > 0.0 {
        // A logistic distribution around the expected lateness.
        let scale = prices.doubt * p / 1.702;
        let odds = (x / scale).exp();
        let (chance, mean) = match x / scale {
            by if by > 30.0 => (1.0, x),
            by if by < -30.0 => (0.0, 0.0),
            _ => (odds / (1.0 + odds), scale * odds.ln_1p()),
        };
        chance + prices.late * mean
    } else if x > 0.0 {
        1.0 + prices.late * x
    } else {
        0.0
    };
    prices.slice[class] * load * p + tardy
}

/// A booking: the slice, and from when until when.
struct Booked(usize, f64, f64);

/// The plan by prices as its definition reads: every slice for every job.
fn slow_plan(state: &State, prices: Prices, booking: Booking) -> Option<Start> {
    let machine = state.machine();
    let (sizes, power) = (machine.sizes(), machine.power());
    let now = state.now();
    let delay = |slice: usize| match machine.creation_minutes() {
        Some(minutes) if !state.exists(slice) => minutes,
        _ => 0.0,
    };
    let overlap = |a: usize, b: usize| a == b || clash(state, a, b);
    let load = (1.0
        + prices.queue * (state.queue().len() as f64 / (1.25 * machine.gpu_count() as f64)))
        .max(0.05);
    let free = free(state);
    // What a start on a slice takes away.
    let lost = |slice: usize| {
        let others = free.iter().filter(|row| row.0 != slice);
        others.filter(|row| overlap(row.0, slice)).count().min(8)
    };
    let mut order: Vec<(f64, usize)> = Vec::new();
    for (at, waiting) in state.queue().iter().enumerate() {
        let shortest = free.iter().map(|slice| minutes(&waiting.job, slice.1));
        let slack = waiting.job.deadline() - now - shortest.fold(f64::INFINITY, f64::min);
        let weight = if slack < 0.0 {
            prices.lost
        } else {
            prices.floor + (-slack / prices.urgency).exp()
        };
        order.push((weight / waiting.job.fastest().powf(prices.length), at));
    }
    order.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut booked: Vec<Booked> = Vec::new();
    for running in state.running().iter().flatten() {
        if prices.overdue > 0.0 && booking != Booking::None && running.finish < now {
            let more = (running.finish - running.begins) * prices.overdue;
            booked.push(Booked(running.slice, now, now + more));
        }
    }
    // Bookings for slots take all slices that overlap.
    let takes = |a: usize, b: usize| match booking {
        Booking::Slots => overlap(a, b),
        _ => a == b,
    };
    for (_, waiting) in order {
        let job = &state.queue()[waiting].job;
        let mut at_once: Option<(f64, usize)> = None;
        for size in SIZES {
            let may = |row: &&(usize, u8, u8)| {
                let finish = now + delay(row.0) + minutes(job, size);
                let mut others = booked.iter().filter(|other| takes(row.0, other.0));
                row.1 == size && others.all(|other| finish <= other.1)
            };
            let of_size: Vec<_> = free.iter().filter(may).copied().collect();
            let key = |&(slice, size, used): &(usize, u8, u8)| {
                let added = power.added(used, size) + prices.placement * lost(slice) as f64;
                (added, -i32::from(used), !state.exists(slice), lost(slice))
            };
            let Some(slice) = least(&of_size, key) else {
                continue;
            };
            let used = free.iter().find(|row| row.0 == slice)?.2;
            let energy =
                prices.energy * power.added(used, size) * (minutes(job, size) + delay(slice));
            let own = cost(&prices, job, size, now, delay(slice), load) + energy;
            if at_once.is_none_or(|(least, _)| own < least) {
                at_once = Some((own, slice));
            }
        }
        let mut later: Option<(f64, f64, usize)> = None;
        for size in SIZES {
            let mut first: Option<((f64, bool, f64, usize), f64)> = None;
            for slice in (0..sizes.len()).filter(|&number| sizes[number] == size) {
                let running = state.running().iter().flatten();
                let held = running.filter(|running| overlap(running.slice, slice));
                let plain = held.map(|running| running.finish).fold(-1.0, f64::max);
                let until = booked.iter().filter(|booked| takes(booked.0, slice));
                let until = until.map(|booked| booked.2).fold(-1.0, f64::max);
                let busy = match booking {
                    Booking::Slots => plain >= 0.0 || until >= 0.0,
                    _ => state.running()[slice].is_some(),
                };
                if !busy {
                    continue;
                }
                let at = plain.max(now).max(until);
                // Of equal times one without a booking; of those the one that ended first.
                let raw = if until < 0.0 { plain } else { at };
                let key = (at, until >= 0.0, raw, slice);
                if first.is_none_or(|(best, _)| key < best) {
                    first = Some((key, at));
                }
            }
            if let Some(((.., slice), at)) = first {
                let p = minutes(job, size) + delay(slice);
                let own = cost(&prices, job, size, at, delay(slice), load)
                    + prices.energy * 25.0 * f64::from(size) * p;
                if later.is_none_or(|(least, ..)| own < least) {
                    later = Some((own, at, slice));
                }
            }
        }
        match (at_once, later) {
            (_, Some((own, at, slice)))
                if at_once.is_none_or(|(now, _)| own + prices.margin < now) =>
            {
                if booking != Booking::None {
                    let minutes = minutes(job, sizes[slice]) + delay(slice);
                    booked.push(Booked(slice, at, at + minutes));
                }
            }
            (Some((_, slice)), _) => return Some(Start { waiting, slice }),
            (None, _) => return None,
        }
    }
    None
}

prop_compose! {
    fn job()(arrives in 0.0..5.0_f64, p7 in 0.1..6.0_f64, gains in [1.0..2.0_f64, 1.0..2.0, 1.0..2.0, 1.0..2.0], slack in 1.0..5.0_f64) -> SliceJob {
        let mut minutes = [p7; 5];
        for class in (0..4).rev() {
            minutes[class] = minutes[class + 1] * gains[class];
        }
        SliceJob::new(arrives, arrives + slack * p7, minutes).unwrap()
    }
}

/// What happens: an arrival, a start by a draw, an end, or time.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Arrive(SliceJob),
    Start(usize, usize),
    End(usize),
    Wait(f64),
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => job().prop_map(Step::Arrive),
        4 => (0..9_usize, 0..28_usize).prop_map(|(a, b)| Step::Start(a, b)),
        1 => (0..28_usize).prop_map(Step::End),
        1 => (0.0..2.0_f64).prop_map(Step::Wait),
    ]
}

pub(crate) fn after(layouts: &str, steps: Vec<Step>) -> State {
    stepped(machine(layouts), steps, |_| ())
}

/// The state after these steps, looked at after each.
pub(crate) fn stepped(machine: SlicedGpus, steps: Vec<Step>, look: impl Fn(&State)) -> State {
    let mut state = State::new(machine);
    for (id, step) in (0..).zip(steps) {
        match step {
            Step::Arrive(job) => state.arrive(id, job),
            Step::Start(waiting, slice) => {
                let before = (state.queue().len(), state.free_count());
                let is_free = slice < state.running().len() && is_free(&state, slice);
                let done = state.start(Start { waiting, slice });
                assert_eq!(done.is_ok(), waiting < before.0 && is_free);
                let one = usize::from(done.is_ok());
                assert_eq!(state.queue().len() + one, before.0);
                if state.machine().creation_minutes().is_none() {
                    assert_eq!(state.free_count() + one, before.1);
                }
            }
            Step::End(slice) => drop(state.end(slice)),
            Step::Wait(minutes) => state.advance(state.now() + minutes),
        }
        look(&state);
    }
    state
}

/// Where a slice of a machine lies that is repartitioned.
fn placement(slice: usize) -> SlotPlacement {
    SlotPlacement::ALL[slice % 14]
}

/// Whether two different slices cannot exist together.
fn clash(state: &State, a: usize, b: usize) -> bool {
    let is_flexible = state.machine().creation_minutes().is_some();
    let same_gpu = state.machine().gpus()[a] == state.machine().gpus()[b];
    is_flexible && a != b && same_gpu && placement(a).overlaps(placement(b))
}

/// Whether a job may start on a slice, by a look at everything that runs.
fn is_free(state: &State, slice: usize) -> bool {
    let mut running = state.running().iter().flatten();
    running.all(|running| running.slice != slice && !clash(state, slice, running.slice))
}

proptest! {
    #[test]
    fn rules_choose_as_a_visit_to_every_slice_does(
        steps in prop::collection::vec(step(), 0..60),
        layouts in prop::sample::select(vec![SlicedGpus::PUBLISHED, SlicedGpus::SEARCHED, "7", "1,1,1,1,1,1,1|4,3|2"]),
    ) {
        let state = after(layouts, steps);
        let watts: f64 = state.used().iter().map(|&used| state.machine().power().watts(used)).sum();
        prop_assert_eq!(state.watts(), watts);
        prop_assert_eq!(state.free_count(), free(&state).len());
        prop_assert!(state.queue().is_sorted_by(|a, b| a.job.deadline() <= b.job.deadline()));
        let rules: [Box<dyn Rule>; 7] = [
            Box::new(LargestFirst), Box::new(SmallestFirst), Box::new(EarliestFinish), Box::new(MeanFinish),
            Box::new(Fit::default()), Box::new(Fit::fullest()), Box::new(LeastCost::default()),
        ];
        for mut rule in rules {
            let slow = slow(rule.name(), &state).map(|slice| Start { waiting: 0, slice });
            prop_assert_eq!(rule.choose(&state), slow, "{}", rule.name());
        }
        for prices in [Prices::PUBLISHED_LAYOUTS, Prices::SEARCHED_LAYOUTS, Prices::EXACT_RUN_TIMES] {
            let start = EnergyPlan::new(prices).unwrap().choose(&state);
            prop_assert_eq!(start, slow_plan(&state, prices, Booking::Busy));
            let idle = state.running().iter().all(Option::is_none);
            prop_assert!(start.is_some() || !idle || state.queue().is_empty());
        }
        let rough = Prices { overdue: 0.1, ..Prices::default() };
        let start = EnergyPlan::new(rough).unwrap().choose(&state);
        prop_assert_eq!(start, slow_plan(&state, rough, Booking::Busy));
        for draw in 0..state.free_count() {
            let start = RandomSlice::new(|_| draw).choose(&state);
            let slice = free(&state)[draw].0;
            prop_assert_eq!(start, (!state.queue().is_empty()).then_some(Start { waiting: 0, slice }));
        }
    }
}

proptest! {
    #[test]
    fn what_runs_where_gpus_are_repartitioned_exists_and_overlaps_nothing(
        steps in prop::collection::vec(step(), 0..80),
        creation in prop::sample::select(vec![0.0, 0.5]),
    ) {
        let flexible = SlicedGpus::flexible(2, Power::A100, creation).unwrap();
        let look = |state: &State| {
            let slices = 0..state.running().len();
            for slice in slices.clone() {
                assert_eq!(state.is_free(slice), is_free(state, slice));
                assert!(state.exists(slice) || state.running()[slice].is_none());
                for other in slices.clone() {
                    assert!(!(state.exists(slice) && state.exists(other) && clash(state, slice, other)));
                }
            }
            let free = slices.clone().filter(|&slice| state.is_free(slice)).count();
            assert_eq!(state.free_count(), free);
            for (gpu, &used) in state.used().iter().enumerate() {
                let running = state.running().iter().flatten();
                let own = running.filter(|running| running.slice / 14 == gpu);
                assert_eq!(used, own.map(|running| placement(running.slice).size).sum::<u8>());
            }
        };
        let mut state = stepped(flexible, steps, look);
        // The next start creates an instance, and waits for it, if there is none.
        let before = state.creations();
        for slice in (0..28).filter(|&number| is_free(&state, number)).collect::<Vec<_>>() {
            let mut next = state.clone();
            let job = SliceJob::new(0.0, 0.0, [3.0; 5]).unwrap();
            next.arrive(99, job);
            let finish = next.finish_on(&job, slice);
            let delay = if next.exists(slice) { 0.0 } else { creation };
            let own = next.start(Start { waiting: 0, slice }).unwrap();
            prop_assert_eq!((own.begins, own.finish), (state.now() + delay, state.now() + delay + 3.0));
            prop_assert_eq!(finish, own.finish);
            prop_assert_eq!(next.creations() - before, u64::from(!state.exists(slice)));
            prop_assert!(next.exists(slice));
            // What the new instance is not in the way of is kept.
            for other in (0..28).filter(|&other| other != slice) {
                prop_assert_eq!(next.exists(other), state.exists(other) && !clash(&state, slice, other));
            }
        }
        // An instance outlives its job.
        if let Some(own) = state.running().iter().flatten().next().copied() {
            state.end(own.slice);
            prop_assert!(state.exists(own.slice));
        }
    }

    #[test]
    fn plans_for_gpus_that_are_repartitioned_choose_as_a_look_at_every_slice_does(
        steps in prop::collection::vec(step(), 0..60),
        creation in prop::sample::select(vec![0.0, 0.3]),
        prices in prop::sample::select(vec![
            Prices::PUBLISHED_LAYOUTS,
            Prices { placement: 3.0, ..Prices::EXACT_RUN_TIMES },
            Prices { overdue: 0.2, margin: -0.1, ..Prices::SEARCHED_LAYOUTS },
            Prices { late: 0.0, queue: 0.0, margin: -0.5, ..Prices::SEARCHED_LAYOUTS },
        ]),
    ) {
        let state = stepped(SlicedGpus::flexible(2, Power::A100, creation).unwrap(), steps, |_| ());
        for booking in [Booking::None, Booking::Busy, Booking::Slots] {
            let start = EnergyPlan::new(prices).unwrap().booking(booking).choose(&state);
            prop_assert_eq!(start, slow_plan(&state, prices, booking), "{:?}", booking);
        }
    }

    #[test]
    fn plans_in_doubt_of_run_times_choose_by_the_chance_of_being_late(
        steps in prop::collection::vec(step(), 0..60), doubt in 0.01..0.5_f64,
    ) {
        let state = after(SlicedGpus::SEARCHED, steps);
        let prices = Prices { doubt, ..Prices::default() };
        let start = EnergyPlan::new(prices).unwrap().choose(&state);
        prop_assert_eq!(start, slow_plan(&state, prices, Booking::Busy));
        let certain = Prices { doubt: 1e-9, ..prices };
        let plain = EnergyPlan::new(Prices { doubt: 0.0, ..prices }).unwrap().choose(&state);
        prop_assert_eq!(EnergyPlan::new(certain).unwrap().choose(&state), plain);
    }

    #[test]
    fn every_rule_starts_only_what_is_free_where_gpus_are_repartitioned(
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let flexible = SlicedGpus::flexible(2, Power::A100, 0.1).unwrap();
        let state = stepped(flexible, steps, |_| ());
        let idle = state.running().iter().all(Option::is_none);
        let plan = |booking| Box::new(EnergyPlan::default().booking(booking)) as Box<dyn Rule>;
        let rules: [Box<dyn Rule>; 8] = [
            Box::new(LargestFirst), Box::new(SmallestFirst), Box::new(Fit::fullest()),
            Box::new(LeastCost::default()), Box::new(MeanFinish), plan(Booking::None),
            plan(Booking::Busy), plan(Booking::Slots),
        ];
        for mut rule in rules {
            let start = rule.choose(&state);
            prop_assert!(start.is_some() || !idle || state.queue().is_empty());
            if let Some(start) = start {
                prop_assert!(is_free(&state, start.slice), "{}", rule.name());
                // Nothing is created where an instance of the size is free that costs no more room.
                let size = placement(start.slice).size;
                let unused = (0..28).any(|number| state.exists(number) && is_free(&state, number) && placement(number).size == size);
                prop_assert!(rule.name() != "largest-first" || !unused || state.exists(start.slice));
            }
        }
    }

    #[test]
    fn where_gpus_keep_their_layouts_jobs_book_slots_as_they_book_slices(
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let state = after(SlicedGpus::SEARCHED, steps);
        let of = |booking| EnergyPlan::default().booking(booking).choose(&state);
        prop_assert_eq!(of(Booking::Busy), of(Booking::Slots));
    }
}

#[test]
fn what_cannot_be_a_job_is_refused_with_the_number_at_fault() {
    let good = [8.0, 4.0, 3.0, 2.0, 1.0];
    let of = |arrives, deadline, minutes| {
        SliceJob::new(arrives, deadline, minutes)
            .unwrap_err()
            .to_string()
    };
    assert!(SliceJob::new(1.0, 2.0, good).is_ok());
    let said = [
        of(f64::NAN, 2.0, good),
        of(-1.0, 2.0, good),
        of(1.0, 0.5, good),
        of(1.0, f64::NAN, good),
        of(1.0, 9.0, [8.0, 4.0, 5.0, 2.0, 1.0]),
        of(1.0, 9.0, [8.0, 4.0, 3.0, 2.0, 0.0]),
        of(1.0, 9.0, [f64::INFINITY, 4.0, 3.0, 2.0, 1.0]),
    ];
    insta::assert_snapshot!(said.join("\n"), @"
    arrival NaN: expected minutes of 0 or more
    arrival -1: expected minutes of 0 or more
    deadline 0.5: expected minutes, not before the arrival at 1
    deadline NaN: expected minutes, not before the arrival at 1
    run time 5 on 3g is longer than 4 on 2g: expected none that grows with the slice
    run time 0 on 7g: expected minutes above 0
    run time inf on 1g: expected minutes above 0
    ");
}

#[test]
fn what_cannot_be_a_machine_or_prices_is_refused() {
    let said = ["7|5", "4,4", ""].map(|layouts| {
        SlicedGpus::new(layouts, Power::A100)
            .unwrap_err()
            .to_string()
    });
    insta::assert_snapshot!(said.join("\n"), @"
    layout of GPU 1: `5`: expected sizes of 1, 2, 3, 4 or 7 with commas between them, such as 4,2,1
    layout of GPU 0: 8 compute slices: expected at most 7
    layout of GPU 0: ``: expected sizes of 1, 2, 3, 4 or 7 with commas between them, such as 4,2,1
    ");
    let said = [(0, 1.0), (1, -1.0), (1, f64::NAN)].map(|(gpus, creation)| {
        let error = SlicedGpus::flexible(gpus, Power::A100, creation).unwrap_err();
        error.to_string()
    });
    insta::assert_snapshot!(said.join("\n"), @"
    0 GPUs that are repartitioned in 1 minutes: expected one GPU or more, and minutes of 0 or more
    1 GPUs that are repartitioned in -1 minutes: expected one GPU or more, and minutes of 0 or more
    1 GPUs that are repartitioned in NaN minutes: expected one GPU or more, and minutes of 0 or more
    ");
    let falls = Power::new([40.0, 30.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0]);
    insta::assert_snapshot!(
        falls.unwrap_err().to_string(),
        @"power [40.0, 30.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0]: expected watts that do not fall from 0 to 7 busy slices"
    );
    assert!(Power::A100.is_above_chord() && Power::A100_MANUSCRIPT.is_above_chord());
    let convex = Power::new([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 250.0]).unwrap();
    assert!(!convex.is_above_chord());
    let said = [
        Prices {
            late: f64::NAN,
            ..Prices::default()
        },
        Prices {
            slice: [0.0, 0.0, -1.0, 0.0, 0.0],
            ..Prices::default()
        },
        Prices {
            urgency: 0.0,
            ..Prices::default()
        },
        Prices {
            margin: f64::INFINITY,
            ..Prices::default()
        },
    ]
    .map(|prices| EnergyPlan::new(prices).unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"), @"
    price `late` is NaN: expected a number of 0 or more
    price `slice` is -1: expected a number of 0 or more
    prices `margin` 0.0462 and `urgency` 0: expected a finite margin and an urgency above 0
    prices `margin` inf and `urgency` 1.749: expected a finite margin and an urgency above 0
    ");
}

#[test]
fn sets_of_prices_that_ship_are_read_and_written_without_a_change() {
    for name in PriceFile::names() {
        let file = PriceFile::named(name).unwrap();
        assert_eq!(file.name, name);
        assert_eq!(PriceFile::read(&file.write().unwrap()).unwrap(), file);
        let machine = file.machine.machine(Power::A100).unwrap();
        assert_eq!(machine.gpu_count(), 8);
        assert!(file.plan().unwrap().notes().is_empty());
    }
    // Three of them are constants too.
    for (name, prices, layouts) in [
        (
            "published-layouts",
            Prices::PUBLISHED_LAYOUTS,
            SlicedGpus::PUBLISHED,
        ),
        (
            "searched-layouts",
            Prices::SEARCHED_LAYOUTS,
            SlicedGpus::SEARCHED,
        ),
        (
            "exact-run-times",
            Prices::EXACT_RUN_TIMES,
            SlicedGpus::SEARCHED,
        ),
    ] {
        let file = PriceFile::named(name).unwrap();
        assert_eq!(file.prices, prices, "{name}");
        assert_eq!(file.machine, TunedMachine::Layouts(layouts.to_owned()));
        assert_eq!(file.tuned.range(), TunedFor::default());
    }
    let error = PriceFile::named("cheap").unwrap_err().to_string();
    insta::assert_snapshot!(
        error,
        @"no prices `cheap`: expected published-layouts, searched-layouts, exact-run-times, best-layouts, rough-run-times, tight-deadlines, repartitioned"
    );
}

#[test]
fn files_of_prices_that_say_something_else_are_refused_with_the_key() {
    let good = PriceFile::named("published-layouts")
        .unwrap()
        .write()
        .unwrap();
    let said = [
        ("late = 0.2804", "late = -1.0"),
        ("late = 0.2804", "late = nan"),
        ("late = 0.2804", "late = \"much\""),
        ("late = 0.2804", "lade = 0.2804"),
        ("late = 0.2804\n", ""),
        ("urgency = 2.427", "urgency = 0.0"),
        ("4,2,1 | 4,2,1", "4,2,1 | 4,4"),
        ("[machine]\nlayouts", "[machine]\nlayout"),
        ("load = [0.5, 1.9]", "load = [1.9, 0.5]"),
        ("\"double\"", "\"half\""),
        ("sigma = 0.0", "sigma = inf"),
        ("name = ", ""),
    ]
    .map(|(from, to)| {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        PriceFile::read(&text).unwrap_err().to_string()
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    price `late` is -1: expected a number of 0 or more
    price `late` is NaN: expected a number of 0 or more
    prices: TOML parse error at line 7, column 8
      |
    7 | late = "much"
      |        ^^^^^^
    invalid type: string "much", expected f64

    prices: TOML parse error at line 7, column 1
      |
    7 | lade = 0.2804
      | ^^^^
    unknown field `lade`, expected one of `slice`, `late`, `queue`, `urgency`, `length`, `lost`, `margin`, `energy`, `floor`, `doubt`, `overdue`, `placement`

    prices: TOML parse error at line 5, column 1
      |
    5 | [prices]
      | ^^^^^^^^
    missing field `late`

    prices `margin` 0.0332 and `urgency` 0: expected a finite margin and an urgency above 0
    layout of GPU 5: 8 compute slices: expected at most 7
    prices: TOML parse error at line 20, column 1
       |
    20 | layout = "7 | 7 | 4,3 | 4,3 | 4,2,1 | 4,2,1 | 2,2,2,1 | 2,2,2,1"
       | ^^^^^^
    unknown variant `layout`, expected `layouts` or `repartitioned`

    tuned for `load` 1.9 to 0.5: expected numbers of 0 or more that do not fall
    prices: `tuned.arithmetic` is `half`: expected double or single
    prices: `tuned` has inf: expected a number of 0 or more
    prices: TOML parse error at line 1, column 20
      |
    1 | "published-layouts"
      |                    ^
    key with no value, expected `=`
    "#);
}

#[test]
fn times_of_32_bits_are_rounded_at_every_step() {
    let job = SliceJob::new(0.0, 9.0, [0.1; 5]).unwrap();
    let mut state = State::new(machine("7")).arithmetic(Arithmetic::Single);
    state.advance(1000.0);
    assert_eq!(state.finish_of(&job, 4), f64::from(1000.1_f32));
    assert_eq!(State::new(machine("7")).finish_of(&job, 4), 0.1);
}

#[test]
fn the_printed_bound_is_wrong_where_its_proof_is() {
    let of = |p1: f64, p7: f64| {
        let middle = f64::midpoint(p1, p7);
        SliceJob::new(0.0, 100.0, [p1, middle, middle, middle, p7]).unwrap()
    };
    // Seven slices run the job eight times as fast as one: 250 W for a minute is enough.
    let fast = [of(8.0, 1.0)];
    assert!(printed_energy_bound(&fast, 1, &Power::A100) > 285.0);
    assert_eq!(energy_bound(&fast, 1, &Power::A100), Some(250.0));
    // Two GPUs, of which one may be off: the bound is for GPUs that are on.
    let one = [of(7.0, 1.0)];
    assert_eq!(printed_energy_bound(&one, 2, &Power::A100), 290.0);
    assert_eq!(energy_bound(&one, 1, &Power::A100), Some(250.0));
    // Power below the chord: a slice of 1 takes seven minutes at 1 W.
    let convex = Power::new([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 250.0]).unwrap();
    assert_eq!(printed_energy_bound(&one, 1, &convex), 250.0);
    assert_eq!(energy_bound(&one, 1, &convex), None);
    // Arrivals count: the last job cannot end before it came.
    let late = SliceJob::new(10.0, 20.0, [7.0, 3.5, 2.5, 2.0, 1.0]).unwrap();
    assert_eq!(
        energy_bound(&[late], 1, &Power::A100),
        Some(11.0 * 40.0 + 210.0)
    );
}
