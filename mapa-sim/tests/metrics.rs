//! What is read off outcomes: against numbers worked out by hand and by brute force.

use std::sync::Arc;
use std::time::Duration;

use mapa_core::{
    Candidate, DeviceId, DeviceSet, Fabric, HardwareGraph, LinkClass, Pattern, Policy, Request,
    aggregate_gbps, greedy, lowest_id, preserve,
};
use mapa_sched::{Fifo, Fleet, Job, JobId, Time};
use mapa_sim::{
    Better, Column, Fixed, Fragmentation, Generator, GroupSize, Jobs, MEASURES, Measure,
    MeasureScope, OverTime, Pool, Pooled, Quartiles, Row, Scorer, Simulation, Submission, Summary,
    Table, Unit, Workload, mean_interval, paired_interval, quantile, share_interval,
};
use mapa_topologies::named;
use proptest::prelude::*;

fn dgx_1v() -> Arc<HardwareGraph> {
    Arc::new(named("dgx-1v").unwrap().graph().unwrap())
}

/// Rows and summary of a workload under a policy, and how the fleet was used meanwhile.
fn simulated(workload: &Workload, policy: impl Policy + 'static) -> (Vec<Row>, Summary, OverTime) {
    let fleet = Fleet::new([dgx_1v()]);
    let (mut over_time, mut fragmentation) = (OverTime::default(), Fragmentation::default());
    let simulation = Simulation::new(workload, fleet.clone())
        .observe(|now, fleet| over_time.observe(now, fleet, &mut fragmentation));
    let outcome = simulation.run(&mut Fifo::new(policy), &Fixed).unwrap();
    let rows = Row::of(&outcome, workload, &fleet, &mut Scorer::new());
    let summary = Summary::of(&outcome, &rows, &fleet);
    (rows, summary, over_time)
}

fn job(id: u64, devices: usize, sensitive: bool, arrived: u64, work: u64) -> Submission {
    let mut job = Job::new(
        JobId(id),
        Request::new(Pattern::ring(devices)).sensitive(sensitive),
    );
    job.arrived = Time::from_secs(arrived);
    Submission::new(job, Duration::from_secs(work))
}

/// On all devices but 0, 1 and 4; then on 0 and 1; then on all of them, once they are free; the
/// last asks for nine.
fn four_jobs() -> Workload {
    let mut first = job(0, 5, true, 10, 100);
    first.job.request = first.job.request.must_include([2, 3, 5, 6, 7].into());
    Workload::new(
        "by hand",
        [
            first,
            job(1, 2, false, 20, 30),
            job(2, 8, true, 20, 5),
            job(3, 9, true, 20, 5),
        ],
    )
}

#[test]
fn what_was_seen_of_a_server_is_seen_again_only_if_it_changed() {
    let mut generator = Generator::mapa();
    generator.jobs = 60;
    let workload = generator.generate(3).unwrap();
    let fleet = Fleet::new([dgx_1v(), dgx_1v(), dgx_1v()]);
    let (mut over_time, mut fragmentation) = (OverTime::default(), Fragmentation::default());
    let simulation = Simulation::new(&workload, fleet.clone()).observe(|now, fleet| {
        over_time.observe(now, fleet, &mut fragmentation);
        let afresh = Fragmentation::default().of_fleet(fleet);
        assert_eq!(fragmentation.of_fleet(fleet), afresh);
        let mut point = OverTime::default();
        point.observe(now, fleet, &mut Fragmentation::default());
        assert_eq!(over_time.points().last(), point.points().last());
    });
    simulation.run(&mut Fifo::new(greedy()), &Fixed).unwrap();
    // Another fleet, of fewer servers, is seen as it is.
    let idle = Fleet::new([dgx_1v()]);
    assert_eq!(fragmentation.of_fleet(&idle), Some(0.0));
}

