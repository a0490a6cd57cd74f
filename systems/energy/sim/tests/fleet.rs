//! Rules as schedulers of fleets: the simulator of fleets against that of days of jobs, the measures
//! against sums by hand, and policies against rules.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mapa_core::mig::{Layout, Size};
use mapa_core::{
    Allocator, Demand, DeviceId, Fabric, MachineId, Pattern, Policy, Request, lowest_id,
};
use mapa_sched::{Fifo, Fleet, Job, JobId, NamedScheduler, RunTime, Scheduler, Time};
use mapa_sim::{
    BySize, Execution, Fixed, Outcome, Row, Scorer, Simulation, Submission, Summary, Workload,
    read_jobs, write_jobs,
};
use mapa_system_energy::SCHEDULERS;
use mapa_system_energy::{
    EnergyPlan, Power, PriceFile, Rule, RuleName, RuleScheduler, Running, SIZES, SliceJob,
    SlicedGpus, Start, State, largest_first, smallest_first,
};
use mapa_system_energy_sim::{
    Draw, EnergyDay, MEASURES as ENERGY_MEASURES, PUBLISHED_SEEDS, Totals, published_day, run,
    slice_jobs,
};
use mapa_topologies::mig::{Offer, named};
use proptest::collection::vec;
use proptest::prelude::*;

use super::policies::{earliest_finish, fit, fit_fullest, least_cost, mean_finish};

/// A machine of A100s, and their layouts as written: `4,2,1 | 7`.
fn a100s(layouts: &str) -> (Allocator, Vec<(DeviceId, Layout)>) {
    let model = named("a100-40gb").unwrap().model(Offer::PLAIN).unwrap();
    let mut fabric = Fabric::new();
    let cpu = fabric.add_numa("cpu0", 0).unwrap();
    let mut wanted = Vec::new();
    for (gpu, layout) in layouts.split('|').enumerate() {
        let device = fabric.add_device(format!("GPU{gpu}")).unwrap();
        fabric.attach(device, cpu, 30.0).unwrap();
        let profiles: Vec<_> = layout
            .split(',')
            .map(|size| model.find(&format!("{}g", size.trim())).unwrap())
            .collect();
        wanted.push((DeviceId(gpu as u32), model.fit(&profiles).unwrap()));
    }
    fabric.set_mig(Some(&model));
    let mut machine = Allocator::new(Arc::new(fabric.lower().unwrap()));
    for (gpu, layout) in &wanted {
        machine.layout_is(*gpu, layout).unwrap();
    }
    (machine, wanted)
}

fn fleet(layouts: &str) -> Fleet {
    let (machine, wanted) = a100s(layouts);
    let mut fleet = Fleet::new([machine.graph().clone()]);
    for (gpu, layout) in wanted {
        fleet.layout_is(MachineId(0), gpu, &layout).unwrap();
    }
    fleet
}

/// Layouts in which instances lie in the order in which they are written.
const LAYOUTS: [&str; 4] = [
    SlicedGpus::PUBLISHED,
    "4,2,1 | 7",
    "2,2,2,1 | 4,3 | 1,1,1,1,1,1,1",
    "4,3",
];

/// A rule that writes down which job starts where, by arrival in nanoseconds.
struct Noted<R>(R, Arc<Mutex<Vec<(u64, usize)>>>);

impl<R: Rule> Rule for Noted<R> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn choose(&mut self, state: &State) -> Option<Start> {
        let start = self.0.choose(state)?;
        let arrives = state.queue()[start.waiting].job.arrives();
        let own = ((arrives * 60e9).round() as u64, start.slice);
        self.1.lock().unwrap().push(own);
        Some(start)
    }
}

