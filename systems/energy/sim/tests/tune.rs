//! Search for prices: the same whoever judges, however often it is interrupted; and plans that watch
//! whether what arrives is what their prices were tuned for.

use mapa_system_energy::{
    EnergyPlan, Fit, Power, PriceFile, Prices, SliceJob, SlicedGpus, SlotPlacement, State,
    TunedFor, TunedMachine, Unsuited,
};
use mapa_system_energy_sim::{
    Draw, PriceCandidate, Totals, TuneDay, TuneObjective, TuneSettings, Tuning, Yardstick, run,
    seen_on, wrong_run_times,
};

fn start(layouts: &str) -> PriceCandidate {
    PriceCandidate {
        prices: Prices::default(),
        machine: TunedMachine::Layouts(layouts.to_owned()),
    }
}

fn days() -> Vec<TuneDay> {
    let morning = Draw {
        per_minute: 5.0,
        from: 540.0,
        most: 60,
        ..Draw::default()
    };
    let day = |seed| TuneDay::exact(morning.jobs(seed).unwrap());
    (1..3).map(day).collect()
}

const SHORT: TuneSettings = TuneSettings {
    rounds: 3,
    samples: 8,
    elite: 3,
    spread: 1.0,
    layouts: true,
    seed: 5,
};

fn advance(tuning: &mut Tuning, days: &[TuneDay], yardstick: &Yardstick) {
    let score = |candidate: &PriceCandidate| {
        candidate.score(days, &TuneObjective::default(), yardstick, Power::A100)
    };
    let scores: Vec<f64> = tuning
        .candidates()
        .iter()
        .map(|candidate| score(candidate).unwrap())
        .collect();
    tuning.advance(&scores).unwrap();
}

#[test]
fn a_search_goes_on_from_its_text_at_every_step_and_never_gets_worse() {
    let days = days();
    let machine = SlicedGpus::new("7|4,3", Power::A100).unwrap();
    let yardstick = Yardstick::of(&days, &machine).unwrap();
    let mut whole = Tuning::new(start("7|4,3"), SHORT).unwrap();
    let mut steps = 0;
    let mut best = f64::INFINITY;
    while !whole.is_done() {
        let mut read = Tuning::read(&whole.write().unwrap()).unwrap();
        assert_eq!(read, whole);
        assert_eq!(read.candidates(), whole.candidates());
        advance(&mut read, &days, &yardstick);
        advance(&mut whole, &days, &yardstick);
        assert_eq!(read, whole);
        let own = whole.best().unwrap().score;
        assert!(own <= best, "{own} {best}");
        best = own;
        steps += 1;
        assert!(steps < 60, "{}", whole.doing());
    }
    // Two phases of prices, and each GPU at least once.
    assert!(steps >= 3 + 2 + 3);
    assert_eq!(whole.history().len(), steps);
    assert!(whole.candidates().is_empty());
    let judged = whole.best().unwrap();
    let again = judged
        .candidate
        .score(&days, &TuneObjective::default(), &yardstick, Power::A100);
    assert_eq!(again.unwrap(), judged.score);
    let first = start("7|4,3").score(&days, &TuneObjective::default(), &yardstick, Power::A100);
    assert!(judged.score <= first.unwrap());
}

#[test]
fn the_layouts_that_are_tried_are_all_there_are() {
    let layouts = SlotPlacement::layouts();
    assert_eq!(layouts.len(), 14);
    let gpu = mapa_topologies::mig::named("a100-40gb").unwrap();
    let model = gpu.model(mapa_topologies::mig::Offer::PLAIN).unwrap();
    let sizes = model.maximal_layouts().map(|maximal_layout| {
        let instances = maximal_layout.instances().iter();
        let mut sizes: Vec<u8> = instances
            .map(|instance| model.profile(instance.profile).size.compute)
            .collect();
        sizes.sort_by_key(|&size| std::cmp::Reverse(size));
        sizes
    });
    let expected: std::collections::BTreeSet<Vec<u8>> = sizes.collect();
    assert_eq!(
        layouts
            .iter()
            .cloned()
            .collect::<std::collections::BTreeSet<_>>(),
        expected
    );
    // In the step of a GPU each is a candidate once.
    let mut tuning = Tuning::new(start("7|4,3"), TuneSettings { rounds: 1, ..SHORT }).unwrap();
    tuning.advance(&[1.0; 8]).unwrap();
    let candidates = tuning.candidates();
    assert_eq!(candidates.len(), 14);
    assert_eq!(
        candidates[0].machine,
        TunedMachine::Layouts("7 | 4,3".to_owned())
    );
}