#[test]
fn times_are_those_worked_out_by_hand() {
    let (rows, summary, _) = simulated(&four_jobs(), lowest_id());
    assert_eq!(
        ["finished", "rejected", "waiting"].map(|name| summary.count(name)),
        [Some(3), Some(1), Some(0)]
    );
    // 10 s to 110 s, 20 s to 50 s, 110 s to 115 s.
    let number = |name| summary.number(name).unwrap();
    assert_eq!(number("makespan_s"), 105.0);
    assert_eq!(number("jobs_per_hour"), 3.0 / (105.0 / 3600.0));
    assert_eq!(
        number("utilisation"),
        (5.0 * 100.0 + 2.0 * 30.0 + 8.0 * 5.0) / (8.0 * 105.0)
    );
    assert_eq!(
        rows.iter()
            .map(|row| row.waited().as_secs())
            .collect::<Vec<_>>(),
        [0, 0, 90]
    );
    assert_eq!(
        ["wait_mean_s", "wait_p50_s", "wait_max_s"].map(number),
        [30.0, 0.0, 90.0]
    );
    assert!((number("wait_p95_s") - 81.0).abs() < 1e-9);
    assert_eq!(number("completion_p50_s"), 95.0);
    assert_eq!(
        rows.iter().map(Row::slowdown).collect::<Vec<_>>(),
        [Some(1.0), Some(1.0), Some(19.0)]
    );
    // Five seconds of work count as ten.
    assert_eq!(rows[2].bounded_slowdown(), 9.5);
    assert_eq!(number("execution_slowdown_mean"), 1.0);
}

#[test]
fn a_job_shorter_than_the_bound_is_not_sped_up_by_it_and_no_work_has_no_slowdown() {
    let (rows, ..) = simulated(
        &Workload::new("short", [job(0, 1, true, 0, 2), job(1, 1, true, 0, 0)]),
        lowest_id(),
    );
    assert_eq!(
        (rows[0].slowdown(), rows[0].bounded_slowdown()),
        (Some(1.0), 1.0)
    );
    assert_eq!(
        (
            rows[1].slowdown(),
            rows[1].bounded_slowdown(),
            rows[1].execution_slowdown()
        ),
        (None, 1.0, None)
    );
}

#[test]
fn single_devices_are_pooled_where_the_name_says_so_and_nowhere_else() {
    let jobs = [
        job(0, 1, true, 0, 9),
        job(1, 2, true, 0, 9),
        job(2, 1, true, 0, 9),
        job(3, 2, false, 0, 9),
    ];
    let (rows, summary, _) = simulated(&Workload::new("mixed", jobs), greedy());
    let of = |size, name: &str| summary.group(Some(true), size).unwrap().number(name);
    let jobs = |size| summary.group(Some(true), size).unwrap().jobs;
    let [single, double] = [rows[0].scores.effective_gbps, rows[1].scores.effective_gbps];
    assert!(
        (single - 12.335).abs() < 5e-4 && (double - 58.93).abs() < 5e-3,
        "{single} {double}"
    );
    assert_eq!(jobs(GroupSize::Pooled), 3);
    assert_eq!(of(GroupSize::Pooled, "effective_p50_gbps"), Some(single));
    assert_eq!(of(GroupSize::Several, "effective_min_gbps"), Some(double));
    assert_eq!(of(GroupSize::Several, "effective_max_gbps"), Some(double));
    let one = GroupSize::Of(1);
    assert_eq!(of(one, "below_12_5_gbps_share"), Some(1.0));
    assert_eq!(of(one, "ring_packing_p50_gbps"), None);
    assert_eq!(of(one, "share_of_ideal_p50"), None);
    for name in ["min", "p25", "p50", "p75", "max"].map(|word| format!("share_of_ideal_{word}")) {
        assert!(of(GroupSize::Several, &name).is_some());
        assert_eq!(of(GroupSize::Pooled, &name), of(GroupSize::Several, &name));
    }
    let with_ideal = |size| summary.group(Some(true), size).unwrap().with_ideal;
    assert_eq!((with_ideal(GroupSize::Pooled), with_ideal(one)), (1, 0));
    assert_eq!(
        summary
            .group(None, GroupSize::Of(2))
            .map(|group| group.jobs),
        Some(2)
    );
    assert_eq!(summary.group(Some(false), one), None);
    let number = |name: &str| summary.number(name);
    assert_eq!(number("sensitive_effective_p50_gbps"), Some(double));
    assert_eq!(number("sensitive_pooled_effective_p50_gbps"), Some(single));
}

