//! Days of jobs with deadlines: the published days and table, and the loop against closed forms and
//! a second implementation.

use crate::real_data::real_data;
use std::io::Read;

use mapa_system_energy::{
    Arithmetic, Booking, EarliestFinish, EnergyPlan, Fit, LargestFirst, LeastCost, MeanFinish,
    Power, Prices, RandomSlice, Rule, SIZES, SliceJob, SlicedGpus, SlotPlacement, SmallestFirst,
    Start, State, energy_bound, printed_energy_bound,
};
use mapa_system_energy_sim::{
    Draw, PUBLISHED_SEEDS, Totals, published_day, published_draws, run, run_as, run_preemptive,
};
use proptest::prelude::*;

fn machine(layouts: &str) -> SlicedGpus {
    SlicedGpus::new(layouts, Power::A100).unwrap()
}

fn day(jobs: &[SliceJob], layouts: &str, rule: &mut dyn Rule) -> Totals {
    run(jobs, State::new(machine(layouts)), rule).unwrap()
}

/// The mean and the standard deviation over days.
fn spread(days: &[Totals], of: impl Fn(&Totals) -> f64) -> [f64; 2] {
    let values: Vec<f64> = days.iter().map(of).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / n;
    [mean, variance.sqrt()]
}

#[test]
fn the_published_table_is_reproduced_to_every_digit() {
    let table = |rule: &dyn Fn(u32) -> Box<dyn Rule>| {
        let days: Vec<Totals> = PUBLISHED_SEEDS
            .iter()
            .map(|&seed| {
                let jobs = published_day(seed).unwrap();
                let state =
                    State::new(machine(SlicedGpus::PUBLISHED)).arithmetic(Arithmetic::Single);
                run(&jobs, state, &mut *rule(seed)).unwrap()
            })
            .collect();
        let [late, tardy, energy] = [
            spread(&days, |totals| 100.0 * totals.late_share()),
            spread(&days, Totals::mean_tardiness),
            spread(&days, |totals| totals.published_watt_minutes / 1e6),
        ];
        format!(
            "{:.1} ± {:.1} | {:.2} ± {:.2} | {:.2} ± {:.2}",
            late[0], late[1], tardy[0], tardy[1], energy[0], energy[1]
        )
    };
    let random = |seed| Box::new(RandomSlice::new(published_draws(seed).unwrap())) as Box<dyn Rule>;
    assert_eq!(
        table(&|_| Box::new(LargestFirst)),
        "42.7 ± 5.7 | 1.02 ± 0.73 | 2.51 ± 0.05"
    );
    assert_eq!(
        table(&|_| Box::new(MeanFinish)),
        "43.1 ± 5.6 | 1.04 ± 0.63 | 2.48 ± 0.05"
    );
    assert_eq!(
        table(&|_| Box::new(SmallestFirst)),
        "54.3 ± 4.7 | 1.21 ± 0.58 | 2.42 ± 0.05"
    );
    assert_eq!(table(&random), "50.1 ± 4.7 | 1.13 ± 0.57 | 2.49 ± 0.04");
}

#[test]
fn published_days_are_those_of_the_shared_files() {
    let Some(data) = real_data() else {
        return;
    };
    for seed in PUBLISHED_SEEDS {
        let path = data.join(format!("energy/day_{seed:05}.csv.gz"));
        let mut text = String::new();
        flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap())
            .read_to_string(&mut text)
            .unwrap();
        let jobs = published_day(seed).unwrap();
        let rows: Vec<Vec<f64>> = text
            .lines()
            .skip(1)
            .map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect())
            .collect();
        assert_eq!(rows.len(), jobs.len());
        for (row, job) in rows.iter().zip(&jobs) {
            assert_eq!(row[..2], [job.arrives(), job.deadline()]);
            assert_eq!(row[2..], job.minutes());
        }
    }
}

