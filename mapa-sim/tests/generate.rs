//! Generators: what is drawn has the moments it should, streams are of their own, words are read
//! back, and nothing panics.
//!
//! Seeds are fixed, so nothing here fails by chance; tolerances are five standard errors.

use std::collections::BTreeMap;
use std::time::Duration;

use mapa_core::{Pattern, Shape};
use mapa_sched::Time;
use mapa_sim::{Arrivals, Generator, RunTimes, Sizes, Submission, Task, Workload};
use proptest::prelude::*;
use statrs::distribution::{ChiSquared, ContinuousCDF, Exp, LogNormal};

fn generator(words: &str) -> Generator {
    words.parse().unwrap()
}

fn drawn(words: &str, seed: u64) -> Workload {
    generator(words).generate(seed).unwrap()
}

/// Seconds between arrivals that differ.
fn gaps(workload: &Workload) -> Vec<f64> {
    let mut arrivals: Vec<Time> = workload.jobs.iter().map(|job| job.job.arrived).collect();
    arrivals.dedup();
    arrivals
        .windows(2)
        .map(|pair| pair[1].since(pair[0]).as_secs_f64())
        .collect()
}

fn work(workload: &Workload) -> Vec<f64> {
    workload
        .jobs
        .iter()
        .map(|job| job.work.as_secs_f64())
        .collect()
}

/// The mean is the expected one within five standard errors.
#[track_caller]
fn has_mean(values: &[f64], mean: f64, deviation: f64) {
    let found = values.iter().sum::<f64>() / values.len() as f64;
    let error = deviation / (values.len() as f64).sqrt();
    assert!(
        (found - mean).abs() < 5.0 * error,
        "mean {found}, expected {mean} within 5 x {error}"
    );
}

/// Kolmogorov and Smirnov's distance is that of such a sample, at a level of one in a thousand.
#[track_caller]
fn is_of(mut values: Vec<f64>, law: &impl ContinuousCDF<f64, f64>) {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let far = |(at, value): (usize, &f64)| {
        let expected = law.cdf(*value);
        (expected - at as f64 / n).max((at + 1) as f64 / n - expected)
    };
    let distance = values.iter().enumerate().map(far).fold(0.0, f64::max);
    assert!(
        distance < 1.95 / n.sqrt(),
        "distance {distance} of {n} values"
    );
}

/// Counts are in these proportions, at a level of one in a thousand.
#[track_caller]
fn are_in_proportion(counts: &[usize], weights: &[f64]) {
    let (n, total) = (
        counts.iter().sum::<usize>() as f64,
        weights.iter().sum::<f64>(),
    );
    let part = |(count, weight): (&usize, &f64)| {
        let expected = n * weight / total;
        (*count as f64 - expected).powi(2) / expected
    };
    let chi_squared: f64 = counts.iter().zip(weights).map(part).sum();
    let limit = ChiSquared::new(counts.len() as f64 - 1.0)
        .unwrap()
        .inverse_cdf(0.999);
    assert!(
        chi_squared < limit,
        "{counts:?}: chi squared {chi_squared}, limit {limit}"
    );
}

fn count<K: Ord>(workload: &Workload, key: impl Fn(&Submission) -> K) -> Vec<usize> {
    let mut counts = BTreeMap::new();
    for job in &workload.jobs {
        *counts.entry(key(job)).or_insert(0) += 1;
    }
    counts.into_values().collect()
}

#[test]
fn the_papers_mix_is_uniform_in_sizes_tasks_and_run_times() {
    let workload = drawn("mapa,jobs=20000", 1);
    are_in_proportion(&count(&workload, Submission::devices), &[1.0; 5]);
    are_in_proportion(
        &count(&workload, |submission| submission.task.clone()),
        &[1.0; 9],
    );
    are_in_proportion(&count(&workload, |submission| submission.work), &[1.0; 20]);
    let sensitive = workload
        .jobs
        .iter()
        .map(|job| f64::from(job.job.request.sensitivity.is_sensitive()))
        .collect::<Vec<_>>();
    has_mean(&sensitive, 4.0 / 9.0, 0.5);
    assert!(
        workload
            .jobs
            .iter()
            .all(|job| job.job.arrived == Time::ZERO)
    );
    assert!(
        workload
            .jobs
            .iter()
            .all(|job| job.job.request.pattern == Pattern::ring(job.devices()))
    );
}