/// Every rule, and the plan.
fn rules() -> Vec<Box<dyn Fn() -> Box<dyn Rule + Send>>> {
    let mut all: Vec<Box<dyn Fn() -> Box<dyn Rule + Send>>> = Vec::new();
    for rule_name in RuleName::ALL {
        all.push(Box::new(move || rule_name.rule(7)));
    }
    for name in PriceFile::names() {
        let file = PriceFile::named(name).unwrap();
        all.push(Box::new(move || {
            Box::new(EnergyPlan::new(file.prices).unwrap())
        }));
    }
    all
}

fn simulate(
    workload: &Workload,
    fleet: &Fleet,
    scheduler: &mut dyn Scheduler,
    execution: &dyn Execution,
) -> (Outcome, Vec<Row>, Summary) {
    let outcome = Simulation::new(workload, fleet.clone())
        .run(scheduler, execution)
        .unwrap();
    let rows = Row::of(&outcome, workload, fleet, &mut Scorer::new());
    let measures = [mapa_sim::MEASURES, &ENERGY_MEASURES].concat();
    let summary = Summary::by(&measures, &outcome, &rows, fleet).unwrap();
    (outcome, rows, summary)
}

/// That the fleet's simulator does with a day what the day's own does: the same jobs start on the
/// same slices in the same order, and all numbers agree.
fn check_day(jobs: &[SliceJob], layouts: &str) {
    let machine = SlicedGpus::new(layouts, Power::A100).unwrap();
    let workload = slice_jobs("a day", jobs);
    let fleet = fleet(layouts);
    for make in rules() {
        let (day, there) = (Arc::default(), Arc::default());
        let mut rule = Noted(make(), Arc::clone(&day));
        let totals: Totals = run(jobs, State::new(machine.clone()), &mut rule).unwrap();
        let rule = Noted(make(), Arc::clone(&there));
        let name = rule.name().to_owned();
        let mut scheduler = RuleScheduler::new(rule, lowest_id());
        let (outcome, rows, summary) = simulate(&workload, &fleet, &mut scheduler, &BySize);
        assert_eq!(scheduler.state().machine().sizes(), machine.sizes());
        assert_eq!(outcome.runs.len(), jobs.len(), "{name}");
        assert_eq!(*day.lock().unwrap(), *there.lock().unwrap(), "{name}");
        let late = rows
            .iter()
            .filter(|row| !row.tardiness().unwrap().is_zero());
        assert_eq!(late.count(), totals.late, "{name}");
        let close = |a: f64, b: f64| (a - b).abs() < 1e-7 * (1.0 + b.abs());
        let number = |key| summary.number(key).unwrap();
        assert!(close(number("late_share"), totals.late_share()), "{name}");
        assert!(
            close(number("tardiness_mean_s") / 60.0, totals.mean_tardiness()),
            "{name}"
        );
        // A simulation counts from the first arrival, a day from its first minute.
        let before = jobs
            .iter()
            .map(SliceJob::arrives)
            .fold(f64::INFINITY, f64::min);
        let before = before * machine.gpu_count() as f64 * machine.power().watts(0);
        let energy = totals.watt_minutes - before;
        assert!(close(number("energy_wh") * 60.0, energy), "{name}");
        let et = Totals {
            watt_minutes: energy,
            ..totals
        };
        assert!(close(number("et"), et.et(2.25e-5)), "{name}");
        assert!(close(number("et_light"), et.et(2e-7)), "{name}");
    }
}

#[test]
fn a_published_day_on_a_fleet_is_the_published_day() {
    for seed in [PUBLISHED_SEEDS[0], PUBLISHED_SEEDS[4]] {
        check_day(&published_day(seed).unwrap(), SlicedGpus::PUBLISHED);
    }
}

#[test]
fn days_of_every_load_on_fleets_are_the_days() {
    for (seed, per_minute) in [(1, 8.0), (2, 20.0), (3, 60.0)] {
        for layouts in LAYOUTS {
            let draw = Draw {
                per_minute,
                from: 540.0,
                most: 120,
                slack: if seed == 2 { [1.0, 1.5] } else { [2.0, 4.0] },
            };
            check_day(&draw.jobs(seed).unwrap(), layouts);
        }
    }
}