/// What the published days come to in one number each, for machines without the shared files.
#[test]
fn published_days_have_these_digests() {
    let digests = PUBLISHED_SEEDS.map(|seed| {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for job in published_day(seed).unwrap() {
            for number in [job.arrives(), job.deadline()]
                .into_iter()
                .chain(job.minutes())
            {
                for byte in (number as f32).to_le_bytes() {
                    hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
                }
            }
        }
        format!("{hash:016x}")
    });
    assert_eq!(digests, DIGESTS);
}

const DIGESTS: [&str; 10] = [
    "488d5c8979ee92cd",
    "b51379a98c5869ba",
    "40872bf7c9d61560",
    "8f5e499c76ca5cbd",
    "c1075df8d005ad24",
    "feb3d7cdee949804",
    "ef5375603ff47392",
    "c1c43ef16784192b",
    "7a0e1f97a0355f67",
    "5f3e16029b122063",
];

#[test]
fn one_job_draws_what_its_slice_does_and_the_rest_idles() {
    let minutes = [8.0, 5.0, 4.0, 3.0, 2.0];
    for (layouts, size, p) in [
        ("1|7", 1, 8.0),
        ("2|7", 2, 5.0),
        ("3", 3, 4.0),
        ("4|7|7", 4, 3.0),
        ("7", 7, 2.0),
    ] {
        let job = SliceJob::new(1.5, 2.5, minutes).unwrap();
        let gpus = layouts.split('|').count() as f64;
        let own = day(&[job], layouts, &mut SmallestFirst);
        let energy = 40.0 * gpus * 1.5 + Power::A100.watts(size) * p + 40.0 * (gpus - 1.0) * p;
        assert_eq!(own.watt_minutes, energy, "{layouts}");
        assert_eq!((own.late, own.tardiness, own.end), (1, p - 1.0, 1.5 + p));
        // The published sum counts the time before the end at the power after it.
        assert_eq!(own.published_watt_minutes, 40.0 * gpus * (1.5 + p));
    }
}

#[test]
fn two_jobs_on_a_gpu_draw_more_only_while_they_overlap() {
    let of = |arrives| SliceJob::new(arrives, 100.0, [10.0, 6.0, 5.0, 4.0, 3.0]).unwrap();
    let own = day(&[of(0.0), of(2.0)], "4,3", &mut LargestFirst);
    let power = |busy| Power::A100.watts(busy);
    assert_eq!(
        own.watt_minutes,
        2.0 * power(4) + 2.0 * power(7) + 3.0 * power(3)
    );
    assert_eq!((own.late, own.end), (0, 7.0));
    assert_eq!(own.et(0.0), 0.0);
    assert_eq!(own.et(1.0), own.watt_minutes / 2.0);
}