#[test]
fn the_three_mixes_differ_as_published() {
    let range = |workload: &Workload| {
        let sizes = workload.jobs.iter().map(Submission::devices);
        (sizes.clone().min().unwrap(), sizes.max().unwrap())
    };
    for (words, sizes, tasks) in [
        ("mapa", (1, 5), 9),
        ("mapa-six", (1, 5), 6),
        ("mapa-released", (2, 5), 6),
    ] {
        let workload = drawn(words, 3);
        assert_eq!(
            (workload.jobs.len(), range(&workload)),
            (300, sizes),
            "{words}"
        );
        assert_eq!(
            count(&workload, |submission| submission.task.clone()).len(),
            tasks,
            "{words}"
        );
    }
}

#[test]
fn weights_are_kept() {
    let workload = drawn(
        "mapa,jobs=20000,sizes=1:6+2:3+8:1,tasks=VGG-16:3+GMM,pattern=ring:1+independent:4",
        2,
    );
    are_in_proportion(&count(&workload, Submission::devices), &[6.0, 3.0, 1.0]);
    are_in_proportion(
        &count(&workload, |submission| submission.task.clone()),
        &[1.0, 3.0],
    );
    let large = workload.jobs.iter().filter(|job| job.devices() == 8);
    let rings = large
        .map(|submission| f64::from(submission.job.request.pattern == Shape::Ring.pattern(8)))
        .collect::<Vec<_>>();
    has_mean(&rings, 0.2, 0.4);
}

#[test]
fn poisson_gaps_are_exponential() {
    let workload = drawn("mapa,jobs=20000,arrivals=poisson:120/h", 4);
    let gaps = gaps(&workload);
    has_mean(&gaps, 30.0, 30.0);
    is_of(gaps, &Exp::new(1.0 / 30.0).unwrap());
}

#[test]
fn a_load_offers_as_much_work_as_it_says() {
    for words in ["mapa", "mapa,sizes=1:3+8:1,times=lognormal:60s:1"] {
        let mut generator = generator(words);
        generator.jobs = 50_000;
        generator.arrivals = Arrivals::Load {
            load: 0.8,
            devices: 16,
        };
        let workload = generator.generate(5).unwrap();
        let work: f64 = workload
            .jobs
            .iter()
            .map(|job| job.devices() as f64 * job.work.as_secs_f64())
            .sum();
        let span = workload
            .jobs
            .last()
            .unwrap()
            .job
            .arrived
            .since(Time::ZERO)
            .as_secs_f64();
        let load = work / span / 16.0;
        assert!((load - 0.8).abs() < 0.03, "{words}: {load}");
    }
}

#[test]
fn bursts_come_together_and_exponentially_apart() {
    let workload = drawn("mapa,jobs=30000,arrivals=bursts:10@60s", 6);
    let together = count(&workload, |submission| submission.job.arrived);
    assert_eq!(
        (together.len(), together.iter().max(), together.iter().min()),
        (3000, Some(&10), Some(&10))
    );
    assert_eq!(workload.jobs[0].job.arrived, Time::ZERO);
    is_of(gaps(&workload), &Exp::new(1.0 / 60.0).unwrap());
}