#[test]
fn three_devices_of_a_dgx_1v_have_87_of_an_ideal_125() {
    let fleet = Fleet::new([dgx_1v()]);
    // All but 0, 1 and 4 are busy with a job of five, which `must_include` keeps there.
    let five = Request::new(Pattern::ring(5)).must_include([2, 3, 5, 6, 7].into());
    let busy = Submission::new(Job::new(JobId(0), five), Duration::from_secs(50));
    let workload = Workload::new("Fig. 3", [busy, job(1, 3, true, 1, 5)]);
    let outcome = Simulation::new(&workload, fleet.clone())
        .run(&mut Fifo::new(preserve()), &Fixed)
        .unwrap();
    let rows = Row::of(&outcome, &workload, &fleet, &mut Scorer::new());
    assert_eq!(
        (
            rows[1].scores.aggregate_gbps,
            rows[1].scores.ideal_aggregate_gbps
        ),
        (87.0, Some(125.0))
    );
    assert_eq!(rows[1].share_of_ideal(), Some(87.0 / 125.0));
    let group = Summary::of(&outcome, &rows, &fleet)
        .group(Some(true), GroupSize::Of(3))
        .unwrap()
        .clone();
    assert_eq!(group.number("at_most_80_of_ideal_share"), Some(1.0));
    assert_eq!(group.number("at_most_55_of_ideal_share"), Some(0.0));
    let table = Row::table(&rows, &fleet).to_json();
    assert_eq!(table[1]["aggregate_gbps"], 87.0);
    assert_eq!(
        table[1]["placement"].as_str().unwrap().split(' ').count(),
        3
    );
}

#[test]
fn jobs_that_eq_2_was_not_fitted_to_are_counted() {
    let jobs = [
        job(0, 1, true, 0, 9),
        job(1, 5, true, 0, 9),
        job(2, 6, true, 20, 9),
        job(3, 8, false, 40, 9),
    ];
    let (rows, summary, _) = simulated(&Workload::new("large", jobs), greedy());
    let within: Vec<bool> = rows.iter().map(|row| row.scores.in_domain).collect();
    assert_eq!(within, [false, true, false, false]);
    // One device has no bonds, and no bandwidth to be wrong about.
    assert_eq!(summary.count("out_of_domain"), Some(2));
    assert_eq!(summary.count("out_of_domian"), None);
    assert_eq!(summary.table().to_json()[0]["out_of_domain"], 2);
}

#[test]
fn every_summary_has_the_same_columns_and_no_number_is_nan() {
    let (_, full, _) = simulated(&Generator::mapa().generate(1).unwrap(), preserve());
    let (_, empty, _) = simulated(&Workload::new("none", []), preserve());
    let mut table = full.table();
    table.append(&empty.table()).unwrap();
    assert_eq!(table.rows(), 2);
    // No job has a deadline, and the power of a V100 is not known.
    let is_of_others = |name: &str| {
        let begins = ["late_share", "tardiness_", "energy_wh"];
        begins.iter().any(|beginning| name.starts_with(beginning))
    };
    assert!(
        full.numbers()
            .iter()
            .all(|(name, value)| value.map_or(is_of_others(name), f64::is_finite)),
        "{:?}",
        full.numbers()
    );
    assert!(
        empty
            .numbers()
            .iter()
            .all(|(_, value)| value.is_none_or(f64::is_finite)),
        "{:?}",
        empty.numbers()
    );
    assert_eq!(full.groups_table().rows(), 3 * 7);
}