/// The same day without an event queue: at each moment at which something happens, found by a visit
/// to everything, ends are booked, then arrivals, then starts of the head by a visit to all slices.
fn second(
    jobs: &[SliceJob],
    machine: &SlicedGpus,
    choose: impl Fn(&SliceJob, f64, &[bool]) -> Option<usize>,
) -> [f64; 3] {
    let sizes = machine.sizes();
    let class = |slice: usize| {
        SIZES
            .iter()
            .position(|&candidate| candidate == sizes[slice])
            .unwrap()
    };
    let mut ends: Vec<Option<(f64, usize)>> = vec![None; sizes.len()];
    let mut state = vec![0_u8; jobs.len()];
    let mut spans: Vec<(f64, f64, usize)> = Vec::new();
    let [mut late, mut tardy] = [0.0, 0.0];
    let mut now = 0.0_f64;
    loop {
        // An arrival comes before an end: the slice is not free for it yet. It makes no difference
        // to a head that starts after both, but for jobs that would start in between.
        for is_end in [false, true] {
            if is_end {
                for (slice, end) in ends.iter_mut().enumerate() {
                    if let Some((at, job)) = *end
                        && at <= now + 1e-9
                    {
                        *end = None;
                        spans.push((at - jobs[job].minutes()[class(slice)], at, slice));
                        late += f64::from(u8::from(at > jobs[job].deadline()));
                        tardy += (at - jobs[job].deadline()).max(0.0);
                    }
                }
            }
            for (number, job) in state.iter_mut().zip(jobs) {
                if *number == 0 && job.arrives() <= now {
                    *number = 1;
                }
            }
            loop {
                let waiting = (0..jobs.len()).filter(|&number| state[number] == 1);
                let head =
                    waiting.min_by(|&a, &b| jobs[a].deadline().total_cmp(&jobs[b].deadline()));
                let Some(head) = head else { break };
                let free: Vec<bool> = ends.iter().map(Option::is_none).collect();
                let Some(slice) = choose(&jobs[head], now, &free) else {
                    break;
                };
                ends[slice] = Some((now + jobs[head].minutes()[class(slice)], head));
                state[head] = 2;
            }
        }
        let arrivals = (0..jobs.len())
            .filter(|&number| state[number] == 0)
            .map(|number| jobs[number].arrives());
        let next = arrivals
            .chain(ends.iter().flatten().map(|end| end.0))
            .fold(f64::INFINITY, f64::min);
        if next.is_infinite() {
            break;
        }
        now = next;
    }
    // Energy by GPU, over the moments at which any of its spans begins or ends.
    let last = spans.iter().map(|span| span.1).fold(0.0, f64::max);
    let mut energy = 0.0;
    for gpu in 0..machine.gpu_count() {
        let own: Vec<&(f64, f64, usize)> = spans
            .iter()
            .filter(|span| machine.gpus()[span.2] as usize == gpu)
            .collect();
        let mut cuts: Vec<f64> = own
            .iter()
            .flat_map(|row| [row.0, row.1])
            .chain([0.0, last])
            .collect();
        cuts.sort_by(f64::total_cmp);
        for pair in cuts.windows(2) {
            let middle = f64::midpoint(pair[0], pair[1]);
            let busy: u8 = own
                .iter()
                .filter(|row| row.0 < middle && middle < row.1)
                .map(|row| sizes[row.2])
                .sum();
            energy += Power::A100.watts(busy) * (pair[1] - pair[0]);
        }
    }
    [late, tardy, energy]
}

#[test]
fn a_second_implementation_without_an_event_queue_finds_the_same_day() {
    for seed in 0..6 {
        let draw = Draw {
            most: 150,
            from: 540.0,
            ..Draw::default()
        };
        let jobs = draw.jobs(seed).unwrap();
        let machine = machine(SlicedGpus::PUBLISHED);
        let sizes = machine.sizes().to_vec();
        let largest = |_: &SliceJob, _: f64, free: &[bool]| {
            (0..free.len())
                .filter(|&number| free[number])
                .max_by_key(|&number| (sizes[number], std::cmp::Reverse(number)))
        };
        let fit = |job: &SliceJob, now: f64, free: &[bool]| {
            let class = |number: usize| {
                SIZES
                    .iter()
                    .position(|&size| size == sizes[number])
                    .unwrap()
            };
            let in_time = (0..free.len()).filter(|&number| {
                free[number] && now + job.minutes()[class(number)] <= job.deadline()
            });
            in_time
                .min_by_key(|&number| (sizes[number], number))
                .or_else(|| largest(job, now, free))
        };
        for (totals, other) in [
            (
                day(&jobs, SlicedGpus::PUBLISHED, &mut LargestFirst),
                second(&jobs, &machine, largest),
            ),
            (
                day(&jobs, SlicedGpus::PUBLISHED, &mut Fit::default()),
                second(&jobs, &machine, fit),
            ),
        ] {
            assert_eq!(totals.late as f64, other[0]);
            assert!(
                (totals.tardiness - other[1]).abs() < 1e-6 * (1.0 + other[1]),
                "{totals:?} {other:?}"
            );
            assert!(
                (totals.watt_minutes / other[2] - 1.0).abs() < 1e-9,
                "{totals:?} {other:?}"
            );
        }
    }
}

