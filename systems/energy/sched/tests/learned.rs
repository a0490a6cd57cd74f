//! Learned rules: observations against a visit to every job and slice, nets against sums of 64 bits,
//! and files that are not weights.

use mapa_system_energy::learned::{
    Formulation, Learned, Net, Observation, Scratch, Weights, exp, tanh,
};
use mapa_system_energy::{Power, Rule, SlicedGpus, State};
use proptest::prelude::*;

use crate::rules::{after, free, step, stepped};

fn machine(layouts: &str) -> SlicedGpus {
    SlicedGpus::new(layouts, Power::A100).unwrap()
}

fn seen(formulation: Formulation, state: &State) -> Vec<f32> {
    let mut numbers = Vec::new();
    Observation::new(formulation, state.machine()).append(state, &mut numbers);
    numbers
}

/// The shares of numbers in bins, as NumPy's `histogram` counts: a bin has its lower edge.
fn histogram(numbers: &[f64]) -> [f32; 10] {
    let edges = [-100.0, 0.0, 0.05, 0.2, 0.5, 1.0, 5.0, 10.0, 20.0, 30.0, 1e9];
    std::array::from_fn(|bin| {
        let within = |value: &&f64| edges[bin] <= **value && **value < edges[bin + 1];
        let count = numbers.iter().filter(within).count();
        if count == 0 {
            return 0.0;
        }
        count as f32 * (1.0 / numbers.len() as f32)
    })
}

/// A number of a job in a state, by its run times and its deadline.
type Of = fn(&State, [f64; 5], f64) -> f64;

/// The enhanced observation as its definition reads.
fn slow(state: &State) -> Vec<f32> {
    let jobs: Vec<_> = state.queue().iter().map(|waiting| waiting.job).collect();
    let mut all = vec![0.0; 5];
    if let Some(job) = jobs.first() {
        let [p1, p2, p3, p4, p7] = job.minutes();
        let left = job.deadline() - state.now();
        let urgency = (p7 / left.max(0.01)).min(1.0);
        all = [
            left / 100.0,
            (p1 + p2) / 200.0,
            (p3 + p4) / 200.0,
            p7 / 100.0,
            urgency,
        ]
        .map(|value| value as f32)
        .to_vec();
    }
    let of: [Of; 4] = [
        |state, _, deadline| deadline - state.now(),
        |_, [p1, p2, ..], _| (p1 + p2) / 2.0,
        |_, [_, _, p3, p4, _], _| (p3 + p4) / 2.0,
        |_, [.., p7], _| p7,
    ];
    for of in of {
        let numbers = jobs
            .iter()
            .map(|job| of(state, job.minutes(), job.deadline()));
        all.extend(histogram(&numbers.collect::<Vec<_>>()));
    }
    let sizes = state.machine().sizes();
    let bit = |flag: bool| if flag { 1.0 } else { 0.0 };
    let free = free(state);
    let is_free = |slice: usize| free.iter().any(|row| row.0 == slice);
    all.extend((0..sizes.len()).map(|slice| bit(!is_free(slice))));
    all.extend(sizes.iter().map(|&size| f32::from(size) / 7.0));
    if state.machine().creation_minutes().is_some() {
        all.extend((0..sizes.len()).map(|slice| bit(state.exists(slice))));
    }
    all.push((jobs.len() as f32 / 100.0).min(1.0));
    all.push(free.len() as f32 / sizes.len() as f32);
    let largest = free.iter().map(|row| row.1).max();
    all.push(f32::from(largest.unwrap_or(0)) / 7.0);
    all
}