/// The columns of files that people keep: neither their names nor their order changes.
#[test]
fn rows_summaries_and_groups_have_the_columns_they_always_had() {
    fn names(table: &Table) -> String {
        let names: Vec<&str> = table.columns().iter().map(|(name, _)| &**name).collect();
        names.join(" ")
    }
    fn spread(name: &str, unit: &str) -> String {
        let words = ["mean", "p50", "p95", "p99", "max"];
        words.map(|word| format!("{name}_{word}{unit} ")).concat()
    }
    fn quartiles(name: &str, unit: &str) -> String {
        let words = ["min", "p25", "p50", "p75", "max"];
        words.map(|word| format!("{name}_{word}{unit} ")).concat()
    }
    for jobs in [Workload::new("none", []), four_jobs()] {
        let (rows, summary, _) = simulated(&jobs, lowest_id());
        assert_eq!(
            names(&Row::table(&rows, &Fleet::new([dgx_1v()]))),
            "index job task devices sensitive arrived_s started_s ended_s work_s ran_s wait_s \
             completion_s slowdown bounded_slowdown execution_slowdown machine placement \
             links_double links_single links_pcie aggregate_gbps ideal_aggregate_gbps \
             share_of_ideal effective_gbps in_domain ring_packing_gbps deadline_s tardiness_s"
        );
        let pooled = quartiles("sensitive_pooled_effective", "_gbps");
        assert_eq!(
            names(&summary.table()),
            [
                "finished rejected waiting out_of_domain makespan_s jobs_per_hour utilisation ",
                &spread("completion", "_s"),
                &spread("wait", "_s"),
                &spread("slowdown", ""),
                &spread("bounded_slowdown", ""),
                "execution_slowdown_mean ",
                &quartiles("sensitive_effective", "_gbps"),
                &pooled,
                &quartiles("sensitive_ring_packing", "_gbps"),
                &quartiles("share_of_ideal", ""),
                "sensitive_below_12_5_gbps_share at_most_80_of_ideal_share ",
                "at_most_55_of_ideal_share late_share ",
                &spread("tardiness", "_s"),
                "energy_wh",
            ]
            .concat()
        );
        assert_eq!(
            names(&summary.groups_table()),
            [
                "jobs sizes count count_with_ideal ",
                &quartiles("effective", "_gbps"),
                &quartiles("ring_packing", "_gbps"),
                &quartiles("share_of_ideal", ""),
                "below_12_5_gbps_share at_most_80_of_ideal_share at_most_55_of_ideal_share",
            ]
            .concat()
        );
    }
}

#[test]
fn a_measure_is_one_row_and_shows_in_rows_summaries_and_groups() {
    let late = Measure {
        name: "device_wait_s",
        unit: Unit::Seconds,
        of: MeasureScope::Number(|row| Some(row.waited().as_secs_f64() * row.devices as f64)),
        in_rows: true,
        pooled: &[
            Pooled {
                jobs: Jobs::All,
                by: Pool::Mean,
                place: Pooled::LAST,
            },
            Pooled {
                jobs: Jobs::SensitiveSeveral,
                by: Pool::Quartiles,
                place: Pooled::LAST,
            },
        ],
        better: Better::Less,
        meaning: "device-seconds that were waited for",
    };
    let measures = [MEASURES, &[late]].concat();
    let fleet = Fleet::new([dgx_1v()]);
    let jobs = four_jobs();
    let simulation = Simulation::new(&jobs, fleet.clone());
    let outcome = simulation.run(&mut Fifo::new(lowest_id()), &Fixed).unwrap();
    let rows = Row::of(&outcome, &jobs, &fleet, &mut Scorer::new());
    // Only the job of eight devices waits, for 90 s.
    let table = Row::table_by(&measures, &rows, &fleet).unwrap();
    let (name, column) = table.columns().last().unwrap();
    let expected = Column::Numbers(vec![Some(0.0), Some(0.0), Some(720.0)]);
    assert_eq!((name.as_str(), column), ("device_wait_s", &expected));
    let summary = Summary::by(&measures, &outcome, &rows, &fleet).unwrap();
    assert_eq!(summary.number("device_wait_mean_s"), Some(240.0));
    assert_eq!(summary.number("sensitive_device_wait_p50_s"), Some(360.0));
    let table = summary.table().to_json();
    assert_eq!(table[0]["sensitive_device_wait_max_s"], 720.0);
    let groups = summary.groups_table().to_json();
    let eight = groups.as_array().unwrap().iter();
    let eight = eight.clone().find(|group| group["sizes"] == "8").unwrap();
    assert_eq!(eight["device_wait_p50_s"], 720.0);
    // Two rows of one name are an error, not a table that hides one of them.
    let twice = [MEASURES, &MEASURES[..1]].concat();
    assert!(Summary::by(&twice, &outcome, &rows, &fleet).is_err());
}

#[test]
fn every_measure_is_in_a_table_and_says_what_it_means() {
    for measure in MEASURES {
        let is_of_run = matches!(
            measure.of,
            MeasureScope::RunCount(_) | MeasureScope::RunNumber(_)
        );
        let is_shown = is_of_run || measure.in_rows || !measure.pooled.is_empty();
        assert!(is_shown, "{} is nowhere", measure.name);
        assert!(
            !measure.meaning.is_empty() && !measure.meaning.contains('\n'),
            "{}",
            measure.name
        );
        let is_named = match measure.unit {
            Unit::Seconds => measure.name.ends_with("_s"),
            Unit::GbPerSecond => measure.name.ends_with("_gbps"),
            _ => true,
        };
        assert!(is_named, "{} is not named by its unit", measure.name);
    }
}