/// One whole GPU is a queue with one server. With deadlines at arrival plus run time, tardiness is
/// the wait: for equal jobs that of M/D/1, ρp / (2 (1 − ρ)).
#[test]
fn on_one_slice_the_mean_tardiness_is_the_wait_of_m_d_1() {
    let (p, load) = (1.0, 0.7);
    let mut gaps = mapa_sim::stream(11, "energy test");
    let mut at = 0.0;
    let jobs: Vec<SliceJob> = (0..400_000)
        .map(|_| {
            let one: f64 = rand_distr::Distribution::<f64>::sample(&rand_distr::Exp1, &mut gaps);
            at += one * p / load;
            SliceJob::new(at, at + p, [p; 5]).unwrap()
        })
        .collect();
    let own = day(&jobs, "7", &mut LargestFirst);
    let wait = load * p / (2.0 * (1.0 - load));
    assert!(
        (own.mean_tardiness() / wait - 1.0).abs() < 0.03,
        "{} {wait}",
        own.mean_tardiness()
    );
}

#[test]
fn rules_that_must_agree_do() {
    for seed in 0..4 {
        let jobs = Draw::default().jobs(seed).unwrap();
        let largest = day(&jobs, SlicedGpus::PUBLISHED, &mut LargestFirst);
        let equal = |totals: Totals, other: Totals| {
            assert_eq!(
                (totals.late, totals.tardiness, totals.watt_minutes),
                (other.late, other.tardiness, other.watt_minutes)
            );
        };
        // Earliest finish is the largest slice where no run time grows with size.
        equal(
            day(&jobs, SlicedGpus::PUBLISHED, &mut EarliestFinish),
            largest,
        );
        // Fit is largest-first where nothing can be in time.
        let lost: Vec<SliceJob> = jobs
            .iter()
            .map(|job| SliceJob::new(job.arrives(), job.arrives(), job.minutes()).unwrap())
            .collect();
        equal(
            day(&lost, SlicedGpus::PUBLISHED, &mut Fit::default()),
            day(&lost, SlicedGpus::PUBLISHED, &mut LargestFirst),
        );
        // Smallest-first is largest-first where all slices are alike.
        let alike = "2,2,2|2,2,2|2,2,2|2,2,2";
        equal(
            day(&jobs, alike, &mut SmallestFirst),
            day(&jobs, alike, &mut LargestFirst),
        );
    }
}

#[test]
fn longer_jobs_at_longer_gaps_are_the_same_day_in_slow_motion() {
    let jobs = Draw::default().jobs(3).unwrap();
    let scaled: Vec<SliceJob> = jobs
        .iter()
        .map(|job| {
            SliceJob::new(
                job.arrives() * 4.0,
                job.deadline() * 4.0,
                job.minutes().map(|p| p * 4.0),
            )
            .unwrap()
        })
        .collect();
    let rules: [fn() -> Box<dyn Rule>; 4] = [
        || Box::new(LargestFirst),
        || Box::new(SmallestFirst),
        || Box::new(Fit::fullest()),
        || Box::new(MeanFinish),
    ];
    for rule in rules {
        let one = day(&jobs, SlicedGpus::PUBLISHED, &mut *rule());
        let four = day(&scaled, SlicedGpus::PUBLISHED, &mut *rule());
        assert_eq!(one.late, four.late);
        assert_eq!(one.tardiness * 4.0, four.tardiness);
        assert_eq!(one.watt_minutes * 4.0, four.watt_minutes);
    }
}

