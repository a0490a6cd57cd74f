//! Trainings: the same bits however they are run, and nets that learn.

use std::cell::RefCell;

use mapa_system_energy::learned::{Learned, Weights};
use mapa_system_energy::{LargestFirst, Power, SlicedGpus};
use mapa_system_energy_rl::{Config, KEPT, Point, Progress, Reward, Trainer, evaluate, train};
use mapa_system_energy_sim::{Draw, Totals};

/// A training of some updates of 1,024 actions.
fn small(updates: u64) -> Config {
    Config {
        days: 4,
        horizon: 256,
        steps: updates * 1024,
        layers: vec![24, 24],
        draw: Draw {
            from: 540.0,
            most: 200,
            ..Draw::default()
        },
        ..Config::ours()
    }
}

#[test]
fn a_training_has_the_same_bits_on_1_2_and_4_threads() {
    let one = train(small(3), 5, 1, &()).unwrap();
    for threads in [2, 4] {
        assert_eq!(train(small(3), 5, threads, &()).unwrap(), one);
    }
    assert_ne!(train(small(3), 6, 1, &()).unwrap().net(), one.net());
}

#[test]
fn a_net_is_trained_where_gpus_are_repartitioned_and_starts_only_what_is_free() {
    let config = Config {
        layouts: Config::repartitioning().layouts,
        ..small(2)
    };
    let weights = train(config.clone(), 5, 1, &()).unwrap();
    // Five of the head, four histograms, three of each of 8 x 14 placements, three of all.
    assert_eq!(weights.net().sizes(), [5 + 40 + 3 * 112 + 3, 24, 24, 112]);
    let weights = Weights::from_bytes(&weights.to_bytes()).unwrap();
    let machine = SlicedGpus::flexible(8, Power::A100, 0.4 / 60.0).unwrap();
    let mut learned = Learned::new(weights, &machine).unwrap();
    let days = evaluate(&mut learned, &config.layouts, &config.draw, &[3]).unwrap();
    assert!(days[0].creations > 0 && days[0].jobs == 200);
}

#[test]
fn a_training_that_is_resumed_ends_as_one_that_was_not_stopped() {
    let mut whole = Trainer::new(small(10), 5, 1).unwrap();
    let mut parts = Trainer::new(small(10), 5, 1).unwrap();
    while !whole.is_over() {
        whole.update().unwrap();
        let file = parts.checkpoint();
        parts = Trainer::resume(small(10), 5, 2, &file).unwrap();
        assert_eq!(parts.checkpoint(), file);
        parts.update().unwrap();
        assert_eq!(parts.checkpoint(), whole.checkpoint());
    }
    assert_eq!(whole.updates(), 10);
    assert_eq!(parts.weights().unwrap(), whole.weights().unwrap());
    let steps: Vec<u64> = whole.curve().iter().map(|point| point.steps).collect();
    assert_eq!(steps, [0, 8 * 1024, 10 * 1024]);
    let note = whole.weights().unwrap().note().to_owned();
    assert!(
        note.contains("Code reward, 10240 steps in 160 gradients of 256"),
        "{note}"
    );
}