#[test]
fn what_cannot_be_a_search_is_refused() {
    let wrong = |settings: TuneSettings| Tuning::new(start("7"), settings).unwrap_err().to_string();
    insta::assert_snapshot!(
        wrong(TuneSettings { rounds: 0, ..SHORT }),
        @"tune: 0 rounds of 8 samples with an elite of 3: expected a round or more, an elite of 2 or more, and no fewer samples"
    );
    insta::assert_snapshot!(
        wrong(TuneSettings { elite: 9, ..SHORT }),
        @"tune: 3 rounds of 8 samples with an elite of 9: expected a round or more, an elite of 2 or more, and no fewer samples"
    );
    insta::assert_snapshot!(
        wrong(TuneSettings { samples: u32::MAX, ..SHORT }),
        @"tune: 4294967295 samples: expected at most 100000"
    );
    insta::assert_snapshot!(
        wrong(TuneSettings {spread: 0.0,..SHORT}),
        @"tune: spread 0: expected a number above 0"
    );
    let flexible = PriceCandidate {
        machine: TunedMachine::Repartitioned {
            gpus: 2,
            creation_minutes: 0.1,
        },
        ..start("7")
    };
    let error = Tuning::new(flexible, SHORT).unwrap_err().to_string();
    insta::assert_snapshot!(
        error,
        @"tune: layouts of GPUs that are repartitioned: expected GPUs that keep theirs"
    );
    let mut tuning = Tuning::new(start("7"), SHORT).unwrap();
    let said = [vec![1.0; 7], vec![f64::NAN; 8]]
        .map(|scores| tuning.advance(&scores).unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"), @"
    tune: 7 scores of 8 candidates: expected as many, all of them finite
    tune: 8 scores of 8 candidates: expected as many, all of them finite
    ");
    let text = tuning.write().unwrap();
    let said = [
        ("rounds = 3", "rounds = 0"),
        ("rounds = 3", "round = 3"),
        ("samples = 8\n", ""),
        ("layouts = \"7\"", "layouts = \"8\""),
    ]
    .map(|(from, to)| {
        let other = text.replacen(from, to, 1);
        assert_ne!(other, text, "{from}");
        Tuning::read(&other).unwrap_err().to_string()
    });
    insta::assert_snapshot!(said.join("\n"), @"
    tune: 0 rounds of 8 samples with an elite of 3: expected a round or more, an elite of 2 or more, and no fewer samples
    tune: TOML parse error at line 6, column 1
      |
    6 | round = 3
      | ^^^^^
    unknown field `round`, expected one of `rounds`, `samples`, `elite`, `spread`, `layouts`, `seed`

    tune: TOML parse error at line 5, column 1
      |
    5 | [settings]
      | ^^^^^^^^^^
    missing field `samples`

    layout of GPU 0: `8`: expected sizes of 1, 2, 3, 4 or 7 with commas between them, such as 4,2,1
    ");
    let none = Yardstick::of(&[], &SlicedGpus::new("7", Power::A100).unwrap());
    insta::assert_snapshot!(
        none.unwrap_err().to_string(),
        @"days to tune for: expected one or more, each with a job"
    );
    let said = [
        TuneObjective {
            late: f64::NAN,
            ..TuneObjective::default()
        },
        TuneObjective {
            late: 0.0,
            tardiness: 0.0,
            energy: 0.0,
            ..TuneObjective::default()
        },
    ]
    .map(|bad| bad.checked().unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"), @"
    objective: `late` is NaN: expected a number of 0 or more
    objective: all weights are 0: expected one above 0
    ");
}

#[test]
fn run_times_are_wrong_by_a_factor_of_mean_1_that_is_the_same_for_all_sizes() {
    let told = Draw::default().jobs(4).unwrap();
    let jobs = wrong_run_times(&told, 0.3, 4).unwrap();
    assert_eq!(wrong_run_times(&told, 0.0, 4).unwrap(), told);
    let mut sum = 0.0;
    for (slice_job, told) in jobs.iter().zip(&told) {
        let factor = slice_job.fastest() / told.fastest();
        sum += factor;
        for (a, b) in slice_job.minutes().iter().zip(told.minutes()) {
            assert!((a / b / factor - 1.0).abs() < 1e-12);
        }
        assert_eq!(
            (slice_job.arrives(), slice_job.deadline()),
            (told.arrives(), told.deadline())
        );
    }
    assert!((sum / told.len() as f64 - 1.0).abs() < 0.02);
    insta::assert_snapshot!(
        wrong_run_times(&told, f64::NAN, 4).unwrap_err().to_string(),
        @"sigma NaN of run times: expected a number of 0 or more"
    );
}

fn searched() -> SlicedGpus {
    SlicedGpus::new(SlicedGpus::SEARCHED, Power::A100).unwrap()
}

/// A day under the default plan on guard and off it, and the notes.
fn both(jobs: &[SliceJob]) -> (Totals, Totals, Vec<Unsuited>) {
    let mut guarded = EnergyPlan::default();
    let own = run(jobs, State::new(searched()), &mut guarded).unwrap();
    let mut plain = EnergyPlan::new(Prices::default()).unwrap();
    let plain = run(jobs, State::new(searched()), &mut plain).unwrap();
    (
        own,
        plain,
        guarded.notes().iter().map(|note| note.what).collect(),
    )
}

#[test]
fn on_the_load_that_it_was_tuned_for_a_plan_on_guard_notes_nothing_and_decides_the_same() {
    for per_minute in [20.0, 22.0] {
        for seed in 300..315 {
            let jobs = Draw {
                per_minute,
                ..Draw::default()
            }
            .jobs(seed)
            .unwrap();
            let (own, plain, notes) = both(&jobs);
            assert_eq!((own, notes), (plain, vec![]), "{per_minute} {seed}");
        }
    }
}

#[test]
fn where_deadlines_are_tight_fit_decides_in_place_of_prices_for_relaxed_ones() {
    for seed in 300..305 {
        let jobs = Draw::tight().jobs(seed).unwrap();
        let (own, plain, notes) = both(&jobs);
        let fit = run(&jobs, State::new(searched()), &mut Fit::fullest()).unwrap();
        assert!(notes.contains(&Unsuited::Slack));
        assert!(own.late < plain.late, "{own:?} {plain:?}");
        // All but the first half hour is that of fit.
        assert!(
            own.late.abs_diff(fit.late) < jobs.len() / 50,
            "{own:?} {fit:?}"
        );
    }
}

#[test]
fn more_work_than_tuning_saw_is_noted_and_the_plan_goes_on_as_fit_would_be_worse() {
    let draw = Draw {
        per_minute: 30.0,
        ..Draw::default()
    };
    for seed in [300, 302] {
        let jobs = draw.jobs(seed).unwrap();
        let (own, plain, notes) = both(&jobs);
        assert!(notes.contains(&Unsuited::Load), "{notes:?}");
        assert_eq!(own, plain);
        let fit = run(&jobs, State::new(searched()), &mut Fit::fullest()).unwrap();
        assert!(own.late < fit.late && own.tardiness < fit.tardiness);
    }
}

#[test]
fn a_queue_that_runs_away_at_the_usual_load_is_given_to_fit() {
    // Jobs with so much time wait for cheap slices until too many do.
    let draw = Draw {
        slack: [12.0, 24.0],
        ..Draw::default()
    };
    let jobs = draw.jobs(302).unwrap();
    let (own, plain, notes) = both(&jobs);
    assert_eq!(notes[..2], [Unsuited::Slack, Unsuited::Queue]);
    assert!(own.tardiness < plain.tardiness / 2.0, "{own:?} {plain:?}");
    assert!(
        own.late < plain.late && own.end <= plain.end,
        "{own:?} {plain:?}"
    );
}

#[test]
fn what_days_have_is_what_the_shipped_range_says() {
    let days: Vec<TuneDay> = [(20.0, 9001), (20.0, 9002), (23.0, 9003)]
        .map(|(per_minute, seed)| {
            TuneDay::exact(
                Draw {
                    per_minute,
                    ..Draw::default()
                }
                .jobs(seed)
                .unwrap(),
            )
        })
        .to_vec();
    let plan = EnergyPlan::new(Prices::default()).unwrap();
    let seen = seen_on(&days, &searched(), &plan).unwrap();
    let tuned = TunedFor::default();
    assert!(
        seen.slack[0] >= 2.0 - 1e-9 && seen.slack[1] <= 4.0 + 1e-9,
        "{seen:?}"
    );
    for (seen, tuned) in seen.load.iter().zip(tuned.load) {
        assert!((seen / tuned - 1.0).abs() < 0.3, "{seen} {tuned}");
    }
    assert!(
        seen.waiting < tuned.waiting * 1.3 && seen.waiting > tuned.waiting / 3.0,
        "{seen:?}"
    );
}

#[test]
fn every_set_that_ships_beats_largest_first_where_it_was_tuned() {
    for name in PriceFile::names() {
        let file = PriceFile::named(name).unwrap();
        let is_tight = file.tuned.slack[1] < 2.0;
        let draw = if is_tight {
            Draw::tight()
        } else {
            Draw::default()
        };
        let largest = SlicedGpus::new(SlicedGpus::PUBLISHED, Power::A100).unwrap();
        let [mut gain, mut energy] = [0.0, 0.0];
        for seed in 400..404 {
            let told = draw.jobs(seed).unwrap();
            let jobs = wrong_run_times(&told, file.tuned.sigma, seed).unwrap();
            let day = TuneDay { jobs, told };
            let base = day
                .under(&largest, &mut mapa_system_energy::LargestFirst)
                .unwrap();
            let mut plan = file.plan().unwrap();
            let own = day
                .under(&file.machine.machine(Power::A100).unwrap(), &mut plan)
                .unwrap();
            assert!(plan.notes().is_empty(), "{name}: {:?}", plan.notes());
            gain += 25.0 * (base.late_share() - own.late_share());
            energy += own.watt_minutes / base.watt_minutes / 4.0;
        }
        assert!(gain > 22.0 && energy < 0.95, "{name}: {gain} {energy}");
    }
}

#[test]
fn parameters_are_those_that_days_are_drawn_with_and_say_how_far_they_are_known() {
    let all = mapa_system_energy_sim::parameters();
    let of = |name: &str| {
        let mut own = all
            .iter()
            .filter(|parameter| parameter.name.starts_with(name));
        own.next().unwrap().clone()
    };
    assert_eq!(of("load by hour").values.len(), 25);
    assert_eq!(
        of("deadline, relaxed").status,
        mapa_system_energy_sim::ParameterStatus::Document
    );
    assert_eq!(of("slices of each size").values, [4.0, 8.0, 2.0, 4.0, 2.0]);
    // 90 % of training jobs take 40 to 60 minutes on a slice of 1.
    let training = of("training: 5");
    for (value, expected) in training.values.iter().zip([40.0, 2400_f64.sqrt(), 60.0]) {
        assert!((value - expected).abs() < 1e-9, "{training:?}");
    }
    // Every job of a day follows one of the curves.
    let curves = [
        "inference, first",
        "inference, second",
        "training, first",
        "training, second",
    ];
    let curves = curves.map(|name| of(name).values);
    for job in Draw::default().jobs(1).unwrap() {
        let p1 = job.minutes()[0];
        let near = |curve: &Vec<f64>| {
            let pairs = curve.iter().zip(job.minutes());
            pairs
                .into_iter()
                .all(|(ratio, value)| (ratio * p1 - value).abs() < 1e-9)
        };
        assert!(curves.iter().any(near), "{job:?}");
    }
}