#[test]
fn the_plan_ends_every_job_even_where_too_many_arrive() {
    for prices in [
        Prices::PUBLISHED_LAYOUTS,
        Prices::SEARCHED_LAYOUTS,
        Prices::EXACT_RUN_TIMES,
    ] {
        let draw = Draw {
            per_minute: 24.0,
            ..Draw::default()
        };
        let jobs = draw.jobs(5).unwrap();
        let own = day(
            &jobs,
            SlicedGpus::SEARCHED,
            &mut EnergyPlan::new(prices).unwrap(),
        );
        assert_eq!(own.jobs, jobs.len());
        assert!(own.end < 1600.0, "{own:?}");
    }
}

#[test]
fn on_fresh_days_fit_beats_largest_first_and_the_plan_beats_both() {
    let mut gains: [Vec<f64>; 3] = Default::default();
    for seed in 0..10 {
        let jobs = Draw::default().jobs(seed).unwrap();
        let largest = day(&jobs, SlicedGpus::PUBLISHED, &mut LargestFirst);
        let fit = day(&jobs, SlicedGpus::PUBLISHED, &mut Fit::default());
        let least = day(&jobs, SlicedGpus::PUBLISHED, &mut LeastCost::default());
        let plan = day(
            &jobs,
            SlicedGpus::PUBLISHED,
            &mut EnergyPlan::new(Prices::PUBLISHED_LAYOUTS).unwrap(),
        );
        let free = day(&jobs, SlicedGpus::SEARCHED, &mut EnergyPlan::default());
        assert!(fit.watt_minutes < largest.watt_minutes && least.watt_minutes < fit.watt_minutes);
        assert!(
            plan.watt_minutes < least.watt_minutes
                && plan.tardiness < largest.tardiness.min(fit.tardiness)
        );
        for (gain, totals) in gains.iter_mut().zip([fit, plan, free]) {
            gain.push(100.0 * (largest.late_share() - totals.late_share()));
        }
    }
    let [fit, plan, free] = gains.map(|values| values.iter().sum::<f64>() / 10.0);
    assert!(
        fit > 4.0 && plan > 26.0 && free > 31.0,
        "{fit} {plan} {free}"
    );
}

/// A rule that never starts a job, and one that starts a job where another runs.
struct Wrong(Option<Start>);

impl Rule for Wrong {
    fn name(&self) -> &str {
        "wrong"
    }

    fn choose(&mut self, _: &State) -> Option<Start> {
        self.0
    }
}