#[test]
fn on_and_off_lower_the_rate_by_the_share_of_time() {
    let workload = drawn("mapa,jobs=50000,arrivals=on-off:120/h@600s@1800s", 7);
    let gaps = gaps(&workload);
    // On for a quarter of the time; gaps are spread more widely than exponential ones.
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    assert!((mean - 120.0).abs() < 6.0, "{mean}");
    let deviation =
        (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
    assert!(deviation > 2.0 * mean, "{deviation}");
}

#[test]
fn the_released_spread_is_of_whole_seconds_in_order() {
    let workload = drawn("mapa-released,jobs=1000,arrivals=spread:14.5", 8);
    let arrivals: Vec<u64> = workload.jobs.iter().map(|job| job.job.arrived.0).collect();
    assert!(
        arrivals.is_sorted()
            && arrivals
                .iter()
                .all(|at| at % 1_000_000_000 == 0 && *at < 14_500_000_000_000)
    );
    has_mean(
        &arrivals
            .iter()
            .map(|at| *at as f64 / 1e9)
            .collect::<Vec<_>>(),
        7250.0,
        14500.0 / 12_f64.sqrt(),
    );
}

#[test]
fn run_times_follow_their_laws() {
    let exponential = work(&drawn("mapa,jobs=20000,times=exponential:60s", 9));
    has_mean(&exponential, 60.0, 60.0);
    is_of(exponential, &Exp::new(1.0 / 60.0).unwrap());
    let lognormal = drawn("mapa,jobs=20000,times=lognormal:60s:1.5", 10);
    has_mean(
        &work(&lognormal)
            .iter()
            .map(|time| time.ln())
            .collect::<Vec<_>>(),
        60_f64.ln(),
        1.5,
    );
    is_of(work(&lognormal), &LogNormal::new(60_f64.ln(), 1.5).unwrap());
    let mut generator = Generator::mapa();
    generator.jobs = 20_000;
    generator.run_times = RunTimes::Empirical([3, 3, 3, 50].map(Duration::from_secs).into());
    are_in_proportion(
        &count(&generator.generate(11).unwrap(), |submission| {
            submission.work
        }),
        &[3.0, 1.0],
    );
    assert_eq!(generator.run_times.mean_s(), 14.75);
}

#[test]
fn what_is_changed_moves_nothing_else() {
    let plain = drawn("mapa,arrivals=poisson:60/h", 12);
    let same = |words: &str, what: [bool; 5]| {
        let other = drawn(words, 12);
        let all = |equal: &dyn Fn(&Submission, &Submission) -> bool| {
            plain.jobs.iter().zip(&other.jobs).all(|(a, b)| equal(a, b))
        };
        let found = [
            all(&|a, b| a.devices() == b.devices()),
            all(&|a, b| a.task == b.task),
            all(&|a, b| a.work == b.work),
            all(&|a, b| a.job.arrived == b.job.arrived),
            all(&|a, b| a.job.request.pattern == b.job.request.pattern),
        ];
        assert_eq!(found, what, "{words}");
    };
    same("mapa,arrivals=poisson:60/h", [true; 5]);
    same("mapa,arrivals=poisson:60/h,jobs=500", [true; 5]);
    same(
        "mapa,arrivals=poisson:60/h,sizes=2..8",
        [false, true, true, true, false],
    );
    same(
        "mapa,arrivals=poisson:60/h,tasks=GMM",
        [true, false, true, true, true],
    );
    same(
        "mapa,arrivals=poisson:60/h,times=lognormal:9s:1",
        [true, true, false, true, true],
    );
    same("mapa,arrivals=bursts:3@5s", [true, true, true, false, true]);
    same(
        "mapa,arrivals=poisson:60/h,pattern=ring+tree",
        [true, true, true, true, false],
    );
}

/// The first three of each: a library that draws otherwise is noticed here.
#[test]
fn the_first_draws_are_these() {
    let first = |words: &str| -> Vec<(usize, String, u64, u64)> {
        let jobs = drawn(words, 1).jobs.into_iter().take(3);
        jobs.map(|job| {
            (
                job.devices(),
                job.task.to_string(),
                job.work.as_nanos() as u64,
                job.job.arrived.0,
            )
        })
        .collect()
    };
    let all = [
        "mapa",
        "mapa,sizes=1:1+2:2,tasks=A:1+B:3,times=exponential:60s,arrivals=poisson:60/h",
        "mapa-released,times=lognormal:60s:1.5,arrivals=on-off:60/h@60s@60s",
    ];
    let expected: [[(usize, &str, u64, u64); 3]; 3] = [
        [
            (3, "Jacobi", 20_000_000_000, 0),
            (1, "Inception-v3", 6_000_000_000, 0),
            (5, "GMM", 5_000_000_000, 0),
        ],
        [
            (2, "A", 122_043_000_458, 18_773_879_984),
            (1, "B", 14_397_385_463, 49_307_509_932),
            (2, "B", 2_264_462_138, 158_012_877_864),
        ],
        [
            (4, "GoogleNet", 276_738_892_490, 139_238_997_880),
            (2, "Inception-v3", 3_896_604_035, 144_634_942_007),
            (5, "GoogleNet", 4_173_265_250, 166_272_890_577),
        ],
    ];
    let expected = expected.map(|row| {
        row.map(|(size, task, work, at)| (size, task.to_owned(), work, at))
            .to_vec()
    });
    assert_eq!(all.map(first), expected);
}

#[test]
fn words_are_read_back() {
    for words in [
        "mapa",
        "mapa-six",
        "mapa-released",
        "mapa,jobs=1000",
        "mapa,arrivals=poisson:120/h",
        "mapa,arrivals=load:0.8@8",
        "mapa,sizes=8,tasks=VGG-16+GMM:2+mine!+AlexNet!:0.5,times=lognormal:60s:1.5,pattern=all-to-all+independent:3",
        "mapa-released,arrivals=spread:14.5s",
        "mapa,sizes=1:3+8:1,times=exponential:60s,arrivals=bursts:10@60s",
        "mapa,times=1..9s,arrivals=on-off:120/h@600s@1800s",
    ] {
        assert_eq!(generator(words).to_string(), words);
    }
    // Said otherwise.
    assert_eq!(
        generator("mapa,sizes=2..5,tasks=alexnet.sh+inception3+vgg16+resnet50+caffenet+googlenet")
            .to_string(),
        "mapa-released"
    );
    assert_eq!(
        generator("mapa,times=1..=9,sizes=3..3").to_string(),
        "mapa,sizes=3,times=1..9s"
    );
    let source = drawn("mapa,jobs=3", 7).source;
    assert!(
        source.starts_with("generator mapa,jobs=3, seed 7, PCG"),
        "{source}"
    );
}

#[test]
fn words_without_sense_are_refused_with_the_expected_form() {
    let said = [
        "",
        "poisson",
        "mapa,",
        "mapa,jobs",
        "mapa,rate=3",
        "mapa,jobs=3,jobs=4",
        "mapa,jobs=-1",
        "mapa,sizes=0",
        "mapa,sizes=1:-1",
        "mapa,sizes=a..b",
        "mapa,times=5",
        "mapa,times=exponential:-1",
        "mapa,times=lognormal:5",
        "mapa,times=lognormal:5:nan",
        "mapa,arrivals=poisson:12",
        "mapa,arrivals=poisson:inf/h",
        "mapa,arrivals=load:0.8",
        "mapa,arrivals=never",
        "mapa,pattern=torus",
    ]
    .map(|words| {
        let error = words.parse::<Generator>().unwrap_err().to_string();
        format!("{words:?} -> {error}")
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    "" -> generator ``: no generator is called ``: expected mapa, mapa-six, mapa-released
    "poisson" -> generator `poisson`: no generator is called `poisson`: expected mapa, mapa-six, mapa-released
    "mapa," -> generator `mapa,`: ``: expected jobs=NUMBER, sizes=SIZES, tasks=TASKS, times=TIMES, arrivals=ARRIVALS, pattern=PATTERNS
    "mapa,jobs" -> generator `mapa,jobs`: `jobs`: expected jobs=NUMBER, sizes=SIZES, tasks=TASKS, times=TIMES, arrivals=ARRIVALS, pattern=PATTERNS
    "mapa,rate=3" -> generator `mapa,rate=3`: `rate=3`: no setting is called `rate`: expected jobs=NUMBER, sizes=SIZES, tasks=TASKS, times=TIMES, arrivals=ARRIVALS, pattern=PATTERNS
    "mapa,jobs=3,jobs=4" -> generator `mapa,jobs=3,jobs=4`: `jobs=4`: already set by `jobs=3`: expected each setting once
    "mapa,jobs=-1" -> generator `mapa,jobs=-1`: jobs=-1: `-1`: expected a whole number
    "mapa,sizes=0" -> generator `mapa,sizes=0`: sizes=0: `0`: expected a number of devices from 1 to 1024
    "mapa,sizes=1:-1" -> generator `mapa,sizes=1:-1`: sizes=1:-1: `-1`: expected a weight, at least 0
    "mapa,sizes=a..b" -> generator `mapa,sizes=a..b`: sizes=a..b: `a`: expected a whole number
    "mapa,times=5" -> generator `mapa,times=5`: times=5: `5`: expected such as 5..24s, exponential:60s or lognormal:60s:1.5
    "mapa,times=exponential:-1" -> generator `mapa,times=exponential:-1`: times=exponential:-1: `-1`: expected a number above 0
    "mapa,times=lognormal:5" -> generator `mapa,times=lognormal:5`: times=lognormal:5: `lognormal:5`: expected such as 5..24s, exponential:60s or lognormal:60s:1.5
    "mapa,times=lognormal:5:nan" -> generator `mapa,times=lognormal:5:nan`: times=lognormal:5:nan: `nan`: expected a number above 0
    "mapa,arrivals=poisson:12" -> generator `mapa,arrivals=poisson:12`: arrivals=poisson:12: `poisson:12`: expected at-once, poisson:120/h, load:0.8@8 (of 8 devices), bursts:10@60s, on-off:120/h@600s@1800s or spread:14.5s
    "mapa,arrivals=poisson:inf/h" -> generator `mapa,arrivals=poisson:inf/h`: arrivals=poisson:inf/h: `inf`: expected a number above 0
    "mapa,arrivals=load:0.8" -> generator `mapa,arrivals=load:0.8`: arrivals=load:0.8: `load:0.8`: expected at-once, poisson:120/h, load:0.8@8 (of 8 devices), bursts:10@60s, on-off:120/h@600s@1800s or spread:14.5s
    "mapa,arrivals=never" -> generator `mapa,arrivals=never`: arrivals=never: `never`: expected at-once, poisson:120/h, load:0.8@8 (of 8 devices), bursts:10@60s, on-off:120/h@600s@1800s or spread:14.5s
    "mapa,pattern=torus" -> generator `mapa,pattern=torus`: pattern=torus: `torus`: expected ring, chain, star, tree, all-to-all, ring-tree or independent
    "#);
}

#[test]
fn nothing_to_draw_from_is_an_error() {
    let refused = |change: &dyn Fn(&mut Generator)| {
        let mut generator = Generator::mapa();
        change(&mut generator);
        generator.generate(1).unwrap_err().to_string()
    };
    let (low, high) = (5, 4);
    insta::assert_snapshot!(
        refused(&|generator| generator.sizes = (low as usize..=high as usize).into()),
        @"generator mapa,sizes=5..4: sizes 5..4: expected sizes from 1 to 1024, such as 1..5 or 1:3+8:1"
    );
    insta::assert_snapshot!(
        refused(&|generator| generator.sizes = (0..=5).into()),
        @"generator mapa,sizes=0..5: sizes 0..5: expected sizes from 1 to 1024, such as 1..5 or 1:3+8:1"
    );
    insta::assert_snapshot!(
        refused(&|generator| generator.sizes = (1..=usize::MAX).into()),
        @"generator mapa,sizes=1..18446744073709551615: sizes 1..18446744073709551615: expected sizes from 1 to 1024, such as 1..5 or 1:3+8:1"
    );
    insta::assert_snapshot!(
        refused(&|generator| generator.sizes = Sizes::Weighted(Vec::new())),
        @"generator mapa,sizes=: sizes: nothing to draw from: expected at least one, of a weight above 0"
    );
    insta::assert_snapshot!(
        refused(&|generator| generator.tasks.clear()),
        @"generator mapa,tasks=: tasks: nothing to draw from: expected at least one, of a weight above 0"
    );
    insta::assert_snapshot!(
        refused(&|generator| {
            generator.tasks = vec![Task {
                weight: f64::NAN,
                ..Task::new("x", true)
            }]
        }),
        @"generator mapa,tasks=x!:NaN: tasks: weight NaN: expected a finite number, at least 0"
    );
    insta::assert_snapshot!(
        refused(&|generator| {
            generator.tasks = vec![Task {
                weight: 0.0,
                ..Task::new("x", true)
            }]
        }),
        @"generator mapa,tasks=x!:0: tasks: nothing to draw from: expected at least one, of a weight above 0"
    );
    insta::assert_snapshot!(
        refused(&|generator| generator.patterns.clear()),
        @"generator mapa,pattern=: pattern: nothing to draw from: expected at least one, of a weight above 0"
    );
    insta::assert_snapshot!(
        refused(&|generator| generator.jobs = usize::MAX),
        @"generator mapa,jobs=18446744073709551615: jobs=18446744073709551615: expected at most 10000000"
    );
    insta::assert_snapshot!(
        refused(&|generator| generator.run_times = RunTimes::Uniform(low..=high)),
        @"generator mapa,times=5..4s: times 5..4s: expected seconds from the lower to the higher, such as 5..24s"
    );
    insta::assert_snapshot!(
        refused(&|generator| generator.run_times = RunTimes::Uniform(1..=u64::MAX)),
        @"generator mapa,times=1..18446744073709551615s: times 1..18446744073709551615s: expected seconds from the lower to the higher, such as 5..24s"
    );
    insta::assert_snapshot!(
        refused(&|generator| generator.run_times = RunTimes::Exponential { mean_s: 0.0 }),
        @"generator mapa,times=exponential:0s: a mean of 0: expected a finite number above 0"
    );
    insta::assert_snapshot!(
        refused(&|generator| generator.run_times = RunTimes::Exponential { mean_s: 1e30 }),
        @"generator mapa,times=exponential:1000000000000000000000000000000s: 2034050007628157000000000000000 s were drawn: expected at most 584 years; use smaller parameters"
    );
    insta::assert_snapshot!(
        refused(&|generator| {
            generator.run_times = RunTimes::LogNormal {
                median_s: 1.0,
                sigma: f64::INFINITY,
            }
        }),
        @"generator mapa,times=lognormal:1s:inf: a sigma of inf: expected a finite number above 0"
    );
    insta::assert_snapshot!(
        refused(&|generator| {
            generator.run_times = RunTimes::LogNormal {
                median_s: 1.0,
                sigma: 1e6,
            }
        }),
        @"generator mapa,times=lognormal:1s:1000000: inf s were drawn: expected at most 584 years; use smaller parameters"
    );
    insta::assert_snapshot!(
        refused(&|generator| generator.run_times = RunTimes::Empirical([].into())),
        @"generator mapa,times=empirical(0): no run times to draw from: expected at least one"
    );
    insta::assert_snapshot!(
        refused(&|generator| generator.arrivals = Arrivals::Poisson { per_hour: f64::NAN }),
        @"generator mapa,arrivals=poisson:NaN/h: a rate of NaN: expected a finite number above 0"
    );
    insta::assert_snapshot!(
        refused(&|generator| generator.arrivals = Arrivals::Poisson { per_hour: 1e-300 }),
        @"generator mapa,arrivals=poisson:0.000000000000000000000000000000000000...: 112643279901408290000000000000000000000000000000000000000000... s were drawn: expected at most 584 years; use smaller parameters"
    );
    insta::assert_snapshot!(
        refused(&|generator| {
            generator.arrivals = Arrivals::Load {
                load: 0.5,
                devices: 0,
            }
        }),
        @"generator mapa,arrivals=load:0.5@0: devices of 0: expected a finite number above 0"
    );
    insta::assert_snapshot!(
        refused(&|generator| {
            generator.arrivals = Arrivals::Bursts {
                jobs: 0,
                gap_s: 1.0,
            }
        }),
        @"generator mapa,arrivals=bursts:0@1s: bursts of 0 jobs: expected at least 1"
    );
    insta::assert_snapshot!(
        refused(&|generator| {
            generator.arrivals = Arrivals::OnOff {
                per_hour: 1.0,
                on_s: 1e-12,
                off_s: 1.0,
            }
        }),
        @"generator mapa,arrivals=on-off:1/h@0.000000000001s@1s: on for too short a time to bring the jobs: expected a longer time on, or a higher rate"
    );
    insta::assert_snapshot!(
        refused(&|generator| {
            generator.arrivals = Arrivals::Spread {
                seconds_per_job: 1e300,
            }
        }),
        @"generator mapa,arrivals=spread:100000000000000000000000000000000000000...: 300000000000000020000000000000000000000000000000000000000000... s were drawn: expected at most 584 years; use smaller parameters"
    );
}

fn any_arrivals() -> impl Strategy<Value = Arrivals> {
    let number = || prop_oneof![any::<f64>(), 0.001..1e6];
    prop_oneof![
        Just(Arrivals::AtOnce),
        number().prop_map(|per_hour| Arrivals::Poisson { per_hour }),
        (number(), 0..64_usize).prop_map(|(load, devices)| Arrivals::Load { load, devices }),
        (0..9_usize, number()).prop_map(|(jobs, gap_s)| Arrivals::Bursts { jobs, gap_s }),
        (1.0..1e4, 1.0..1e4, number()).prop_map(|(per_hour, on_s, off_s)| Arrivals::OnOff {
            per_hour,
            on_s,
            off_s
        }),
        number().prop_map(|seconds_per_job| Arrivals::Spread { seconds_per_job }),
    ]
}

fn any_generator() -> impl Strategy<Value = Generator> {
    let number = || prop_oneof![any::<f64>(), 0.0..1e6];
    let sizes = prop_oneof![
        (0..9_usize, 0..9_usize).prop_map(|(low, high)| Sizes::Uniform(low..=high)),
        proptest::collection::vec((0..9_usize, number()), 0..4).prop_map(Sizes::Weighted),
    ];
    let run_times = prop_oneof![
        (0..100_u64, 0..100_u64).prop_map(|(low, high)| RunTimes::Uniform(low..=high)),
        number().prop_map(|mean_s| RunTimes::Exponential { mean_s }),
        (number(), number()).prop_map(|(median_s, sigma)| RunTimes::LogNormal { median_s, sigma }),
    ];
    let task = ("[a-z]{1,8}", any::<bool>(), number()).prop_map(|(name, sensitive, weight)| Task {
        weight,
        ..Task::new(name, sensitive)
    });
    let shapes = proptest::sample::select(
        Shape::ALL
            .map(Some)
            .into_iter()
            .chain([None])
            .collect::<Vec<_>>(),
    );
    let tasks = proptest::collection::vec(task, 0..4);
    let patterns = proptest::collection::vec((shapes, number()), 0..3);
    (
        0..50_usize,
        sizes,
        run_times,
        any_arrivals(),
        tasks,
        patterns,
    )
        .prop_map(|(jobs, sizes, run_times, arrivals, tasks, patterns)| {
            let mut generator = Generator::mapa();
            (generator.jobs, generator.sizes, generator.run_times) = (jobs, sizes, run_times);
            (generator.arrivals, generator.tasks, generator.patterns) = (arrivals, tasks, patterns);
            generator
        })
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(8), ..mapa_core::testing::cases(1000) })]

    #[test]
    fn any_generator_draws_or_is_refused_and_what_draws_is_read_back(generator in any_generator()) {
        if let Ok(workload) = generator.generate(1) {
            prop_assert_eq!(workload.jobs.len(), generator.jobs);
            prop_assert!(workload.jobs.is_sorted_by_key(|job| job.job.arrived));
            let again: Generator = generator.to_string().parse().unwrap();
            prop_assert_eq!(again.generate(1).unwrap(), workload);
        }
    }

    #[test]
    fn any_words_are_read_or_refused(
        words in "\\PC*",
        key in "(jobs|sizes|tasks|times|arrivals|pattern)",
        value in "[a-z0-9.:@+!/-]{0,20}",
    ) {
        let _ = words.parse::<Generator>();
        let _ = format!("mapa,{key}={value}").parse::<Generator>();
    }
}
