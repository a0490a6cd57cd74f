//! The rule of sensitivity: what it says of numbers, and of the paper's nine workloads.

use std::iter::repeat_n;

use mapa_patterns::{
    Application, Evidence, LARGE_MESSAGE_BYTES, LinkRates, Messages, PUBLISHED, Published,
    Sensitivity, Times, Unit, Workload,
};
use proptest::prelude::*;

fn of(name: &str) -> &'static Workload {
    PUBLISHED
        .iter()
        .find(|workload| workload.name == name)
        .expect(name)
}

fn timed(fast: &[f64], slow: &[f64]) -> Sensitivity {
    Times::new(fast, slow).unwrap().verdict().sensitivity
}

fn messages(text: &str) -> Messages {
    text.parse().unwrap()
}

#[test]
fn all_that_is_published_gives_the_class_of_the_paper() {
    assert_eq!(PUBLISHED.len(), 9);
    for workload in &PUBLISHED {
        let verdict = workload.verdict();
        assert_eq!(
            verdict.sensitivity, workload.class,
            "{}: {verdict}",
            workload.name
        );
        assert!(
            verdict.why.contains("section") || verdict.why.contains("Fig."),
            "{}: {verdict}",
            workload.name
        );
    }
    assert_eq!(
        PUBLISHED
            .iter()
            .filter(|workload| workload.class == Sensitivity::Sensitive)
            .count(),
        4
    );
}

/// What is stated of messages: at least so many bytes on average, and calls. `None` where nothing
/// is stated.
fn stated(workload: &Workload) -> (Option<bool>, Option<u64>) {
    let large = workload.evidence.iter().find_map(|(what, _)| match what {
        Published::MeanAtLeast(bytes) => Some(*bytes >= LARGE_MESSAGE_BYTES),
        Published::MeanBelow(bytes) => Some(*bytes > LARGE_MESSAGE_BYTES),
        _ => None,
    });
    (large, workload.calls())
}

/// A rule by which more calls, or larger ones, never make a job less sensitive cannot call AlexNet
/// sensitive and CaffeNet not: CaffeNet has as large messages and more of them. So `messages` says
/// `unknown` of both, and of all others that are large.
#[test]
fn no_monotone_rule_on_messages_gives_the_classes_of_the_paper() {
    let contradictions = PUBLISHED
        .iter()
        .flat_map(|yes| PUBLISHED.iter().map(move |no| (yes, no)))
        .filter(|(yes, no)| {
            let ((large, calls), (other_large, other_calls)) = (stated(yes), stated(no));
            let dominated =
                large.is_some() && large == other_large && calls.is_some() && calls <= other_calls;
            yes.class == Sensitivity::Sensitive && no.class == Sensitivity::Insensitive && dominated
        });
    let names: Vec<_> = contradictions
        .map(|(yes, no)| (yes.name, no.name))
        .collect();
    assert_eq!(names, [("AlexNet", "CaffeNet")]);
    for name in ["AlexNet", "CaffeNet", "VGG-16", "Inception-v3", "ResNet-50"] {
        assert_eq!(
            of(name).by_messages().sensitivity,
            Sensitivity::Unknown,
            "{name}"
        );
    }
    for name in ["GoogleNet", "Cusimann", "GMM"] {
        assert_eq!(
            of(name).by_messages().sensitivity,
            Sensitivity::Insensitive,
            "{name}"
        );
    }
    // The networks themselves say the same: AlexNet and CaffeNet differ in the order of two layers
    // without parameters.
    assert_eq!(of("AlexNet").model, of("CaffeNet").model);
    assert!(
        of("GoogleNet")
            .model
            .unwrap()
            .messages()
            .mean_bytes()
            .unwrap()
            > LARGE_MESSAGE_BYTES
    );
}

/// Fig. 5b: n layers with parameters, one all-reduce each in 10,000 iterations, and one broadcast
/// before the first.
#[test]
fn calls_per_iteration_are_calls_of_a_run_of_ten_thousand() {
    for workload in PUBLISHED.iter().filter(|workload| workload.model.is_some()) {
        let (calls, layers) = (
            workload.calls().unwrap(),
            u64::from(workload.model.unwrap().layers),
        );
        if workload.name == "CaffeNet" {
            assert_eq!(
                (calls % layers, calls / layers),
                (0, 10_617),
                "no broadcast, and no round number"
            );
        } else {
            assert_eq!(calls, 10_000 * layers + 1, "{}", workload.name);
        }
    }
}

type Layers = Vec<u64>;