#[test]
fn fragmentation_on_a_dgx_1v_by_hand() {
    let graph = dgx_1v();
    let mut fragmentation = Fragmentation::default();
    let mut of =
        |ids: &[u32]| fragmentation.of(&graph, &ids.iter().map(|&id| DeviceId(id)).collect());
    // The paper's GPUs 1, 2 and 5: a double link, as any machine's best pair; 87 of 125 GB/s in
    // three.
    assert_eq!(of(&[0, 1, 4]), Some((0.0 + (1.0 - 87.0 / 125.0)) / 2.0));
    assert_eq!(of(&[0, 1, 2, 3, 4, 5, 6, 7]), Some(0.0));
    // GPUs 1 and 6: no direct link, 12 of 50 GB/s.
    assert_eq!(of(&[0, 5]), Some(1.0 - 12.0 / 50.0));
    assert_eq!((of(&[3]), of(&[])), (None, None));
}

/// The highest aggregated bandwidth of k of these devices, over all of their orders.
fn best(graph: &HardwareGraph, free: &[DeviceId], k: usize) -> f64 {
    fn extend(
        graph: &HardwareGraph,
        free: &[DeviceId],
        k: usize,
        chosen: &mut Vec<DeviceId>,
    ) -> f64 {
        if chosen.len() == k {
            let (all, pattern) = (graph.all(), Pattern::ring(k));
            return aggregate_gbps().score(&Candidate {
                view: graph.with_free(&all),
                pattern: &pattern,
                placement: chosen,
            });
        }
        let mut best = f64::NEG_INFINITY;
        for &id in free {
            if !chosen.contains(&id) {
                chosen.push(id);
                best = best.max(extend(graph, free, k, chosen));
                chosen.pop();
            }
        }
        best
    }
    extend(graph, free, k, &mut Vec::new())
}

proptest! {
    #![proptest_config(mapa_core::testing::cases(24))]
    #[test]
    fn fragmentation_is_that_of_all_rings_on_all_free_sets(links in prop::collection::vec(1u8..4, 15)) {
        let mut fabric = Fabric::new();
        let gpus: Vec<_> = (0..6).map(|i| fabric.add_device(format!("GPU{i}")).unwrap()).collect();
        let mut links = links.iter();
        for (i, &a) in gpus.iter().enumerate() {
            for &b in &gpus[..i] {
                let n = *links.next().unwrap();
                fabric.link(a, b, LinkClass::Direct(n), 12.5 * f64::from(n * n)).unwrap();
            }
        }
        let graph = fabric.lower().unwrap();
        let all: Vec<DeviceId> = graph.wholes().iter().collect();
        let idle: Vec<f64> = (2..=4).map(|k| best(&graph, &all, k)).collect();
        let mut fragmentation = Fragmentation::new(4);
        for bits in 0u32..64 {
            let free: Vec<DeviceId> = all.iter().copied().filter(|id| bits >> id.0 & 1 == 1).collect();
            let sizes = 2..=4.min(free.len());
            let lost: Vec<f64> = sizes.map(|k| 1.0 - best(&graph, &free, k) / idle[k - 2]).collect();
            let expected = lost.iter().sum::<f64>() / lost.len() as f64;
            match fragmentation.of(&graph, &DeviceSet::from_iter(free.iter().copied())) {
                None => prop_assert!(free.len() < 2),
                Some(found) => prop_assert!((found - expected).abs() < 1e-9, "{free:?}: {found} {expected}"),
            }
        }
    }

    #[test]
    fn quantiles_are_between_their_neighbours_and_grow(mut values in prop::collection::vec(-1e9..1e9, 1..40), p in 0.0..=1.0) {
        values.sort_by(f64::total_cmp);
        let place = (values.len() - 1) as f64 * p;
        let at = quantile(&values, p);
        prop_assert!(values[place.floor() as usize] <= at && at <= values[place.ceil() as usize]);
        prop_assert!(quantile(&values, p / 2.0) <= at);
    }
}