#[test]
fn several_machines_are_one_row_of_slices() {
    let whole = "4,3 | 7 | 2,2,2,1 | 4,2,1";
    let mut two = {
        let (machine, _) = a100s("7 | 7");
        Fleet::new([machine.graph().clone(), machine.graph().clone()])
    };
    for (at, layouts) in ["4,3 | 7", "2,2,2,1 | 4,2,1"].iter().enumerate() {
        for (gpu, layout) in a100s(layouts).1 {
            two.layout_is(MachineId(at as u32), gpu, &layout).unwrap();
        }
    }
    let draw = Draw {
        per_minute: 15.0,
        most: 200,
        from: 600.0,
        ..Draw::default()
    };
    let workload = slice_jobs("a day", &draw.jobs(5).unwrap());
    for make in rules() {
        let times = |fleet: &Fleet| {
            let mut scheduler = RuleScheduler::new(make(), lowest_id());
            let (_, rows, summary) = simulate(&workload, fleet, &mut scheduler, &BySize);
            let times: Vec<(Time, Time)> =
                rows.iter().map(|row| (row.started, row.ended)).collect();
            (times, summary.number("energy_wh"))
        };
        assert_eq!(times(&two), times(&fleet(whole)));
    }
}

/// A job of one rank with these run times by size, seconds.
fn job(id: u64, arrives: u64, deadline: Option<u64>, lengths: [u64; 5]) -> Submission {
    let request = Request::new(Pattern::ring(1).each(Demand::any()));
    let mut own = Job::new(JobId(id), request);
    own.arrived = Time::from_secs(arrives);
    own.deadline = deadline.map(Time::from_secs);
    let sizes = [(1, 1), (2, 2), (3, 4), (4, 4), (7, 8)].map(|(c, m)| Size::new(c, m));
    let lengths = lengths.map(Duration::from_secs);
    let mut own = Submission::new(own, lengths[4]);
    own.job.run_time = RunTime::BySize(sizes.into_iter().zip(lengths).collect());
    own
}

#[test]
fn jobs_without_a_deadline_wait_behind_all_others_in_order_of_arrival() {
    let jobs = [
        job(0, 0, None, [50, 50, 50, 50, 50]),
        job(1, 1, None, [10, 10, 10, 10, 10]),
        job(2, 2, None, [10, 10, 10, 10, 10]),
        job(3, 3, Some(500), [10, 10, 10, 10, 10]),
        job(4, 4, Some(400), [10, 10, 10, 10, 10]),
    ];
    let workload = Workload::new("by hand", jobs);
    let mut scheduler =
        NamedScheduler::among(&SCHEDULERS, "energy,rule=fit", Box::new(lowest_id())).unwrap();
    let (_, rows, summary) = simulate(&workload, &fleet("7"), &mut *scheduler, &BySize);
    let started: Vec<u64> = rows
        .iter()
        .map(|row| row.started.0 / 1_000_000_000)
        .collect();
    assert_eq!(started, [0, 70, 80, 60, 50]);
    // Of the two jobs with a deadline.
    assert_eq!(summary.number("late_share"), Some(0.0));
    assert_eq!(rows[0].tardiness(), None);
}