#[test]
fn a_checkpoint_of_something_else_or_a_damaged_one_is_refused() {
    let trainer = Trainer::new(small(2), 5, 1).unwrap();
    let file = trainer.checkpoint();
    let of = |config: Config, seed, file: &[u8]| {
        Trainer::resume(config, seed, 1, file)
            .unwrap_err()
            .to_string()
    };
    let said = [
        of(small(2), 6, &file),
        of(small(3), 5, &file),
        of(small(2), 5, b"weights"),
        of(small(2), 5, &file[..file.len() - 1]),
        of(small(2), 5, &file[..40]),
    ];
    insta::assert_snapshot!(said.join("\n"), @r#"
    checkpoint: of "seed 5 of Config { formulation: Enhanced, reward: Code, layouts: \"7 | 7 | 4,3 | 4,3 | 4,2,1 | 4,2,1 | 2,2,2,1 | 2,2,2,1\", draw: Draw { per_minute: 20.0, slack: [2.0, 4.0], from: 540.0, most: 200 }, layers: [24, 24], days: 4, horizon: 256, steps: 2048, minibatch: 256, epochs: 4, clip: 0.2, rate: [0.0003, 0.0], entropy: [0.01, 0.0], discount: 0.99, smoothing: 0.95, longest: 0.5 }": expected "seed 6 of Config { formulation: Enhanced, reward: Code, layouts: \"7 | 7 | 4,3 | 4,3 | 4,2,1 | 4,2,1 | 2,2,2,1 | 2,2,2,1\", draw: Draw { per_minute: 20.0, slack: [2.0, 4.0], from: 540.0, most: 200 }, layers: [24, 24], days: 4, horizon: 256, steps: 2048, minibatch: 256, epochs: 4, clip: 0.2, rate: [0.0003, 0.0], entropy: [0.01, 0.0], discount: 0.99, smoothing: 0.95, longest: 0.5 }"
    checkpoint: of "seed 5 of Config { formulation: Enhanced, reward: Code, layouts: \"7 | 7 | 4,3 | 4,3 | 4,2,1 | 4,2,1 | 2,2,2,1 | 2,2,2,1\", draw: Draw { per_minute: 20.0, slack: [2.0, 4.0], from: 540.0, most: 200 }, layers: [24, 24], days: 4, horizon: 256, steps: 2048, minibatch: 256, epochs: 4, clip: 0.2, rate: [0.0003, 0.0], entropy: [0.01, 0.0], discount: 0.99, smoothing: 0.95, longest: 0.5 }": expected "seed 5 of Config { formulation: Enhanced, reward: Code, layouts: \"7 | 7 | 4,3 | 4,3 | 4,2,1 | 4,2,1 | 2,2,2,1 | 2,2,2,1\", draw: Draw { per_minute: 20.0, slack: [2.0, 4.0], from: 540.0, most: 200 }, layers: [24, 24], days: 4, horizon: 256, steps: 3072, minibatch: 256, epochs: 4, clip: 0.2, rate: [0.0003, 0.0], entropy: [0.01, 0.0], discount: 0.99, smoothing: 0.95, longest: 0.5 }"
    checkpoint: the first line: expected `mapa energy training 1`
    checkpoint: the hash at the end is not that of the bytes: expected an unchanged file
    checkpoint: of "": expected "seed 5 of Config { formulation: Enhanced, reward: Code, layouts: \"7 | 7 | 4,3 | 4,3 | 4,2,1 | 4,2,1 | 2,2,2,1 | 2,2,2,1\", draw: Draw { per_minute: 20.0, slack: [2.0, 4.0], from: 540.0, most: 200 }, layers: [24, 24], days: 4, horizon: 256, steps: 2048, minibatch: 256, epochs: 4, clip: 0.2, rate: [0.0003, 0.0], entropy: [0.01, 0.0], discount: 0.99, smoothing: 0.95, longest: 0.5 }"
    "#);
    for at in (0..file.len()).step_by(97) {
        let mut damaged = file.clone();
        damaged[at] ^= 4;
        assert!(
            Trainer::resume(small(2), 5, 1, &damaged).is_err(),
            "byte {at}"
        );
    }
}

#[derive(Default)]
struct Told(RefCell<Vec<(u64, u64, Option<Point>)>>);

impl Progress for Told {
    fn updated(&self, done: u64, of: u64, last: Option<Point>) {
        self.0.borrow_mut().push((done, of, last));
    }
}

#[test]
fn a_net_learns_to_beat_largest_first_where_each_start_in_time_is_rewarded() {
    // Long queues do not matter here: 40 jobs at a third of the load, and one reward, of being in
    // time. A net that picks at random is far worse than largest-first.
    let config = Config {
        draw: Draw {
            per_minute: 10.0,
            from: 540.0,
            most: 200,
            ..Draw::default()
        },
        steps: 60_000,
        horizon: 512,
        days: 4,
        layers: vec![32, 32],
        reward: Reward::Code,
        rate: [1e-3, 0.0],
        ..Config::ours()
    };
    let told = Told::default();
    let weights = train(config.clone(), 1, 1, &told).unwrap();
    let told = told.0.into_inner();
    assert_eq!(
        (told.len() as u64, told[0].1),
        (config.updates(), config.updates())
    );
    let first = told[0].2.unwrap();
    let last = told[told.len() - 1].2.unwrap();
    assert_eq!(first.steps, 0);
    assert!(last.late < first.late - 0.02, "{first:?} {last:?}");
    let machine = SlicedGpus::new(SlicedGpus::PUBLISHED, Power::A100).unwrap();
    let mut learned = Learned::new(weights, &machine).unwrap();
    let late = |rule: &mut dyn mapa_system_energy::Rule| {
        let seeds: Vec<u64> = (1..20).collect();
        let days = evaluate(rule, SlicedGpus::PUBLISHED, &config.draw, &seeds).unwrap();
        days.iter().map(Totals::late_share).sum::<f64>() / days.len() as f64
    };
    let [learned, largest] = [late(&mut learned), late(&mut LargestFirst)];
    assert!(learned < largest, "{learned} {largest}");
}

#[test]
fn configurations_are_the_published_ones_and_impossible_ones_are_refused_with_their_key() {
    // 62 updates of 8,192 samples, each ten times in two minibatches.
    let published = Config::published();
    let batch = (published.days * published.horizon) as u64;
    let gradients =
        published.updates() * published.epochs as u64 * batch.div_ceil(published.minibatch as u64);
    assert_eq!((published.updates(), gradients), (62, 1240));
    for config in [
        Config::ours(),
        Config::published(),
        Config::original(),
        Config::repartitioning(),
    ] {
        assert_eq!(config.clone().checked().unwrap(), config);
    }
    let ours = Config::ours;
    let said = [
        Config { days: 0, ..ours() },
        Config { steps: 0, ..ours() },
        Config {
            layers: vec![8, 0],
            ..ours()
        },
        Config {
            minibatch: 0,
            ..ours()
        },
        Config {
            rate: [f64::NAN, 0.0],
            ..ours()
        },
        Config {
            clip: -1.0,
            ..ours()
        },
        Config {
            discount: 1.5,
            ..ours()
        },
        Config {
            layouts: "9".to_owned(),
            ..ours()
        },
    ]
    .map(|config| Trainer::new(config, 1, 1).unwrap_err().to_string());
    insta::assert_snapshot!(said.join("\n"), @"
    training: `days` is 0: expected a whole number of 1 or more
    training: `steps` is 0: expected a whole number of 1 or more
    training: `layers` is 0: expected a whole number of 1 or more
    training: `minibatch` is 0: expected a whole number of 1 or more
    training: `rate` is NaN: expected a number of 0 or more
    training: `clip` is -1: expected a number of 0 or more
    training: `discount` is 1.5: expected a number from 0 to 1
    layout of GPU 0: `9`: expected sizes of 1, 2, 3, 4 or 7 with commas between them, such as 4,2,1
    ");
}

#[test]
fn nets_that_ship_are_those_of_their_settings_and_seeds_and_ours_beat_largest_first() {
    let bytes: usize = KEPT
        .iter()
        .map(|report| report.weights().unwrap().to_bytes().len())
        .sum();
    assert!(bytes < 3_000_000, "{bytes}");
    let seeds: Vec<u64> = (1..=5).collect();
    for report in KEPT {
        let (weights, config) = (report.weights().unwrap(), report.config());
        assert_eq!(weights.seed(), report.seed);
        assert_eq!(weights.formulation(), config.formulation);
        assert_eq!(weights.layouts(), config.layouts);
        let layers = weights.net().sizes();
        assert_eq!(layers[1..layers.len() - 1], config.layers);
        let told = format!("{:?} reward", config.reward);
        assert!(weights.note().starts_with(&told), "{}", weights.note());
        if report.settings != "ours" {
            continue;
        }
        let machine = SlicedGpus::new(&config.layouts, Power::A100).unwrap();
        let mut learned = Learned::new(weights, &machine).unwrap();
        let late = |rule: &mut dyn mapa_system_energy::Rule| {
            let days = evaluate(rule, &config.layouts, &config.draw, &seeds).unwrap();
            days.iter().map(Totals::late_share).sum::<f64>() / days.len() as f64
        };
        let [net, largest] = [late(&mut learned), late(&mut LargestFirst)];
        assert!(
            net < largest - 0.01,
            "seed {}: {net} {largest}",
            report.seed
        );
    }
}