/// Parameters of a convolution with a bias: of so many channels to so many, in square windows.
fn conv(from: u64, to: u64, window: u64) -> u64 {
    from * to * window * window + to
}

fn dense(from: u64, to: u64) -> u64 {
    conv(from, to, 1)
}

fn alexnet() -> Layers {
    // Two of them, and the fourth, are grouped in two.
    let convolutions = [
        conv(3, 96, 11),
        conv(48, 256, 5),
        conv(256, 384, 3),
        conv(192, 384, 3),
        conv(192, 256, 3),
    ];
    [
        &convolutions[..],
        &[dense(9216, 4096), dense(4096, 4096), dense(4096, 1000)],
    ]
    .concat()
}

fn vgg16() -> Layers {
    let widths = [
        3, 64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512,
    ];
    let convolutions = widths.windows(2).map(|pair| conv(pair[0], pair[1], 3));
    convolutions
        .chain([dense(25_088, 4096), dense(4096, 4096), dense(4096, 1000)])
        .collect()
}

/// With the two auxiliary classifiers that are there in training.
fn googlenet() -> Layers {
    let modules: [[u64; 7]; 9] = [
        [192, 64, 96, 128, 16, 32, 32],
        [256, 128, 128, 192, 32, 96, 64],
        [480, 192, 96, 208, 16, 48, 64],
        [512, 160, 112, 224, 24, 64, 64],
        [512, 128, 128, 256, 24, 64, 64],
        [512, 112, 144, 288, 32, 64, 64],
        [528, 256, 160, 320, 32, 128, 128],
        [832, 256, 160, 320, 32, 128, 128],
        [832, 384, 192, 384, 48, 128, 128],
    ];
    let module = |[from, one, three_in, three, five_in, five, pool]: [u64; 7]| {
        let threes = [conv(from, three_in, 1), conv(three_in, three, 3)];
        let fives = [conv(from, five_in, 1), conv(five_in, five, 5)];
        [
            &[conv(from, one, 1), conv(from, pool, 1)][..],
            &threes,
            &fives,
        ]
        .concat()
    };
    let auxiliary = |from| [conv(from, 128, 1), dense(2048, 1024), dense(1024, 1000)];
    let first = [
        conv(3, 64, 7),
        conv(64, 64, 1),
        conv(64, 192, 3),
        dense(1024, 1000),
    ];
    let rest = [512, 528].into_iter().flat_map(auxiliary);
    first
        .into_iter()
        .chain(modules.into_iter().flat_map(module))
        .chain(rest)
        .collect()
}

/// Each convolution is followed by a batch normalisation (mean, variance, a factor) and a scale,
/// layers of their own.
fn resnet50() -> Layers {
    let normalised =
        |from: u64, to: u64, window: u64| [from * to * window * window, 2 * to + 1, 2 * to];
    let mut layers = normalised(3, 64, 7).to_vec();
    let mut from = 64;
    for (blocks, width) in [(3, 64), (4, 128), (6, 256), (3, 512)] {
        layers.extend(normalised(from, 4 * width, 1));
        for input in [from].into_iter().chain(repeat_n(4 * width, blocks - 1)) {
            layers.extend(normalised(input, width, 1));
            layers.extend(normalised(width, width, 3));
            layers.extend(normalised(width, 4 * width, 1));
        }
        from = 4 * width;
    }
    layers.push(dense(2048, 1000));
    layers
}

#[test]
fn models_are_what_their_layers_add_up_to() {
    let own = [
        ("AlexNet", alexnet()),
        ("VGG-16", vgg16()),
        ("GoogleNet", googlenet()),
        ("ResNet-50", resnet50()),
    ];
    for (name, layers) in own {
        let model = of(name).model.unwrap();
        assert_eq!(
            (model.layers as usize, model.parameters),
            (layers.len(), layers.iter().sum()),
            "{name}"
        );
        // Nearly all bytes are in large messages, so that means do for a prediction.
        let mut messages = Messages::new();
        layers
            .iter()
            .for_each(|layer| messages.add(4.0 * *layer as f64, 1.0).unwrap());
        assert!(messages.large_bytes() > 0.98 * messages.bytes(), "{name}");
        assert_eq!(messages.bytes(), model.messages().bytes());
    }
}

