//! A tenant with a promised latency: servers against closed forms, the published table, and what
//! must hold in every run.

use mapa_sim::{mean_interval, stream};
use mapa_system_slo::replay::ReplaySettings;
use mapa_system_slo::{EnabledLevers, TenantSetup};
use mapa_system_slo_sim::{
    Control, DrawnRun, LinkShare, LiveControl, NoController, Noise, PaperControl, Paused,
    ReplayControl, RunConditions, RunTotals, Scenario, TenantServers, run,
};
use proptest::prelude::*;
use rand_distr::{Distribution, Exp1};

/// Latencies of requests with exponential gaps through one server, ms, after a start.
fn latencies(load: f64, count: usize, mut size: impl FnMut() -> f64) -> Vec<f64> {
    let mut gaps = stream(11, "slo test gaps");
    let (mut at, mut arrived) = (0.0, Vec::new());
    let mut servers = TenantServers::default();
    for id in 0..count {
        let gap: f64 = Exp1.sample(&mut gaps);
        at += gap * 10.0 / load;
        arrived.push(at);
        servers.push(id as u32, at, 0.0, size());
    }
    let mut all = vec![0.0; count];
    servers.advance(f64::INFINITY, [1.0, 1.0], |id, end| {
        all[id as usize] = end - arrived[id as usize]
    });
    assert!(servers.is_empty());
    all.split_off(count / 20)
}

fn p99(mut all: Vec<f64>) -> f64 {
    all.sort_unstable_by(f64::total_cmp);
    all[(all.len() as f64 * 0.99).ceil() as usize - 1]
}

fn close(value: f64, to: f64, percent: f64) {
    assert!(
        (value / to - 1.0).abs() * 100.0 < percent,
        "{value} is not within {percent} % of {to}"
    );
}

/// M/M/1 with a mean service of 10 ms: mean 10 / (1 - load), p99 -ln(.01) times that. Streams of
/// gaps and sizes that hang together would show here.
#[test]
fn exponential_service_has_the_tail_of_m_m_1() {
    for (load, tail, mean) in [(0.5, 92.10, 20.0), (0.8, 230.26, 50.0)] {
        let mut sizes = stream(11, "slo test sizes");
        let all = latencies(load, 1_500_000, || {
            let one: f64 = Exp1.sample(&mut sizes);
            10.0 * one
        });
        close(all.iter().sum::<f64>() / all.len() as f64, mean, 2.0);
        close(p99(all), tail, 3.0);
    }
}

/// M/D/1: p99 over the service, by Crommelin's series.
#[test]
fn constant_service_has_the_tail_of_m_d_1() {
    for (load, tail) in [(0.1, 1.9531), (0.2, 2.4344), (0.5, 4.3363), (0.8, 11.3559)] {
        let all = latencies(load, 1_000_000, || 10.0);
        close(p99(all) / 10.0, tail, 3.0);
    }
}

proptest! {
    /// Where events cut time changes nothing, and constant factors give the recursion.
    #[test]
    fn servers_are_the_recursion_however_time_is_cut(
        all in prop::collection::vec((0.0_f64..30.0, 0.1_f64..20.0, 0.1_f64..20.0), 1..40),
        cuts in prop::collection::vec(0.0_f64..900.0, 0..40),
        factors in (0.5_f64..3.0, 0.5_f64..3.0),
    ) {
        let mut cuts = cuts;
        cuts.sort_unstable_by(f64::total_cmp);
        let (mut at, mut requests) = (0.0, Vec::new());
        for (gap, x, c) in all {
            at += gap;
            requests.push((at, x, c));
        }
        let mut servers = TenantServers::default();
        let mut ends = Vec::new();
        let mut next = 0;
        for cut in cuts.into_iter().chain([f64::INFINITY]) {
            while next < requests.len() && requests[next].0 < cut {
                let (at, x, c) = requests[next];
                servers.push(next as u32, at, x, c);
                next += 1;
            }
            servers.advance(cut, [factors.0, factors.1], |id, end| ends.push((id, end)));
        }
        let (mut copied, mut computed) = (0.0_f64, 0.0_f64);
        for (at, (row, end)) in requests.iter().zip(&ends).enumerate() {
            copied = row.0.max(copied) + row.1 * factors.0;
            computed = copied.max(computed) + row.2 * factors.1;
            prop_assert_eq!(end.0 as usize, at);
            prop_assert!((end.1 - computed).abs() < 1e-6, "{} {computed}", end.1);
        }
        prop_assert_eq!(ends.len(), requests.len());
    }
}