#[test]
fn a_rule_that_stalls_or_starts_what_is_not_there_is_an_error() {
    let jobs = Draw {
        most: 3,
        ..Draw::default()
    }
    .jobs(1)
    .unwrap();
    let of = |rule: &mut dyn Rule| {
        run(&jobs, State::new(machine("7")), rule)
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(
        of(&mut Wrong(None)),
        @"rule `wrong` starts nothing while 3 jobs wait and nothing runs: expected a start"
    );
    let error = of(&mut Wrong(Some(Start {
        waiting: 0,
        slice: 1,
    })));
    insta::assert_snapshot!(error, @"start: slice 1: expected one below 1");
    let error = of(&mut Wrong(Some(Start {
        waiting: 7,
        slice: 0,
    })));
    insta::assert_snapshot!(error, @"start: position 7 of the queue: expected one below 1");
    let mut busy = State::new(machine("7"));
    busy.arrive(0, jobs[0]);
    insta::assert_snapshot!(
        run(&jobs, busy, &mut LargestFirst).unwrap_err().to_string(),
        @"a state with 0 jobs that run and 1 that wait: expected none"
    );
    let said = [
        Draw {
            per_minute: 0.0,
            ..Draw::default()
        },
        Draw {
            slack: [0.5, 1.0],
            ..Draw::default()
        },
        Draw {
            slack: [3.0, 2.0],
            ..Draw::default()
        },
        Draw {
            from: f64::NAN,
            ..Draw::default()
        },
        Draw {
            per_minute: 1e9,
            ..Draw::default()
        },
    ]
    .map(|wrong| wrong.jobs(1).unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"), @"
    a day of 0 jobs a minute from minute 0, slack 2 to 4: expected a rate above 0, and a slack of 1 or more that does not fall
    a day of 20 jobs a minute from minute 0, slack 0.5 to 1: expected a rate above 0, and a slack of 1 or more that does not fall
    a day of 20 jobs a minute from minute 0, slack 3 to 2: expected a rate above 0, and a slack of 1 or more that does not fall
    a day of 20 jobs a minute from minute NaN, slack 2 to 4: expected a rate above 0, and a slack of 1 or more that does not fall
    a day of 2.9e11 jobs: expected at most 1e7
    ");
}

#[test]
fn tight_days_differ_from_relaxed_ones_in_deadlines_alone() {
    let (relaxed, tight) = (
        Draw::default().jobs(9).unwrap(),
        Draw::tight().jobs(9).unwrap(),
    );
    assert_eq!(relaxed.len(), tight.len());
    for (a, b) in relaxed.iter().zip(&tight) {
        assert_eq!((a.arrives(), a.minutes()), (b.arrives(), b.minutes()));
        let slack = |slice_job: &SliceJob| {
            (slice_job.deadline() - slice_job.arrives()) / slice_job.fastest()
        };
        assert!(
            (1.0 - 1e-6..1.5 + 1e-6).contains(&slack(b))
                && (2.0 - 1e-6..4.0 + 1e-6).contains(&slack(a))
        );
        assert!((slack(a) - 2.0 - 4.0 * (slack(b) - 1.0)).abs() < 1e-6);
    }
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(32))]
    #[test]
    fn every_rule_ends_every_job_and_draws_what_the_chord_demands(seed in 0..1000_u64, per_minute in 5.0..40.0_f64) {
        let jobs = Draw { per_minute, most: 120, ..Draw::default() }.jobs(seed).unwrap();
        let rules: [Box<dyn Rule>; 6] = [
            Box::new(LargestFirst), Box::new(SmallestFirst), Box::new(MeanFinish), Box::new(Fit::fullest()),
            Box::new(LeastCost::default()), Box::new(EnergyPlan::default()),
        ];
        for mut rule in rules {
            let own = day(&jobs, "4,3|4,2,1", &mut *rule);
            let bound = energy_bound(&jobs, 2, &Power::A100).unwrap();
            prop_assert!(own.watt_minutes >= bound * (1.0 - 1e-9), "{} {} {bound}", rule.name(), own.watt_minutes);
            prop_assert!(printed_energy_bound(&jobs, 2, &Power::A100) <= bound * (1.0 + 1e-9));
            prop_assert!(own.published_watt_minutes > 0.0 && own.late <= own.jobs);
        }
    }
}