/// The one check against physics that the published figures allow: what better links save,
/// predicted from the network's parameters and Table 1, and measured.
#[test]
fn predictions_for_alexnet_and_vgg_come_near_what_was_measured() {
    let rates = [12e9, 50e9];
    for (name, times) in [("AlexNet", [511.0, 374.0]), ("VGG-16", [785.0, 378.0])] {
        let bytes = of(name).model.unwrap().messages().large_bytes();
        let predicted = bytes / rates[0] - bytes / rates[1];
        let measured = (times[0] - times[1]) / 1e4;
        assert!(
            (0.8..1.2).contains(&(predicted / measured)),
            "{name}: {predicted} s, measured {measured} s"
        );
        assert_eq!(
            of(name).predicted().unwrap().sensitivity,
            Sensitivity::Sensitive
        );
    }
}

#[test]
fn times_decide_by_two_thresholds_with_a_band_between() {
    assert_eq!(timed(&[374.0], &[511.0]), Sensitivity::Sensitive);
    assert_eq!(timed(&[90.0], &[100.0]), Sensitivity::Sensitive);
    assert_eq!(timed(&[90.1], &[100.0]), Sensitivity::Unknown);
    assert_eq!(timed(&[97.0], &[100.0]), Sensitivity::Unknown);
    assert_eq!(timed(&[97.1], &[100.0]), Sensitivity::Insensitive);
    assert_eq!(timed(&[100.0], &[100.0]), Sensitivity::Insensitive);
    assert_eq!(timed(&[102.0], &[100.0]), Sensitivity::Insensitive);
    assert_eq!(
        timed(&[104.0], &[100.0]),
        Sensitivity::Unknown,
        "better links that are slower: something else is"
    );
}

#[test]
fn runs_that_say_the_opposite_leave_it_unknown() {
    assert_eq!(
        timed(&[80.0, 81.0, 82.0], &[100.0, 101.0]),
        Sensitivity::Sensitive
    );
    assert_eq!(
        timed(&[80.0, 81.0, 99.0], &[100.0, 101.0]),
        Sensitivity::Unknown,
        "99 against 100"
    );
    assert_eq!(
        timed(&[99.0, 100.0], &[100.0, 101.0]),
        Sensitivity::Insensitive
    );
    assert_eq!(
        timed(&[85.0, 100.0, 100.0], &[100.0]),
        Sensitivity::Unknown,
        "85 against 100"
    );
}

#[test]
fn what_is_no_time_is_refused_by_name() {
    let refused = |fast: &[f64], slow: &[f64]| Times::new(fast, slow).unwrap_err().to_string();
    assert_eq!(
        refused(&[], &[1.0]),
        "times on the better links: expected one or more"
    );
    assert_eq!(
        refused(&[1.0], &[0.0]),
        "a time on the worse links, 0 s: expected a positive number"
    );
    assert_eq!(
        refused(&[f64::NAN], &[1.0]),
        "a time on the better links, NaN s: expected a positive number"
    );
    assert_eq!(
        refused(&[1.0], &[-2.0]),
        "a time on the worse links, -2 s: expected a positive number"
    );
    let rates = LinkRates::new(50.0, 12.0).unwrap_err().to_string();
    assert_eq!(rates, "links of 50 and 12 GB/s: expected the slower first");
    assert!(LinkRates::new(f64::NAN, 12.0).is_err() && LinkRates::new(1.0, f64::INFINITY).is_err());
    for (text, what) in [
        ("", "messages ``: expected CALLSxBYTES, such as 16x1.5e7"),
        (
            "16",
            "messages `16`: expected CALLSxBYTES, such as 16x1.5e7",
        ),
        (
            "16x-1",
            "-1 bytes in a message: expected a number from 0 to 1e18",
        ),
        (
            "NaNx1",
            "NaN calls in an iteration: expected a number from 0 to 1e18",
        ),
    ] {
        assert_eq!(text.parse::<Messages>().unwrap_err().to_string(), what);
    }
    let alone = Evidence {
        iteration_seconds: Some(1.0),
        ..Evidence::default()
    };
    insta::assert_snapshot!(
        alone.verdict().unwrap_err().to_string(),
        @"the time of an iteration: expected its messages beside it, or bytes a step"
    );
    let zero = Evidence {
        iteration_seconds: Some(0.0),
        messages: Some(messages("1x1")),
        ..Evidence::default()
    };
    insta::assert_snapshot!(
        zero.verdict().unwrap_err().to_string(),
        @"the time of an iteration, 0 s: expected a positive number"
    );
}

