//! Extreme values of measurements and models.

use mapa_core::{Census, Class, Efficiency, RingPacking, Term, Tiers};
use mapa_regress::published::{Finding, Printed, SampleSet};
use mapa_regress::*;

use crate::shared::{Extreme, values};

values!(AlphaConfig: [(0.0, 0.0), (1.0, 1.0), (f64::MAX, f64::MIN_POSITIVE), (f64::NAN, 1.0)].map(|(demand, most)| AlphaConfig::new(demand, most)));
values!(Column: [Column::OutOfPlace, Column::InPlace, Column::Best]);
values!(Design: Vec::<Census>::values().into_iter().filter_map(|links| Design::new(&links, &Term::values()).ok()));
values!(Error: ["", "x", "[", "op,gbps\n,"].into_iter().filter_map(|text| read_model(text).err()).chain(fit(&[], &FitConfig::eq_2("")).err()));
values!(Fit: [fit(&samples_of(40), &FitConfig::eq_2("x")), fit(&samples_of(3), &linear())].into_iter().flatten());
values!(FitConfig: [FitConfig::eq_2("\u{202e}"), FitConfig::new("", Tiers::PAPER), linear(), FitConfig { method: Method::Ridge(f64::NAN), ..linear() }, FitConfig { method: Method::Ridge(f64::MAX), ..linear() }, FitConfig { method: Method::NonNegative, ..linear() }, FitConfig { method: Method::Monotone, ..linear() }]);
values!(FittedEfficiency: [fit_efficiency(&[], &Efficiency::shipped())]);
values!(LeftOut: [(f64::NAN, 0.0), (f64::MAX, f64::INFINITY)].map(|(residual, most)| LeftOut { id: String::new(), server: "\0".to_owned(), class: Class::DirectCopy, residual, interval: (most, -most) }));
values!(MeasuredRow: [MeasuredRow::default(), MeasuredRow { id: "\u{202e}".to_owned(), devices: Some(",".to_owned()), ..MeasuredRow::default() }]);
values!(Measurement: [Devices::Unknown, Devices::First(usize::MAX), Devices::First(2), Devices::Named(vec!["GPU0".to_owned(), String::new()])].map(measurement));
values!(Observation: [0.0, f64::NAN, f64::MAX, 1.0].map(|gbps| Observation { id: String::new(), server: "x".to_owned(), gbps, ways: Vec::new(), generation: None }));
values!(RingPacking: [RingPacking::default()]);
values!(Sample: [(0, 0.0), (1, 1.0), (3, f64::MAX), (usize::MAX, f64::NAN)].into_iter().zip(Census::values()).map(|((ranks, gbps), links)| Sample { label: "\0".to_owned(), links, ranks, gbps }).chain(samples_of(12)));
values!(SampleConfig: [SampleConfig::default(), SampleConfig { op: None, order: RankOrder::AsGiven, ..SampleConfig::default() }]);
values!(Term: Term::eq_2(3));
values!(Finding: [(0, 0.0), (usize::MAX, f64::NAN)].map(|(samples, explained)| Finding { samples, rank: samples, condition: explained, unseen: explained, explained, printed: (1.0, -1.0), ridge: (explained, explained) }));
values!(Printed: [Printed::PAPER, Printed { relative: (0.0, f64::NAN), rmse: (0.0, 0.0), mae: (f64::INFINITY, 0.0) }]);
values!(SampleSet: Vec::<Census>::values().into_iter().map(|links| SampleSet { name: "", links }));

fn linear() -> FitConfig {
    FitConfig {
        terms: Term::eq_2(3).into_iter().take(2).collect(),
        ..FitConfig::new("linear", Tiers::PAPER)
    }
}

fn samples_of(count: u32) -> Vec<Sample> {
    let samples = (0..count).filter_map(|at| {
        let links = Census::from_counts(&[at % 3, at % 2 + 1, 1]).ok()?;
        Some(Sample {
            label: at.to_string(),
            links,
            ranks: 4,
            gbps: f64::from(at),
        })
    });
    samples.collect()
}

fn measurement(devices: Devices) -> Measurement {
    Measurement {
        label: String::new(),
        line: Some(usize::MAX),
        op: Some("all_reduce".to_owned()),
        devices,
        sizes: vec![AtSize {
            bytes: Some(u64::MAX),
            out_of_place: Some(f64::NAN),
            in_place: Some(f64::MAX),
        }],
    }
}