fn seeds<C: Control>(
    scenario: &Scenario,
    of: usize,
    mut control: impl FnMut(u64) -> C,
) -> Vec<RunTotals> {
    (300..300 + of as u64)
        .map(|seed| {
            let trace = DrawnRun::draw(scenario, seed).unwrap();
            run(
                scenario,
                &trace,
                seed,
                RunConditions::default(),
                &mut control(seed),
            )
            .unwrap()
        })
        .collect()
}

fn mean(all: &[RunTotals], of: impl Fn(&RunTotals) -> f64) -> f64 {
    mean_interval(&all.iter().map(of).collect::<Vec<_>>()).mean
}

fn paper(scenario: &Scenario, levers: EnabledLevers) -> impl Fn(u64) -> PaperControl + use<> {
    let settings = scenario.settings(levers).unwrap();
    move |_| PaperControl::new(settings.clone(), TenantSetup::at(0))
}

#[test]
fn every_row_lies_in_the_papers_interval() {
    let own = Scenario::table_3();
    let fixed = seeds(&own, 40, |_| NoController);
    let rows = [
        (EnabledLevers::NONE, [16.4, 1.5], [20.0, 1.2]),
        (EnabledLevers::GUARDS, [14.5, 1.4], [19.0, 1.0]),
        (EnabledLevers::PLACEMENT, [13.0, 1.2], [17.8, 0.9]),
        (EnabledLevers::MIG, [12.2, 1.1], [17.2, 0.8]),
        (EnabledLevers::ALL, [11.1, 1.0], [16.5, 0.7]),
    ];
    for (levers, miss, tail) in rows {
        let all = seeds(&own, 40, paper(&own, levers));
        let ours = [
            mean(&all, RunTotals::miss_percent),
            mean(&all, |totals| totals.percentile(99.0)),
        ];
        for (ours, [mean, half]) in ours.into_iter().zip([miss, tail]) {
            assert!(
                (ours - mean).abs() <= half,
                "{levers:?}: {ours} for {mean} ± {half}"
            );
        }
        if levers == EnabledLevers::NONE {
            assert_eq!(all, fixed, "without levers nothing is ordered");
        }
    }
}

#[test]
fn pauses_that_queue_make_tails_of_seconds() {
    let own = Scenario {
        paused: Paused::Queued,
        ..Scenario::table_3()
    };
    let all = seeds(&own, 8, paper(&own, EnabledLevers::ALL));
    assert!(mean(&all, |totals| totals.percentile(99.0)) > 5000.0);
    assert!(all.iter().all(|totals| totals.shed == 0));
}

#[test]
fn by_the_printed_formula_guards_only_act_on_training() {
    let own = Scenario {
        link: LinkShare::Printed,
        ..Scenario::table_3()
    };
    let only_copies = Scenario {
        physics: mapa_system_slo::ModelParameters {
            training: 0.0,
            ..own.physics
        },
        ..own
    };
    let [none, guards] = [EnabledLevers::NONE, EnabledLevers::GUARDS]
        .map(|levers| seeds(&only_copies, 4, paper(&only_copies, levers)));
    for (none, guards) in none.iter().zip(&guards) {
        assert!(guards.throttles > 0);
        assert_eq!(none.latencies, guards.latencies);
    }
}