#[test]
fn messages_alone_never_say_sensitive() {
    let said = |text: &str| messages(text).verdict().sensitivity;
    assert_eq!(said("0x1e9"), Sensitivity::Insensitive, "none are sent");
    assert_eq!(said("1000000x99999"), Sensitivity::Insensitive);
    assert_eq!(said("1x100000"), Sensitivity::Unknown);
    assert_eq!(
        said("1000x1e3,1x5e7"),
        Sensitivity::Unknown,
        "small on average, but not where the bytes are"
    );
    assert_eq!(
        said("1000x9e4,1x1e6"),
        Sensitivity::Insensitive,
        "one large call among many"
    );
}

#[test]
fn the_stronger_evidence_decides() {
    let mut job = Evidence {
        messages: Some(messages("8x3.05e7")),
        ..Evidence::default()
    };
    assert_eq!(job.verdict().unwrap().sensitivity, Sensitivity::Unknown);
    job.iteration_seconds = Some(0.0374);
    let verdict = job.verdict().unwrap();
    assert_eq!(verdict.sensitivity, Sensitivity::Sensitive);
    assert!(
        verdict.why.contains("29 % less time") && verdict.why.contains("244 MB"),
        "{verdict}"
    );
    job.iteration_seconds = Some(1.0);
    assert_eq!(job.verdict().unwrap().sensitivity, Sensitivity::Insensitive);
    job.links = LinkRates::new(1.0, 50.0).unwrap();
    assert_eq!(
        job.verdict().unwrap().sensitivity,
        Sensitivity::Sensitive,
        "over slower links it is worth it"
    );
    job.times = Some(Times::new([100.0], [101.0]).unwrap());
    assert_eq!(job.verdict().unwrap().sensitivity, Sensitivity::Insensitive);
    assert_eq!(
        Evidence::default().verdict().unwrap().sensitivity,
        Sensitivity::Unknown
    );
}

#[test]
fn the_bytes_of_a_step_are_those_of_its_phases() {
    let job: mapa_core::Parallelism = "tp=2,pp=2".parse().unwrap();
    let job = Application::from(job.with_bytes_of("tp=2e9,pp=1e8").unwrap());
    // Two devices all-reduce 2 GB: each sends as much; then the stages.
    assert_eq!(job.step_bytes(), Some(2.1e9));
    let mut application = Application::new(
        "own",
        "",
        mapa_core::Pattern::from_edges(3, [(0, 1, 5.0), (1, 2, 7.0)]).unwrap(),
    );
    assert_eq!(application.step_bytes(), None);
    application.unit = Unit::BytesPerStep;
    assert_eq!(application.step_bytes(), Some(7.0));
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        0.0..1e6f64,
        Just(f64::MIN_POSITIVE),
        Just(f64::MAX),
        Just(-0.0)
    ]
}

proptest! {
    #[test]
    fn no_number_makes_it_panic(
        fast in prop::collection::vec(any_number(), 0..4),
        slow in prop::collection::vec(any_number(), 0..4),
        sizes in prop::collection::vec((any_number(), any_number()), 0..4),
        seconds in prop::option::of(any_number()),
        rates in (any_number(), any_number()),
    ) {
        let mut messages = Messages::new();
        for (bytes, calls) in sizes {
            let _ = messages.add(bytes, calls);
        }
        let links = LinkRates::new(rates.0, rates.1).unwrap_or_default();
        let times = Times::new(fast, slow).ok();
        for (times, messages) in [(times, Some(messages)), (None, Some(messages)), (None, None)] {
            if let Ok(verdict) = (Evidence { times, messages, iteration_seconds: seconds, links }).verdict() {
                prop_assert!(!verdict.why.contains("NaN"), "{verdict}");
            }
        }
        prop_assert!(messages.large_bytes() <= messages.bytes());
    }

    #[test]
    fn more_bytes_or_a_shorter_iteration_never_make_a_job_less_sensitive(
        bytes in 1e5..1e10f64, more in 1.0..10.0f64, seconds in 1e-4..10.0f64,
    ) {
        let rank = |bytes: f64, seconds: f64| {
            let mut messages = Messages::new();
            messages.add(bytes, 1.0).unwrap();
            let job = Evidence { messages: Some(messages), iteration_seconds: Some(seconds), ..Evidence::default() };
            match job.verdict().unwrap().sensitivity {
                Sensitivity::Insensitive => 0,
                Sensitivity::Unknown => 1,
                Sensitivity::Sensitive => 2,
            }
        };
        prop_assert!(rank(bytes * more, seconds) >= rank(bytes, seconds));
        prop_assert!(rank(bytes, seconds / more) >= rank(bytes, seconds));
    }

    #[test]
    fn any_text_of_messages_is_read_or_refused(text in "[0-9ex.,+ -]{0,20}") {
        let _ = text.parse::<Messages>();
    }
}