#[test]
fn jobs_run_for_their_true_time_and_not_for_the_reported_one() {
    let of = |scale: f64| {
        SliceJob::new(0.0, 5.0, [10.0, 8.0, 7.0, 6.0, 4.0].map(|p| p * scale)).unwrap()
    };
    let state = || State::new(machine("7"));
    let own = run_as(&[of(2.0)], &[of(1.0)], state(), &mut Fit::default()).unwrap();
    assert_eq!((own.late, own.tardiness, own.end), (1, 3.0, 8.0));
    let other = SliceJob::new(0.0, 6.0, [9.0; 5]).unwrap();
    let said = [vec![], vec![other]].map(|told| {
        let error = run_as(&[of(1.0)], &told, state(), &mut Fit::default()).unwrap_err();
        error.to_string()
    });
    insta::assert_snapshot!(said.join("\n"), @"
    jobs and what is told of them: expected lists of one length, with the same arrivals and deadlines
    jobs and what is told of them: expected lists of one length, with the same arrivals and deadlines
    ");
}

#[test]
fn placements_and_what_exists_together_are_those_of_the_table_of_an_a100() {
    let gpu = mapa_topologies::mig::named("a100-40gb").unwrap();
    let model = gpu.model(mapa_topologies::mig::Offer::PLAIN).unwrap();
    let of = |instance: &mapa_core::mig::Instance| SlotPlacement {
        size: model.profile(instance.profile).size.compute,
        start: instance.start,
    };
    let table: Vec<SlotPlacement> = model.instances().iter().map(of).collect();
    assert_eq!(table.len(), SlotPlacement::ALL.len());
    for placement in SlotPlacement::ALL {
        let at = table.iter().position(|other| *other == placement).unwrap();
        let profile = model.profile(model.instances()[at].profile);
        assert_eq!(profile.size.memory, placement.slots());
    }
    // Every set of placements without an overlap is a layout, and no other is.
    let mut sets = std::collections::BTreeSet::new();
    for bits in 1_u32..1 << 14 {
        let mut own: Vec<SlotPlacement> = (0..14)
            .filter(|at| bits >> at & 1 == 1)
            .map(|at| SlotPlacement::ALL[at])
            .collect();
        let apart = own
            .iter()
            .enumerate()
            .all(|(at, a)| own[..at].iter().all(|b| !a.overlaps(*b)));
        if apart {
            assert!(own.iter().map(|placement| placement.size).sum::<u8>() <= 7);
            own.sort_by_key(|placement| (placement.start, placement.size));
            sets.insert(
                own.iter()
                    .map(|placement| (placement.start, placement.size))
                    .collect::<Vec<_>>(),
            );
        }
    }
    let layouts = model.layouts().map(|layout| {
        let mut own: Vec<_> = layout.instances().iter().map(of).collect();
        own.sort_by_key(|placement| (placement.start, placement.size));
        own.iter()
            .map(|placement| (placement.start, placement.size))
            .collect::<Vec<_>>()
    });
    assert_eq!(layouts.collect::<std::collections::BTreeSet<_>>(), sets);
}

#[test]
fn days_end_where_gpus_are_repartitioned_and_draw_what_the_chord_demands() {
    let rules: [fn() -> Box<dyn Rule>; 5] = [
        || Box::new(LargestFirst),
        || Box::new(Fit::fullest()),
        || Box::new(EnergyPlan::default().booking(Booking::None)),
        || Box::new(EnergyPlan::default()),
        || Box::new(EnergyPlan::default().booking(Booking::Slots)),
    ];
    let jobs = Draw::default().jobs(4).unwrap();
    for rule in rules {
        let mut rule = rule();
        let machine = SlicedGpus::flexible(8, Power::A100, 4.0 / 60.0).unwrap();
        let own = run(&jobs, State::new(machine), &mut *rule).unwrap();
        assert!(own.jobs == jobs.len() && own.end < 1600.0, "{own:?}");
        assert!(own.watt_minutes >= energy_bound(&jobs, 8, &Power::A100).unwrap());
        assert!(
            own.creations >= 8 && own.creations < jobs.len() as u64,
            "{own:?}"
        );
    }
}

#[test]
fn an_instance_that_exists_is_used_without_delay() {
    let of = |arrives| SliceJob::new(arrives, 100.0, [10.0, 8.0, 7.0, 6.0, 4.0]).unwrap();
    let flexible = || State::new(SlicedGpus::flexible(1, Power::A100, 0.5).unwrap());
    let own = run(&[of(0.0), of(9.0)], flexible(), &mut LargestFirst).unwrap();
    assert_eq!((own.creations, own.end), (1, 13.0));
    assert_eq!(own.watt_minutes, 8.5 * 250.0 + 4.5 * 40.0);
}

/// The preemptive day without an event queue: jobs lose a share of their work between events, and
/// the earliest deadlines get the largest slices at each.
fn second_preemptive(jobs: &[SliceJob], machine: &SlicedGpus) -> [f64; 3] {
    let mut slices: Vec<usize> = (0..machine.sizes().len()).collect();
    slices.sort_by_key(|&slice| (std::cmp::Reverse(machine.sizes()[slice]), slice));
    let class = |slice: usize| {
        let size = machine.sizes()[slice];
        SIZES
            .iter()
            .position(|&candidate| candidate == size)
            .unwrap()
    };
    let mut left = vec![1.0_f64; jobs.len()];
    let [mut late, mut tardy, mut energy] = [0.0; 3];
    let mut now = 0.0_f64;
    loop {
        let arrived = |number: &usize| jobs[*number].arrives() <= now && left[*number] > 0.0;
        let mut here: Vec<usize> = (0..jobs.len()).filter(arrived).collect();
        here.sort_by(|&a, &b| jobs[a].deadline().total_cmp(&jobs[b].deadline()));
        let placed: Vec<(usize, usize)> = here.into_iter().zip(slices.iter().copied()).collect();
        let minutes = |&(job, slice): &(usize, usize)| jobs[job].minutes()[class(slice)];
        let future = jobs.iter().map(SliceJob::arrives).filter(|&at| at > now);
        let ends: Vec<f64> = placed
            .iter()
            .map(|pair| now + left[pair.0] * minutes(pair))
            .collect();
        let next = future
            .chain(ends.iter().copied())
            .fold(f64::INFINITY, f64::min);
        if next.is_infinite() {
            return [late, tardy, energy];
        }
        for gpu in 0..machine.gpu_count() {
            let own = placed
                .iter()
                .filter(|pair| machine.gpus()[pair.1] as usize == gpu);
            let busy: u8 = own.map(|pair| machine.sizes()[pair.1]).sum();
            energy += Power::A100.watts(busy) * (next - now);
        }
        for (pair, end) in placed.iter().zip(ends) {
            if end <= next + 1e-9 {
                let by = next - jobs[pair.0].deadline();
                late += f64::from(u8::from(by > 0.0));
                tardy += by.max(0.0);
                left[pair.0] = 0.0;
            } else {
                left[pair.0] -= (next - now) / minutes(pair);
            }
        }
        now = next;
    }
}

#[test]
fn a_second_implementation_finds_the_same_preemptive_day() {
    for seed in 0..6 {
        let draw = Draw {
            most: 150,
            from: 540.0,
            ..if seed % 2 == 0 {
                Draw::default()
            } else {
                Draw::tight()
            }
        };
        let jobs = draw.jobs(seed).unwrap();
        let machine = machine(SlicedGpus::PUBLISHED);
        let own = run_preemptive(&jobs, State::new(machine.clone()), &mut LargestFirst).unwrap();
        let other = second_preemptive(&jobs, &machine);
        assert_eq!(own.late as f64, other[0]);
        assert!((own.tardiness - other[1]).abs() < 1e-6 * (1.0 + other[1]));
        assert!((own.watt_minutes / other[2] - 1.0).abs() < 1e-9);
        assert!(own.published_watt_minutes < own.watt_minutes);
    }
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(64))]
    /// On one slice, the earliest deadline with preemption is optimal: it is late only if all are.
    #[test]
    fn on_one_slice_no_job_is_late_with_preemption_that_is_not_without(
        seed in 0..1000_u64, per_minute in 0.5..2.5_f64,
    ) {
        let draw = Draw { per_minute, most: 12, slack: [1.0, 6.0], ..Draw::default() };
        let jobs = draw.jobs(seed).unwrap();
        let plain = day(&jobs, "7", &mut LargestFirst);
        let own = run_preemptive(&jobs, State::new(machine("7")), &mut LargestFirst).unwrap();
        prop_assert!(plain.late > 0 || own.late == 0);
        prop_assert!((own.watt_minutes / plain.watt_minutes - 1.0).abs() < 1e-9);
        prop_assert!((own.end - plain.end).abs() < 1e-6);
        let flexible = State::new(SlicedGpus::flexible(1, Power::A100, 0.1).unwrap());
        let flexible = run_preemptive(&jobs, flexible, &mut LargestFirst).unwrap();
        prop_assert_eq!(flexible.creations, 1);
        prop_assert!((flexible.end - plain.end).abs() < 0.2);
    }
}