#[test]
fn energy_is_the_power_of_busy_slices_and_of_idle_devices() {
    // From second 10 on: 100 s of 4 slices, of which 50 s beside 3; then 20 s of 3 alone. The other
    // GPU idles for 120 s, but for 30 s of all its slices.
    let of = |id, arrives, size: Size, seconds| {
        let request = Request::new(Pattern::ring(1).each(Demand::slice(size)));
        let mut own = Job::new(JobId(id), request);
        own.arrived = Time::from_secs(arrives);
        Submission::new(own, Duration::from_secs(seconds))
    };
    let whole = |id, arrives, seconds| {
        let mut own = Job::new(JobId(id), Request::new(Pattern::ring(1)));
        own.arrived = Time::from_secs(arrives);
        own.deadline = Some(Time::from_secs(arrives + seconds - 6));
        Submission::new(own, Duration::from_secs(seconds))
    };
    let jobs = [
        of(0, 10, Size::new(4, 4), 100),
        of(1, 60, Size::new(3, 4), 70),
        whole(2, 20, 30),
    ];
    let workload = Workload::new("by hand", jobs);
    let (machine, wanted) = a100s("4,3 | 7");
    let mut fleet = Fleet::new([machine.graph().clone()]);
    let (gpu, layout) = &wanted[0];
    fleet.layout_is(MachineId(0), *gpu, layout).unwrap();
    let mut fifo = Fifo::new(lowest_id());
    let (_, _, summary) = simulate(&workload, &fleet, &mut fifo, &Fixed);
    let power = |busy| Power::A100.watts(busy);
    let joules =
        50.0 * power(4) + 50.0 * power(7) + 20.0 * power(3) + 90.0 * power(0) + 30.0 * power(7);
    let energy = summary.number("energy_wh").unwrap();
    assert!((energy * 3600.0 - joules).abs() < 1e-6, "{energy}");
    assert_eq!(summary.number("late_share"), Some(1.0));
    assert_eq!(summary.number("tardiness_mean_s"), Some(6.0));
    let minutes = joules / 60.0;
    let et = (2e-7 * minutes + 0.1) / (2e-7 + 1.0);
    assert!((summary.number("et_light").unwrap() - et).abs() < 1e-12);
}

#[test]
fn what_is_not_known_is_no_number() {
    let mut fabric = Fabric::new();
    fabric.add_device("GPU0").unwrap();
    let fleet = Fleet::new([Arc::new(fabric.lower().unwrap())]);
    let own = Job::new(JobId(0), Request::new(Pattern::ring(1)));
    let workload = Workload::new("by hand", [Submission::new(own, Duration::from_secs(5))]);
    let mut fifo = Fifo::new(lowest_id());
    let (_, _, summary) = simulate(&workload, &fleet, &mut fifo, &Fixed);
    for name in [
        "late_share",
        "tardiness_mean_s",
        "energy_wh",
        "et",
        "et_light",
    ] {
        assert_eq!(summary.number(name), None, "{name}");
        assert!(
            summary
                .numbers()
                .iter()
                .any(|(candidate, _)| candidate == name),
            "{name}"
        );
    }
    let empty = Workload::new("none", []);
    let (_, _, summary) = simulate(&empty, &fleet, &mut Fifo::new(lowest_id()), &Fixed);
    assert_eq!(summary.number("energy_wh"), None);
}

#[test]
fn a_job_runs_as_long_as_its_instance_says() {
    let lengths = [70, 35, 24, 18, 10];
    for (layouts, expected) in [("1,1", 70), ("2", 35), ("3", 24), ("4", 18), ("7", 10)] {
        let workload = Workload::new("by hand", [job(0, 0, None, lengths)]);
        let mut fifo = Fifo::new(lowest_id());
        let (_, rows, _) = simulate(&workload, &fleet(layouts), &mut fifo, &BySize);
        let off = rows[0].ran.abs_diff(Duration::from_secs(expected));
        assert!(off < Duration::from_micros(1), "{layouts}: {off:?}");
        // Without sizes, it runs for its work.
        let mut fifo = Fifo::new(lowest_id());
        let (_, rows, _) = simulate(&workload, &fleet(layouts), &mut fifo, &Fixed);
        assert_eq!(rows[0].ran, Duration::from_secs(10), "{layouts}");
    }
    // The owner was wrong by a factor of two.
    let mut own = job(0, 0, None, lengths);
    own.work = Duration::from_secs(20);
    let workload = Workload::new("by hand", [own]);
    let (_, rows, _) = simulate(&workload, &fleet("2"), &mut Fifo::new(lowest_id()), &BySize);
    let off = rows[0].ran.abs_diff(Duration::from_secs(70));
    assert!(off < Duration::from_micros(1), "{off:?}");
}