#[test]
fn our_controller_fails_half_as_often_where_the_promise_can_be_kept() {
    for scenario in [Scenario::reachable(), Scenario::bursts()] {
        let theirs = seeds(&scenario, 4, paper(&scenario, EnabledLevers::ALL));
        let settings = ReplaySettings::new(scenario.settings(EnabledLevers::ALL).unwrap()).unwrap();
        let ours = seeds(&scenario, 4, |_| {
            ReplayControl::new(settings.clone(), TenantSetup::at(0))
        });
        let live = seeds(&scenario, 4, |seed| {
            LiveControl::new(settings.clone(), TenantSetup::at(0), Noise::USUAL, seed)
        });
        let [theirs, ours, live] =
            [theirs, ours, live].map(|all| mean(&all, RunTotals::fail_percent));
        assert!(
            ours < theirs / 2.0 && live < theirs / 2.0,
            "{ours}, {live}, {theirs}"
        );
    }
}

#[test]
fn a_run_repeats_and_every_request_is_counted_once() {
    let own = Scenario {
        hours: 1.0,
        ..Scenario::bursts()
    };
    let trace = DrawnRun::draw(&own, 5).unwrap();
    let settings = ReplaySettings::new(own.settings(EnabledLevers::ALL).unwrap()).unwrap();
    let twice = [(), ()].map(|()| {
        let mut control = LiveControl::new(settings.clone(), TenantSetup::at(0), Noise::USUAL, 5);
        run(&own, &trace, 5, RunConditions::default(), &mut control).unwrap()
    });
    assert_eq!(twice[0], twice[1]);
    let totals = &twice[0];
    assert_eq!(totals.offered, totals.shed + totals.answered_count());
    assert!(totals.offered <= trace.requests.len() && totals.offered + 10 > trace.requests.len());
}

/// Neighbours are toggled by time: a change of requests changes none of them, and the other way
/// round.
#[test]
fn streams_are_separate() {
    let own = Scenario {
        hours: 1.0,
        ..Scenario::table_3()
    };
    let [a, b, c] = [
        own,
        Scenario {
            transfer_cv: 0.5,
            ..own
        },
        Scenario { on_s: 60.0, ..own },
    ]
    .map(|scenario| DrawnRun::draw(&scenario, 3).unwrap());
    assert_eq!(a.busy, b.busy);
    assert_eq!(a.requests, c.requests);
    let arrivals = |trace: &DrawnRun| {
        trace
            .requests
            .iter()
            .map(|request| request.at_ms)
            .collect::<Vec<_>>()
    };
    assert_eq!(arrivals(&a), arrivals(&b));
    assert_ne!(a.requests, b.requests);
    assert!(
        a.busy
            .iter()
            .all(|busy| busy.switch / 4 == busy.other / 4 && busy.switch != busy.other)
    );
}

#[test]
fn warm_hand_overs_shed_nothing_and_book_both() {
    let own = Scenario::reachable();
    let mut settings = own.settings(EnabledLevers::ALL).unwrap();
    settings.warm_handover = true;
    let all = seeds(&own, 2, |_| {
        PaperControl::new(settings.clone(), TenantSetup::at(0))
    });
    let cold = seeds(&own, 2, paper(&own, EnabledLevers::ALL));
    for (warm, cold) in all.iter().zip(&cold) {
        assert_eq!(warm.shed, 0);
        assert!(cold.shed > 0 && warm.slices() > cold.slices());
    }
}

#[test]
fn parameters_out_of_bounds_are_refused() {
    let own = Scenario::table_3();
    let error = |scenario: Scenario| DrawnRun::draw(&scenario, 1).unwrap_err().to_string();
    insta::assert_snapshot!(
        error(Scenario { hours: 0.0, ..own }),
        @"hours of 0: expected more than 0, and at most 1e9"
    );
    insta::assert_snapshot!(
        error(Scenario {transfer_ms: f64::NAN,..own}),
        @"transfer time of NaN: expected more than 0, and at most 1e9"
    );
    insta::assert_snapshot!(
        error(Scenario { home: 1.5, ..own }),
        @"a chance of 1.5 for the first switch: expected 0 to 1"
    );
    insta::assert_snapshot!(
        error(Scenario { hours: 1e6, ..own }),
        @"some 3600000000 requests and 1 copying neighbours a host: expected at most 1e8 and 64"
    );
    insta::assert_snapshot!(
        error(Scenario { on_s: 1e-6, off_s: 1e-6, ..own }),
        @"phases of 0.000002 s in 14400 s: expected at most 1e7 of them"
    );
}