proptest! {
    #[test]
    fn an_observation_is_what_a_visit_to_every_job_and_slice_finds(
        steps in prop::collection::vec(step(), 0..60),
        layouts in prop::sample::select(vec![SlicedGpus::PUBLISHED, SlicedGpus::SEARCHED, "7", "1,1,1,1,1,1,1|4,3|2", "2 x any, created in 0.1 min"]),
    ) {
        let machine = SlicedGpus::of_layouts(layouts, Power::A100).unwrap();
        let state = stepped(machine, steps, |_| ());
        let enhanced = seen(Formulation::Enhanced, &state);
        prop_assert_eq!(&enhanced, &slow(&state));
        // The original is a subset, and all but the minutes to the deadline are in their boxes.
        let places = Observation::new(Formulation::Enhanced, state.machine()).original();
        let kept: Vec<f32> = places.iter().map(|&at| enhanced[at]).collect();
        prop_assert_eq!(seen(Formulation::Original, &state), kept);
        prop_assert!(enhanced[1..4].iter().all(|&value| value >= 0.0));
        prop_assert!(enhanced[4..].iter().all(|value| (0.0..=1.0).contains(value)));
    }

    #[test]
    fn a_learned_rule_takes_the_free_slice_of_the_largest_output_of_equal_ones_the_lowest(
        steps in prop::collection::vec(step(), 0..60),
        biases in prop::collection::vec(0..4_u8, 20),
    ) {
        let state = after(SlicedGpus::PUBLISHED, steps);
        let mut parameters = vec![0.0; 66 * 20];
        parameters.extend(biases.iter().map(|&bias| f32::from(bias)));
        let net = Net::new(vec![66, 20], parameters).unwrap();
        let weights = Weights::new(Formulation::Original, SlicedGpus::PUBLISHED, 1, "", net).unwrap();
        let mut rule = Learned::new(weights, state.machine()).unwrap();
        let start = rule.choose(&state);
        let best = free(&state).into_iter().map(|row| row.0).max_by_key(|&number| (biases[number], std::cmp::Reverse(number)));
        let best = best.filter(|_| !state.queue().is_empty());
        prop_assert_eq!(start.map(|start| start.slice), best);
        prop_assert!(start.is_none_or(|start| start.waiting == 0));
        prop_assert_eq!(rule.choose(&State::new(machine("7"))), None);
    }

    #[test]
    fn a_net_s_outputs_are_those_of_sums_of_64_bits(
        sizes in prop::collection::vec(1..9_usize, 2..5),
        seed in prop::collection::vec(-1.0..1.0_f32, 400),
    ) {
        let count = Net::parameter_count(&sizes).unwrap();
        let parameters: Vec<f32> = seed.iter().copied().cycle().take(count).collect();
        let inputs: Vec<f32> = seed[200..200 + sizes[0]].to_vec();
        let net = Net::new(sizes.clone(), parameters.clone()).unwrap();
        let mut scratch = Scratch::default();
        let outputs = net.outputs(&inputs, &mut scratch).to_vec();
        let mut from: Vec<f64> = inputs.iter().map(|&input| f64::from(input)).collect();
        let mut at = 0;
        for (layer, values) in sizes.windows(2).enumerate() {
            let weight = |i: usize, j: usize| f64::from(parameters[at + i * values[1] + j]);
            let sum = |j: usize| {
                let bias = f64::from(parameters[at + values[0] * values[1] + j]);
                from.iter().enumerate().map(|(i, value)| value * weight(i, j)).sum::<f64>() + bias
            };
            let sums = (0..values[1]).map(sum);
            let to = if layer + 2 < sizes.len() { sums.map(f64::tanh).collect() } else { sums.collect() };
            at += (values[0] + 1) * values[1];
            from = to;
        }
        for (fast, slow) in outputs.iter().zip(&from) {
            prop_assert!((f64::from(*fast) - slow).abs() < 1e-5, "{} {}", fast, slow);
        }
        // Scratch memory that was used for another net changes nothing.
        prop_assert_eq!(net.outputs(&inputs, &mut scratch), outputs);
    }

    #[test]
    fn weights_come_back_from_their_file_and_no_changed_byte_goes_unseen(
        seed in any::<u64>(),
        numbers in prop::collection::vec(-9.0..9.0_f32, 52),
        at in any::<prop::sample::Index>(),
        change in 1..=255_u8,
    ) {
        let net = Net::new(vec![51, 1], numbers).unwrap();
        let weights = Weights::new(Formulation::Enhanced, "7", seed, "a note: of words", net);
        // A GPU with one slice has 50 numbers.
        prop_assert!(weights.unwrap_err().to_string().contains("expected 50 first and 1 last"));
        let net = Net::new(vec![50, 1], vec![0.5; 51]).unwrap();
        let weights = Weights::new(Formulation::Enhanced, "7", seed, "a note: of words", net).unwrap();
        let mut file = weights.to_bytes();
        prop_assert_eq!(&Weights::from_bytes(&file).unwrap(), &weights);
        let at = at.index(file.len());
        prop_assert!(Weights::from_bytes(&file[..at]).is_err());
        file[at] ^= change;
        prop_assert!(Weights::from_bytes(&file).is_err());
    }
}