#[test]
fn jobs_on_any_slice_are_read_and_what_makes_no_sense_names_line_and_column() {
    let header = "gpus,duration_s,arrival_s,slice,deadline_s,estimate_s\n";
    let curve = "1g.1m=70 2g.2m=35 3g.4m=24 4g.4m=18 7g.8m=10";
    let text = format!("{header}1,10,5,any,45,{curve}\n1,10,6,ANY,,unknown\n");
    let workload = read_jobs(&text).unwrap();
    let demand = |at: usize| workload.jobs[at].job.request.pattern.demands()[0];
    assert_eq!([demand(0), demand(1)], [Demand::any(); 2]);
    let own = SliceJob::of(&workload.jobs[0].job).unwrap().unwrap();
    assert_eq!((own.arrives(), own.deadline()), (5.0 / 60.0, 45.0 / 60.0));
    assert_eq!(
        own.minutes(),
        [70.0, 35.0, 24.0, 18.0, 10.0].map(|value| value / 60.0)
    );
    assert_eq!(SliceJob::of(&workload.jobs[1].job).unwrap(), None);
    let again = read_jobs(&write_jobs(&workload).unwrap()).unwrap();
    assert_eq!(again.jobs, workload.jobs);
    let said = [
        "1,10,5,any,4,1g.1m=70".to_owned(),
        "1,10,5,any,,1g.1m=70 2g.2m=80".to_owned(),
        "1,10,5,any,,2g.2m=80".to_owned(),
        "1,10,5,any,,1g.1m=70 2g.2m=0".to_owned(),
        "1,10,5,any,NaN,".to_owned(),
        "1,10,5,any,9,1g.1m=NaN".to_owned(),
        "1,10,5,some,,".to_owned(),
    ]
    .map(|row| {
        let text = format!("{header}1,10,5,any,45,{curve}\n{row}\n");
        let error = read_jobs(&text).unwrap_err().to_string();
        format!("{row:?} -> {error}")
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    "1,10,5,any,4,1g.1m=70" -> line 3: deadline_s `4`: before arrival_s `5`: expected a slack of 0 or more
    "1,10,5,any,,1g.1m=70 2g.2m=80" -> line 3: estimate_s: run time 80 s on 2g.2m is longer than 70 s on 1g.1m: expected none that grows with the slice
    "1,10,5,any,,2g.2m=80" -> line 3: estimate_s: no run time on 1 compute slice: expected one for each size of slice, or at least for 1g
    "1,10,5,any,,1g.1m=70 2g.2m=0" -> line 3: estimate_s: run time 0 on 2g.2m: expected one above 0
    "1,10,5,any,NaN," -> line 3: deadline_s `NaN`: expected seconds as a decimal number, not negative, such as 12.5
    "1,10,5,any,9,1g.1m=NaN" -> line 3: estimate_s `NaN`: expected seconds as a decimal number, not negative, such as 12.5
    "1,10,5,some,," -> line 3: slice `some`: expected a size such as 1g.2m, so many compute slices (g) and memory slices (m), or any
    "#);
    // A size that is left out is as fast as the next smaller one.
    let text = format!("{header}1,10,0,any,,1g.1m=70 3g.4m=20\n");
    let workload = read_jobs(&text).unwrap();
    let own = SliceJob::of(&workload.jobs[0].job).unwrap().unwrap();
    assert_eq!(
        own.minutes(),
        [70.0, 70.0, 20.0, 20.0, 20.0].map(|value| value / 60.0)
    );
    // What cannot be read is not written.
    let mut workload = workload;
    workload.jobs[0].job.arrived = Time::from_secs(9);
    workload.jobs[0].job.deadline = Some(Time::from_secs(8));
    let error = write_jobs(&workload).unwrap_err().to_string();
    insta::assert_snapshot!(
        error,
        @"job 0: a job file cannot hold a job on any slice whose run times by size are no curve, or with a deadline before its arrival"
    );
}

#[test]
fn days_are_generated_by_words() {
    for words in [
        "energy-day",
        "energy-day,published=10",
        "energy-day,rate=24,slack=1..1.5,from=540,jobs=300",
    ] {
        let day: EnergyDay = words.parse().unwrap();
        assert_eq!(day.to_string(), words);
        let workload = day.generate(3).unwrap();
        assert_eq!(workload, day.generate(3).unwrap());
        assert_eq!(
            day.published.is_some(),
            workload == day.generate(4).unwrap()
        );
        let text = write_jobs(&workload).unwrap();
        assert_eq!(read_jobs(&text).unwrap().jobs, workload.jobs);
    }
    let published: EnergyDay = "energy-day,published=2".parse().unwrap();
    let jobs = published.generate(1).unwrap().jobs;
    let expected = published_day(PUBLISHED_SEEDS[1]).unwrap();
    assert_eq!(jobs.len(), expected.len());
    for (submission, job) in jobs.iter().zip(&expected) {
        let slice_job = SliceJob::of(&submission.job).unwrap().unwrap();
        let pairs = slice_job.minutes().into_iter().zip(job.minutes());
        for (a, b) in pairs.chain([
            (slice_job.arrives(), job.arrives()),
            (slice_job.deadline(), job.deadline()),
        ]) {
            assert!((a - b).abs() < 1e-11 + 1e-15 * b, "{a} {b}");
        }
    }
    let said = [
        "energy",
        "energy-day,rate=0",
        "energy-day,rate=NaN",
        "energy-day,slack=0.5..2",
        "energy-day,slack=4..2",
        "energy-day,published=11",
        "energy-day,published=1,jobs=3",
        "energy-day,from=1440",
        "energy-day,jobs=0",
        "energy-day,size=3",
    ]
    .map(|words| {
        let error = words.parse::<EnergyDay>().unwrap_err().to_string();
        format!("{words:?} -> {error}")
    });
    insta::assert_snapshot!(said.join("\n"), @r#"
    "energy" -> generator `energy`: expected energy-day
    "energy-day,rate=0" -> generator `energy-day,rate=0`: rate=0: expected jobs a minute above 0
    "energy-day,rate=NaN" -> generator `energy-day,rate=NaN`: rate=NaN: expected jobs a minute above 0
    "energy-day,slack=0.5..2" -> generator `energy-day,slack=0.5..2`: slack=0.5..2: expected two numbers of 1 or more, such as 2..4
    "energy-day,slack=4..2" -> generator `energy-day,slack=4..2`: slack=4..2: expected two numbers of 1 or more, such as 2..4
    "energy-day,published=11" -> generator `energy-day,published=11`: published=11: expected a day from 1 to 10
    "energy-day,published=1,jobs=3" -> generator `energy-day,published=1,jobs=3`: published=DAY: expected no other setting, as the day is what it is
    "energy-day,from=1440" -> generator `energy-day,from=1440`: from=1440: expected a minute of the day, from 0 to below 1440
    "energy-day,jobs=0" -> generator `energy-day,jobs=0`: jobs=0: expected a number of jobs of 1 or more
    "energy-day,size=3" -> generator `energy-day,size=3`: `size=3`: no setting is called `size`: expected rate=JOBS_A_MINUTE, slack=LOW..HIGH, from=MINUTE, jobs=NUMBER, published=DAY
    "#);
}

/// A job that arrives in a random state of A100s: who holds which slice, when it is, how long the
/// job runs, and when it should have ended.
#[derive(Clone, Debug)]
struct Case {
    layouts: &'static str,
    held: Vec<bool>,
    now: f64,
    steps: [f64; 5],
    slack: f64,
}

fn cases() -> impl Strategy<Value = Case> {
    let steps = prop::array::uniform5(0.1..20.0_f64);
    let layouts = prop::sample::select(LAYOUTS.to_vec());
    (
        layouts,
        vec(any::<bool>(), 20),
        0.0..100.0_f64,
        steps,
        0.0..60.0_f64,
    )
        .prop_map(|(layouts, held, now, steps, slack)| Case {
            layouts,
            held,
            now,
            steps,
            slack,
        })
}

impl Case {
    /// Run times that fall with size.
    fn minutes(&self) -> [f64; 5] {
        std::array::from_fn(|at| self.steps[at..].iter().sum())
    }

    fn deadline(&self) -> f64 {
        self.now + self.slack
    }

    /// The run time on an instance of a size.
    fn on(&self, size: Size) -> f64 {
        let class = SIZES
            .iter()
            .position(|&candidate| candidate == size.compute);
        class.map_or(f64::NAN, |class| self.minutes()[class])
    }

    /// What a rule chooses: the number of a slice.
    fn by_rule(&self, rule: &str) -> Option<usize> {
        let machine = SlicedGpus::new(self.layouts, Power::A100).unwrap();
        let slices = machine.sizes().len();
        let mut state = State::new(machine);
        state.advance(self.now);
        let job = SliceJob::new(self.now, self.deadline(), self.minutes()).unwrap();
        state.arrive(0, job);
        for slice in (0..slices).filter(|&slice| self.held[slice]) {
            let held = Running {
                id: 1,
                slice,
                begins: 0.0,
                finish: f64::INFINITY,
                deadline: f64::INFINITY,
            };
            state.hold(held).unwrap();
        }
        let start = RuleName::find(rule).unwrap().rule(1).choose(&state)?;
        Some(start.slice)
    }

    /// What a policy chooses: the number of a slice.
    fn by_policy(&self, policy: impl Policy) -> Option<usize> {
        let (mut machine, _) = a100s(self.layouts);
        // Numbered by GPU.
        let mut slices: Vec<DeviceId> = machine.view().present().iter().collect();
        slices.retain(|&id| machine.graph().device(id).size.is_some());
        let order = |id: &DeviceId| {
            let device = machine.graph().device(*id);
            (device.parent, device.unit.instance())
        };
        slices.sort_by_key(order);
        let any = Request::new(Pattern::ring(1).each(Demand::any()));
        for (slice, &id) in slices.iter().enumerate() {
            if self.held[slice] {
                let only = any.clone().only([id.0].into_iter().map(DeviceId).collect());
                let decision = machine.view().decide(lowest_id(), &only).unwrap();
                machine.commit(decision).unwrap();
            }
        }
        let decision = machine.view().decide(policy, &any).ok()?;
        let chosen = decision.placement().iter().copied().next()?;
        slices.iter().position(|&id| id == chosen)
    }
}

proptest! {
    #[test]
    fn policies_and_rules_choose_the_same_slice(case in cases()) {
        let finish = |size: Size| case.now + case.on(size);
        let by_compute = |size: u8| case.on(Size::new(size, size));
        prop_assert_eq!(case.by_policy(largest_first()), case.by_rule("largest-first"));
        prop_assert_eq!(case.by_policy(smallest_first()), case.by_rule("smallest-first"));
        let eft = earliest_finish(|size| case.on(size));
        prop_assert_eq!(case.by_policy(eft), case.by_rule("eft"));
        prop_assert_eq!(case.by_policy(mean_finish(by_compute)), case.by_rule("eft-published"));
        prop_assert_eq!(case.by_policy(fit(finish, case.deadline())), case.by_rule("fit"));
        prop_assert_eq!(case.by_policy(fit_fullest(finish, case.deadline())), case.by_rule("fit-fullest"));
        let cost = |size: Size, busy: u8| {
            let late = (finish(size) - case.deadline()).max(0.0);
            2.25e-5 * Power::A100.added(busy, size.compute) * case.on(size) + late
        };
        prop_assert_eq!(case.by_policy(least_cost(cost)), case.by_rule("least-cost"));
    }
}