#[test]
fn series_weigh_what_is_the_case_by_how_long_it_lasts() {
    let (_, summary, over_time) = simulated(&four_jobs(), lowest_id());
    let at: Vec<(u64, f64)> = over_time
        .points()
        .iter()
        .map(|point| (point.at.0 / 1_000_000_000, point.utilisation))
        .collect();
    assert_eq!(
        at,
        [
            (10, 0.625),
            (20, 0.875),
            (50, 0.625),
            (110, 1.0),
            (115, 0.0)
        ]
    );
    assert!(
        (over_time.mean_utilisation().unwrap() - summary.number("utilisation").unwrap()).abs()
            < 1e-12
    );
    // Free are 0, 1 and 4, then 4 alone, then the three again, then none, then all.
    let three = (1.0 - 87.0 / 125.0) / 2.0;
    let known: Vec<Option<f64>> = over_time
        .points()
        .iter()
        .map(|point| point.fragmentation)
        .collect();
    assert_eq!(known, [Some(three), None, Some(three), None, Some(0.0)]);
    assert!((over_time.mean_fragmentation().unwrap() - three).abs() < 1e-12);
    assert_eq!(over_time.max_fragmentation(), Some(three));
    assert_eq!(over_time.table().rows(), 5);
}

#[test]
fn quantiles_are_those_of_numpy() {
    let values = [3.2, 9.0, 12.0, 31.2, 55.5, 58.9];
    let found = [0.1, 0.25, 0.5, 0.75, 0.99].map(|p| quantile(&values, p));
    // numpy.quantile(values, [0.1, 0.25, 0.5, 0.75, 0.99])
    for (found, numpy) in found.iter().zip([6.1, 9.75, 21.6, 49.425, 58.73]) {
        assert!((found - numpy).abs() < 1e-12, "{found} {numpy}");
    }
    assert!(
        quantile(&[], 0.5).is_nan()
            && quantile(&values, 1.1).is_nan()
            && quantile(&values, f64::NAN).is_nan()
    );
    assert_eq!(
        quantile(&[f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY], 0.75),
        f64::INFINITY
    );
    assert_eq!(Quartiles::of(&[]), None);
    assert_eq!(
        Quartiles::of(&[7.0]).map(|quartiles| [
            quartiles.min,
            quartiles.p25,
            quartiles.p50,
            quartiles.p75,
            quartiles.max
        ]),
        Some([7.0; 5])
    );
}

#[test]
fn intervals_are_those_of_the_textbook() {
    // t of 4 degrees of freedom, 0.975: 2.776445; the deviation is sqrt(2.5).
    let five = mean_interval(&[1.0, 2.0, 3.0, 4.0, 5.0]);
    let half = 2.776_445_105_197_793 * (2.5f64 / 5.0).sqrt();
    assert!(
        (five.low - (3.0 - half)).abs() < 1e-6 && (five.high - (3.0 + half)).abs() < 1e-6,
        "{five:?}"
    );
    let one = mean_interval(&[7.0]);
    assert!(one.mean == 7.0 && one.low.is_nan() && one.high.is_nan());
    assert!(mean_interval(&[]).mean.is_nan());
    assert_eq!(
        mean_interval(&[2.0; 9]),
        mapa_sim::Interval {
            mean: 2.0,
            low: 2.0,
            high: 2.0
        }
    );
    // What pairs have in common drops out.
    let paired = paired_interval(&[101.0, 12.0, 7.0], &[100.0, 11.0, 6.0]);
    assert_eq!([paired.mean, paired.low, paired.high], [1.0; 3]);
    // Wilson's interval of 0 of 10 ends at z² / (n + z²).
    let none = share_interval(0, 10);
    let z2 = 1.959_963_984_540_054_f64.powi(2);
    assert!(
        none.mean == 0.0 && none.low == 0.0 && (none.high - z2 / (10.0 + z2)).abs() < 1e-9,
        "{none:?}"
    );
    let all = share_interval(10, 10);
    assert!(
        all.high == 1.0 && (all.low - (1.0 - none.high)).abs() < 1e-12,
        "{all:?}"
    );
    assert!(share_interval(0, 0).low.is_nan());
    assert_eq!(share_interval(7, 5), share_interval(5, 5));
}