#[test]
fn own_exp_and_tanh_are_within_a_few_last_bits_of_the_true_ones() {
    let [mut worst_exp, mut worst_tanh] = [0.0_f64; 2];
    for step in -1_000_000..=1_000_000_i32 {
        let x = step as f32 * 8.8e-5;
        if (-87.0..=88.0).contains(&x) {
            let true_exp = f64::from(x).exp();
            worst_exp = worst_exp.max((f64::from(exp(x)) / true_exp - 1.0).abs());
        }
        // Also near 0, where the tangent is its argument.
        for x in [x / 8.0, x * 1e-6, x * 1e-12] {
            if x != 0.0 {
                let true_tanh = f64::from(x).tanh();
                worst_tanh = worst_tanh.max((f64::from(tanh(x)) / true_tanh - 1.0).abs());
            }
        }
    }
    assert!(worst_exp < 2e-7, "{worst_exp}");
    assert!(worst_tanh < 4e-7, "{worst_tanh}");
    assert_eq!([tanh(0.0), tanh(40.0), tanh(-1e30)], [0.0, 1.0, -1.0]);
    assert_eq!(exp(0.0), 1.0);
    assert_eq!([exp(-1e9), exp(1e9)], [exp(-87.0), exp(88.0)]);
    assert!(exp(88.0).is_finite() && exp(-87.0) > 0.0);
}

#[test]
fn own_exp_and_tanh_have_these_bits_everywhere() {
    let bits = |of: fn(f32) -> f32| [-3.7_f32, -0.2, 1e-3, 0.9, 8.0].map(|x| of(x).to_bits());
    assert_eq!(bits(exp), EXP_BITS);
    assert_eq!(bits(tanh), TANH_BITS);
}

/// By NumPy with numbers of 32 bits.
const EXP_BITS: [u32; 5] = [
    0x3cca_88fe,
    0x3f51_9856,
    0x3f80_20c9,
    0x401d_6a23,
    0x453a_4f54,
];
const TANH_BITS: [u32; 5] = [
    0xbf7f_afee,
    0xbe4a_1cc2,
    0x3a83_126c,
    0x3f37_5f4c,
    0x3f7f_fffc,
];

#[test]
fn the_published_machine_has_66_and_88_numbers_and_20_actions() {
    for (formulation, numbers) in [(Formulation::Original, 66), (Formulation::Enhanced, 88)] {
        let own = Observation::new(formulation, &machine(SlicedGpus::PUBLISHED));
        assert_eq!((own.numbers(), own.slices()), (numbers, 20));
        assert_eq!(Formulation::named(formulation.name()), Some(formulation));
        assert_eq!(own.original().len(), 66);
    }
    assert_eq!(Formulation::named("other"), None);
}

#[test]
fn what_is_no_net_or_no_file_of_weights_is_refused_with_its_key() {
    let net = |sizes: &[usize], parameters: Vec<f32>| Net::new(sizes.to_vec(), parameters);
    let mut bad = vec![0.0; 51];
    bad[7] = f32::NAN;
    let good = net(&[50, 1], vec![0.25; 51]).unwrap();
    let weights = Weights::new(Formulation::Enhanced, "7", 3, "by hand", good.clone()).unwrap();
    let file = weights.to_bytes();
    let with = |from: &str, to: &str| {
        let text: Vec<u8> = file.clone();
        let at = text
            .windows(from.len())
            .position(|bytes| bytes == from.as_bytes());
        let at = at.unwrap();
        let changed = [&text[..at], to.as_bytes(), &text[at + from.len()..]].concat();
        Weights::from_bytes(&changed).unwrap_err()
    };
    let other = Weights::from_bytes(&file).unwrap();
    let said = [
        net(&[50], vec![]).unwrap_err(),
        net(&[50, 0], vec![]).unwrap_err(),
        net(&[50, 1], vec![0.0; 50]).unwrap_err(),
        net(&[50, 1], bad).unwrap_err(),
        net(&[usize::MAX, 3], vec![]).unwrap_err(),
        Weights::from_bytes(b"").unwrap_err(),
        with("weights 1", "weights 2"),
        with("enhanced 1", "enhanced 2"),
        with("enhanced", "original"),
        with("layouts 7", "layout 7"),
        with("layouts 7", "layouts 7,1"),
        with("50 1", "50 x"),
        Weights::new(
            Formulation::Enhanced,
            "99999999999 x any, created in 1 min",
            3,
            "",
            good.clone(),
        )
        .unwrap_err(),
        with("50 1", "51 1"),
        with("seed 3", "seed -3"),
        with("hand", "foot"),
        with("hash ", "hash 0"),
        Weights::new(Formulation::Enhanced, "7", 3, "a\nb", good).unwrap_err(),
        Learned::new(other, &machine("4,3")).unwrap_err(),
    ]
    .map(|error| error.to_string());
    insta::assert_snapshot!(said.join("\n"), @r#"
    weights: `layers`: [50]: expected at least two sizes of 1 or more, such as 88 128 20
    weights: `layers`: [50, 0]: expected at least two sizes of 1 or more, such as 88 128 20
    weights: 50 weights for layers of [50, 1]: expected 51
    weights: weight 7 is NaN: expected a finite number
    weights: `layers`: [18446744073709551615, 3]: expected at least two sizes of 1 or more, such as 88 128 20
    weights: first line "": expected `mapa energy weights 1`
    weights: first line "mapa energy weights 2": expected `mapa energy weights 1`
    weights: `observation`: "enhanced 2": expected `original 1` or `enhanced 1`
    weights: `hash`: "e48647398b45ab35" is not that of the bytes: expected a81e965ec6656ade; the file was changed or damaged
    weights: line "layout 7": expected key `layouts` with a value
    weights: `hash`: "e48647398b45ab35" is not that of the bytes: expected 9928469d6ef9ab64; the file was changed or damaged
    weights: `layers`: "50 x": expected whole numbers, such as 88 128 20
    weights: `layers`: [50, 1] for layouts 99999999999 x any, created in 1 min: expected 1399999999986 last, a number for each slice
    weights: 204 bytes of weights for layers 51 1: expected 208
    weights: `seed`: "-3": expected a whole number
    weights: `hash`: "e48647398b45ab35" is not that of the bytes: expected 295767d241f5924e; the file was changed or damaged
    weights: `hash`: "0e48647398b45ab35" is not that of the bytes: expected e48647398b45ab35; the file was changed or damaged
    weights: `note`: "a\nb": expected one line
    weights: `layouts`: 7: expected those of the machine, 4,3
    "#);
}

#[test]
fn layouts_are_written_as_they_are_read() {
    let any = "8 x any, created in 0.006666666666666667 min";
    for layouts in [SlicedGpus::PUBLISHED, SlicedGpus::SEARCHED, "7", any] {
        let own = SlicedGpus::of_layouts(layouts, Power::A100).unwrap();
        assert_eq!(own.layouts(), layouts);
    }
    let flexible = SlicedGpus::flexible(8, Power::A100, 0.4 / 60.0).unwrap();
    assert_eq!(flexible.layouts(), any);
    let said = [
        "8 x any, created in soon min",
        "x x any, created in 1 min",
        "8 x any, created in -1 min",
    ]
    .map(|layouts| {
        SlicedGpus::of_layouts(layouts, Power::A100)
            .unwrap_err()
            .to_string()
    });
    insta::assert_snapshot!(said.join("\n"), @"
    layouts `8 x any, created in soon min`: expected such as 8 x any, created in 0.01 min
    layouts `x x any, created in 1 min`: expected such as 8 x any, created in 0.01 min
    8 GPUs that are repartitioned in -1 minutes: expected one GPU or more, and minutes of 0 or more
    ");
}
